"""Atoms against enumeration, against integers of any size, and the two ways against each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stochastic.checks import LawError
from stochastic.loss import atoms
from stochastic.loss.atoms import JointAtoms, LossAtoms, atom_method, joint_atoms, loss_atoms
from tests.long import draws, long
from tests.oracles.imbalance_brute import brute_joint, brute_losses
from tests.oracles.literal_recursion import compiled_recursion, literal_joint, literal_losses


@st.composite
def laws(draw: st.DrawFn) -> tuple[int, list[Fraction], int]:
    """The smallest value, weights from it on, lanes."""
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=7).filter(any))
    low = draw(st.sampled_from([0, 0, 1, 3, 20]))
    return low, [Fraction(c, sum(counts)) for c in counts], draw(st.integers(1, 4))


def as_dict(atoms: JointAtoms) -> dict[tuple[int, int], float]:
    """The outcomes of positive probability."""
    table = atoms.probabilities
    return {
        (int(atoms.maxima[i]), int(atoms.sums[j])): float(table[i, j])
        for i, j in np.argwhere(table)
    }


def losses(atoms: LossAtoms) -> dict[Fraction, float]:
    pairs = zip(atoms.numerator.tolist(), atoms.denominator.tolist(), strict=True)
    assert all(math.gcd(a, b) == 1 for a, b in pairs)
    rows = zip(atoms.numerator, atoms.denominator, atoms.probability, strict=True)
    output = {Fraction(int(a), int(b)): float(p) for a, b, p in rows}
    assert list(output) == sorted(output)
    assert len(output) == len(atoms.numerator)
    return output


# --- enumeration
@settings(max_examples=draws(60), deadline=None)
@given(laws())
def test_sweep_equals_enumeration(law: tuple[int, list[Fraction], int]) -> None:
    low, weights, lanes = law
    values = {low + i: w for i, w in enumerate(weights) if w}
    floats = [float(w) for w in weights]
    expected = {key: float(p) for key, p in brute_joint(values, lanes).items()}
    assert as_dict(joint_atoms(low, floats, lanes, "sweep")) == pytest.approx(expected, rel=1e-13)
    exact = {x: float(p) for x, p in brute_losses(values, lanes).items()}
    assert losses(loss_atoms(low, floats, lanes, "sweep")) == pytest.approx(exact, rel=1e-13)


@settings(max_examples=draws(60), deadline=None)
@given(laws())
def test_transform_equals_enumeration(law: tuple[int, list[Fraction], int]) -> None:
    low, weights, lanes = law
    values = {low + i: w for i, w in enumerate(weights) if w}
    floats = [float(w) for w in weights]
    result = joint_atoms(low, floats, lanes, "fft")
    expected = brute_joint(values, lanes)
    output = as_dict(result)
    for key in {*output, *expected}:
        assert output.get(key, 0.0) == pytest.approx(float(expected.get(key, 0)), abs=result.error)
    assert result.error < 1e-14
    told_losses, exact = losses(loss_atoms(low, floats, lanes, "fft")), brute_losses(values, lanes)
    for x in {*told_losses, *exact}:
        assert told_losses.get(x, 0.0) == pytest.approx(float(exact.get(x, 0)), abs=1e-14)


@settings(max_examples=draws(30), deadline=None)
@given(laws())
def test_the_recursion_as_printed_agrees_in_the_bulk(law: tuple[int, list[Fraction], int]) -> None:
    _, weights, lanes = law
    floats = np.array([float(w) for w in weights])
    ours, printed = as_dict(joint_atoms(0, floats, lanes)), literal_joint(floats.tolist(), lanes)
    for key, chance in printed.items():
        assert chance == pytest.approx(ours.get(key, 0.0), abs=1e-13)
    output = losses(loss_atoms(0, floats, lanes))
    for x, chance in literal_losses(floats.tolist(), lanes).items():
        assert chance == pytest.approx(output.get(x, 0.0), abs=1e-13)


@long
def test_the_recursion_loses_its_tail_and_the_sweep_does_not() -> None:
    uniform = np.full(41, 1 / 41)
    ours, printed = joint_atoms(0, uniform, 32), compiled_recursion(uniform, 32)
    assert_allclose(printed, ours.probabilities, rtol=0, atol=1e-15)
    assert rows_off(ours, uniform, 32, (20, 40)) < 1e-14
    sure = ours.probabilities > 1e-300
    assert np.max(np.abs(printed[sure] / ours.probabilities[sure] - 1)) > 1


# --- integers of any size
def rows_off(atoms: JointAtoms, weights: Iterable[float], lanes: int, rows: Iterable[int]) -> float:
    """The largest relative error of an atom above 1e-300 in some rows of a law from 0 on."""
    given_exactly = [Fraction(w) for w in weights]
    common = math.lcm(*(w.denominator for w in given_exactly))
    counts = [int(w * common) for w in given_exactly]
    total, worst = sum(counts) ** lanes, 0.0
    for row in rows:
        a = int(atoms.maxima[row])
        below = flint.fmpz_poly(counts[:a]) ** lanes if a else flint.fmpz_poly([])
        ways = (flint.fmpz_poly(counts[: a + 1]) ** lanes - below).coeffs()
        exact = np.array([int(way) / total for way in ways])
        output = atoms.probabilities[row, : len(exact)]
        assert np.all(output[exact == 0.0] == 0.0)
        assert not np.any(atoms.probabilities[row, len(exact) :])
        sure = exact > 1e-300
        worst = max(worst, float(np.max(np.abs(output[sure] / exact[sure] - 1), initial=0.0)))
    return worst


def geometric(p: float, eps: float) -> list[float]:
    """From 1 on, cut."""
    return (p * (1 - p) ** np.arange(math.ceil(math.log(eps) / math.log1p(-p)))).tolist()


UNEVEN = np.random.default_rng(5).random(40) ** 8
CASES = {
    "uniform": ([1 / 201] * 201, 32, (0, 1, 60, 199, 200)),
    "geometric": (geometric(0.05, 1e-12), 8, (0, 5, 200, 500)),
    "steep": (geometric(0.5, 1e-30), 33, (0, 1, 30, 99)),
    "uneven": ((UNEVEN / UNEVEN.sum()).tolist(), 61, (1, 20, 39)),
    "gaps": ([0.5, 0, 0, 0.25, 0, 0, 0, 0.125, 0, 0.125], 46, (0, 1, 2, 3)),
    "nearly one value": ([1e-12, 1 - 2e-12, 1e-12], 63, (0, 1, 2)),
    "hardly ever any": ([1 - 1e-290, 1e-290, 1e-200, 1e-100, 1e-3], 16, (0, 1, 2, 3, 4)),
    "300 lanes": ([1 / 6] * 6, 300, (0, 1, 4, 5)),
    "500 lanes": ([0.25, 0.5, 0.25], 500, (0, 1, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_atom_has_all_its_digits(name: str) -> None:
    weights, lanes, rows = CASES[name]
    result = joint_atoms(0, weights, lanes, "sweep")
    assert result.probabilities.min() >= 0
    assert math.fsum(result.probabilities.ravel()) == pytest.approx(1, abs=1e-14)
    assert result.floor <= 1e-300
    assert rows_off(result, weights, lanes, rows) < result.error < 1e-13


def test_many_lanes_say_down_to_where_they_are_exact() -> None:
    result = joint_atoms(0, [1 / 6] * 6, 800, "sweep")
    assert 1e-300 < result.floor < 1e-200
    ways = (flint.fmpz_poly([1] * 6) ** 800 - flint.fmpz_poly([1] * 5) ** 800).coeffs()
    exact = np.array([int(way) / 6**800 for way in ways])
    sure = exact > result.floor
    assert_allclose(result.probabilities[5][sure], exact[sure], rtol=1e-13)
    assert atom_method(0, [1 / 6] * 6, 800) == "sweep"
    assert atom_method(0, [1 / 6] * 6, 5000) == "fft"


# --- merging
def test_published_counts_and_quantiles() -> None:
    die = loss_atoms(1, [1 / 6] * 6, 32)
    assert len(die.numerator) == 303
    below = np.cumsum(die.probability)
    at = np.searchsorted(below, [0.01, 0.5, 0.9, 0.99])
    output = list(zip(die.numerator[at].tolist(), die.denominator[at].tolist(), strict=True))
    assert output == [(96, 67), (12, 7), (48, 25), (32, 15)]
    loss = die.numerator / die.denominator
    assert die.probability[loss <= 1.5].sum() == pytest.approx(0.0546391059798324385, rel=1e-14)
    even = loss_atoms(20, [1 / 21] * 21, 8)
    assert len(even.numerator) == 1259
    loss = even.numerator / even.denominator
    assert even.probability @ loss == pytest.approx(1.274909867603601650, rel=1e-14)
    middle = np.searchsorted(np.cumsum(even.probability), 0.5)
    assert (even.numerator[middle], even.denominator[middle]) == (80, 63)


def test_the_merged_law_of_a_thousand_values() -> None:
    result = loss_atoms(0, [1 / 1001] * 1001, 32)
    assert (result.method, result.numerator.dtype) == ("sweep", np.int32)
    assert len(result.numerator) == 9_429_953
    assert result.probability.min() > 0
    assert float(result.probability.sum()) + 1001.0**-32 == pytest.approx(1, abs=1e-14)
    loss = result.numerator / result.denominator
    assert np.all(np.diff(loss) > 0)
    assert np.all(np.gcd(result.numerator[::97], result.denominator[::97]) == 1)


def test_second_moment_of_two_items() -> None:
    result = loss_atoms(0, [1 / 301] * 301, 2)
    square = (result.numerator / result.denominator) ** 2 @ result.probability
    assert square == pytest.approx(float(_square_of_two(300)), rel=1e-14)


def _square_of_two(most: int) -> Fraction:
    """E[X**2; sum > 0] of two uniform items, summed over pairs with the same larger one."""
    common = math.lcm(*range(1, 2 * most + 1))
    total = 0
    for a in range(1, most + 1):
        for b in range(a):
            total += 2 * (2 * a * (common // (a + b))) ** 2
        total += common**2
    return Fraction(total, common**2 * (most + 1) ** 2)


@pytest.mark.parametrize("way", ["sweep", "fft"])
@pytest.mark.parametrize(
    ("low", "weights", "lanes"),
    [
        (0, [1 / 61] * 61, 12),
        (7, [1 / 61] * 61, 12),
        (6, [*([0.02, 0, 0] * 49), 0.02], 9),
        (9, [*([0.02, 0, 0] * 49), 0.02], 9),
        (0, [0.25, 0.25] + [0.0] * 97 + [0.5], 5),
    ],
)
def test_sorted_and_unsorted_merging_agree(
    low: int, weights: list[float], lanes: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = []
    for dense in (True, False):
        monkeypatch.setattr(atoms, "_is_dense", lambda *_, dense=dense: dense)
        result.append(loss_atoms(low, weights, lanes, way))
    assert result[0].numerator.tolist() == result[1].numerator.tolist()
    assert result[0].denominator.tolist() == result[1].denominator.tolist()
    assert_allclose(result[0].probability, result[1].probability, rtol=1e-13)


@pytest.mark.parametrize("low", [2**40, 2**50])
def test_merging_values_that_floats_hardly_tell_apart(low: int) -> None:
    result = loss_atoms(low, [0.25, 0.5, 0.25], 3)
    exact = brute_losses({low + i: Fraction(1 + i % 2, 4) for i in range(3)}, 3)
    assert result.numerator.dtype == np.int64
    assert losses(result) == pytest.approx({x: float(p) for x, p in exact.items()}, rel=1e-14)


@settings(max_examples=draws(40), deadline=None)
@given(laws(), st.integers(2, 12))
def test_a_unit_of_work_does_not_matter(law: tuple[int, list[Fraction], int], unit: int) -> None:
    low, weights, lanes = law
    floats = np.array([float(w) for w in weights])
    spread = np.zeros((len(floats) - 1) * unit + 1)
    spread[::unit] = floats
    ones, units = loss_atoms(low, floats, lanes), loss_atoms(low * unit, spread, lanes)
    assert losses(ones) == losses(units)


# --- the transform
@pytest.mark.parametrize(
    ("weights", "lanes"),
    [
        ([1 / 101] * 101, 32),
        ([1 / 101] * 101, 200),
        (geometric(0.1, 1e-9), 16),
        ([1 / 6] * 6, 600),
        ([0.5] + [0.0] * 200 + [0.25, 0.25], 50),
    ],
)
def test_transform_agrees_with_the_sweep(weights: list[float], lanes: int) -> None:
    fine, fast = joint_atoms(0, weights, lanes, "sweep"), joint_atoms(0, weights, lanes, "fft")
    rows, columns = np.isin(fine.maxima, fast.maxima), np.isin(fine.sums, fast.sums)
    off = np.abs(fine.probabilities[np.ix_(rows, columns)] - fast.probabilities).max()
    assert off <= fast.error < 1e-14
    remaining = float(fine.probabilities[np.ix_(rows, columns)].sum())
    assert remaining == pytest.approx(1, abs=1e-14)
    assert fast.probabilities.min() >= 0
    assert float(fast.probabilities.sum()) == pytest.approx(1, abs=1e-14)


def test_a_thousand_lanes_go_by_the_transform() -> None:
    result = loss_atoms(0, [1 / 201] * 201, 1024)
    assert result.method == "fft"
    loss = result.numerator / result.denominator
    exact = np.full(201, 1 / 201) @ np.arange(201)  # mean work
    assert result.probability @ loss == pytest.approx(200 / exact, rel=1e-2)
    assert float(result.probability.sum()) == pytest.approx(1, abs=1e-14)


# --- edges
@pytest.mark.parametrize("way", ["sweep", "fft"])
def test_edges(way: str) -> None:
    single = joint_atoms(7, [1.0], 5, way)
    assert as_dict(single) == {(7, 35): pytest.approx(1.0, rel=1e-15)}
    assert losses(loss_atoms(7, [1.0], 5, way)) == {Fraction(1): pytest.approx(1.0, rel=1e-15)}
    alone = loss_atoms(2, [0.25, 0, 0.75], 1, way)
    assert losses(alone) == {Fraction(1): pytest.approx(1.0, rel=1e-15)}
    nothing = loss_atoms(0, [1.0], 3, way)
    assert (len(nothing.numerator), len(nothing.probability)) == (0, 0)
    assert as_dict(joint_atoms(0, [1.0], 3, way)) == {(0, 0): pytest.approx(1.0, rel=1e-15)}
    trailing = joint_atoms(0, [0.0, 0.5, 0.5, 0.0], 2, way)
    assert trailing.maxima.tolist() == [1, 2]


def test_weights_need_not_sum_to_one() -> None:
    ones, halves = joint_atoms(0, [1.0, 1.0, 2.0], 9), joint_atoms(0, [0.25, 0.25, 0.5], 9)
    assert as_dict(ones) == pytest.approx(as_dict(halves), rel=1e-14)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: joint_atoms(0, np.full(100_001, 1e-5), 64), "moments, CDF and quantiles need no"),
        (lambda: loss_atoms(0, np.full(5001, 2e-4), 1024, "sweep"), "a larger eps"),
        (lambda: joint_atoms(0, [0.5, 0.5], 4, "guess"), "auto, sweep, fft"),
        (lambda: joint_atoms(0, [0.5, 0.5], 5000, "sweep"), "'fft' instead of 'sweep'"),
        (lambda: joint_atoms(0, [0.5, 0.5], 0), "lanes = 0"),
        (lambda: joint_atoms(0, [0.5, -0.5], 2), "expected probabilities"),
        (lambda: joint_atoms(0, [0.0], 2), "above 0"),
    ],
)
def test_what_is_refused(ask, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(LawError, match=says):
        ask()
