"""The value of knowing inputs, and which to measure next."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dse
from dse.uncertain.draws import read_random
from symbolic.errors import DseError, InfeasibleError
from symbolic.quantities import TABLE
from tests.dse.covering import MODEL

GOAL = "intensity * threads / 512 - ms_peak * (threads / 256) * (threads / 256)"
LAWS = {"intensity": dse.discrete([1, 2, 8, 16], [1, 1, 1, 5]), "ms_peak": dse.discrete([1, 2])}


def transit(**more):
    given = {
        "model": "transit",
        "axes": {"threads": [256, 512, 1024]},
        "outputs": ["cs_throughput"],
    }
    return dse.Study(
        **{**given, "set": {"lanes_width": 32, "mem_latency": 512}, "random": LAWS, **more}
    )


def slowly(known):
    """Return the value of knowing some inputs, by enumeration in fractions."""
    atoms = [
        (z, p, Fraction(w, 16))
        for (z, w), p in itertools.product(zip((1, 2, 8, 16), (1, 1, 1, 5), strict=True), (1, 2))
    ]

    def value(n, z, p):
        return Fraction(z * n, 512) - p * Fraction(n, 256) ** 2

    def best(part):
        return max(sum(w * value(n, z, p) for z, p, w in part) for n in (256, 512, 1024))

    cells = {}
    for atom in atoms:
        cells.setdefault(tuple(atom[k] for k in known), []).append(atom)
    return sum(best(part) for part in cells.values()) - best(atoms)


def test_enumerated_laws_are_exact():
    result = transit().information(maximize=GOAL, sets=[["ms_peak", "intensity"]])
    worth = dict(zip(result["set"].values.tolist(), result.evppi.values.tolist(), strict=True))
    assert Fraction(worth["intensity"]) == slowly([0])
    assert Fraction(worth["ms_peak"]) == slowly([1])
    assert Fraction(worth["ms_peak, intensity"]) == slowly([0, 1]) == Fraction(result.evpi.item())
    assert not result.evppi_error.any()
    assert result.attrs["next"] == "intensity"
    assert result.threads.item() == 512
    assert result.then_threads.sel(set="intensity").item() == 256
    assert result.changes.sel(set="intensity").item() == 3 / 8


@pytest.fixture
def options(tmp_path):
    (tmp_path / "options.py").write_text(MODEL)
    given = {"level": 0, "gain": 1, "slope1": 0, "more1": -1, "slope2": 0, "more2": 2}
    laws = {"p1": dse.normal(0, 1), "p2": dse.normal(0, 1), "draws": 512, "seed": 2}
    return lambda **more: dse.Study(
        model=str(tmp_path / "options.py"),
        axes={"take": [0, 1]},
        set=given,
        random={**laws, **more},
        outputs=["plain_value"],
    )


def test_what_is_known_in_closed_form(options):
    """An option of benefit N(1, 1) - N(0, 2), or none: the values of the design's document."""
    result = options().information(maximize="plain_value", sets=[["p1", "p2"]])
    known = [0.0833154706, 0.3955931148, 0.4798107063]
    assert (abs(result.evppi - known) <= result.evppi_error).all()
    assert (result.evppi_error < [0.01, 0.02, 0.02]).all()
    assert abs(result.evpi.item() - known[2]) <= result.evpi_error.item()
    assert result.attrs["next"] == "p2"


def test_knowing_more_is_worth_no_less(options):
    tied = options(correlation=[["p1", "p2", 0.9]])
    result = tied.information(maximize="plain_value", sets=[["p1", "p2"]])
    p1, p2, both = result.evppi.values
    assert 0 <= p1 <= both
    assert p2 <= both <= result.evpi.item()
    # D = 1 - p1 + 2 p2; given p1 its mean is 1 + 0.8 p1, given p2 it is 1 + 1.1 p2
    from scipy.stats import norm

    for worth, std in ((p1, 0.8), (p2, 1.1)):
        exact = std * norm.pdf(1 / std) - norm.cdf(-1 / std)
        assert worth == pytest.approx(exact, abs=0.01)


def test_nested_draws_have_the_laws_and_their_correlations():
    laws = {"mem_latency_dram": "lognormal: 450, 30 %", "mem_bandwidth": dse.uniform(1e11, 2e11)}
    laws |= {"correlation": [["mem_latency_dram", "mem_bandwidth", -0.5]], "draws": 256}
    about = read_random(laws, TABLE)
    axis = about.nested_axis(["mem_bandwidth"], 64, 64)
    latency, bandwidth = (axis.columns[name].reshape(-1, 64) for name in about.laws)
    assert np.all(bandwidth == bandwidth[:, :1])
    assert len(np.unique(latency)) == latency.size
    assert np.mean(latency) == pytest.approx(450, rel=2e-3)
    ranks = [np.argsort(np.argsort(column.reshape(-1))) for column in (latency, bandwidth)]
    known = 6 / np.pi * np.arcsin(-0.25)  # Pearson 1907
    assert np.corrcoef(ranks)[0, 1] == pytest.approx(known, abs=0.01)


def test_where_nothing_would_be_chosen_otherwise_nothing_is_measured():
    study = transit(set={"lanes_width": 32}, random={**LAWS, "mem_latency": dse.discrete([1, 2])})
    result = study.information(maximize="threads - intensity")
    assert result.attrs["next"] == "none"
    assert result.evpi.item() == 0
    assert np.isnan(result.then_threads).all()


def test_a_configuration_is_chosen_only_if_it_is_always_feasible():
    result = transit().information(maximize=GOAL, where="intensity * threads <= 8192")
    assert result.threads.item() == 512
    with pytest.raises(InfeasibleError, match="in every draw"):
        transit().information(maximize=GOAL, where="intensity * threads <= 2048")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sets": [["ms_peek"]]}, "no random input.*ms_peak"),
        ({"sets": [[]]}, "an empty set"),
        ({"sets": "ms_peak"}, "expected lists"),
        ({"maximize": None}, "nothing to optimise"),
    ],
)
def test_bad_questions_are_refused(arguments, message):
    with pytest.raises(DseError, match=message):
        transit().information(**{"maximize": GOAL, **arguments})
