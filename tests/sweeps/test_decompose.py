"""Variances by axis: equal to the definition, to closed forms, and however the grid is cut."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sweeps.scan.variance import VarianceDecomposition, decompose_variance
from tests.long import draws

Floats = NDArray[np.float64]


def by_definition(values: Floats) -> tuple[list[float], list[float]]:
    """Var(E[y | x]) and E[Var(y | all others)] of each axis, point by point."""
    points: list[tuple[tuple[int, ...], float]] = [
        (place, float(values[place]))
        for place in np.ndindex(values.shape)
        if not np.isnan(values[place])
    ]
    mean = sum(y for _, y in points) / len(points)
    first, total = [], []
    for axis in range(values.ndim):
        groups: dict[int, list[float]] = {}
        others: dict[tuple[int, ...], list[float]] = {}
        for place, y in points:
            groups.setdefault(place[axis], []).append(y)
            others.setdefault(place[:axis] + place[axis + 1 :], []).append(y)
        first.append(
            sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values()) / len(points)
        )
        total.append(
            sum(sum((y - sum(g) / len(g)) ** 2 for y in g) for g in others.values()) / len(points)
        )
    return first, total


def decomposition_of(values: Floats, limit: int = 1 << 16) -> VarianceDecomposition:
    return decompose_variance(values.shape, values.__getitem__, limit=limit)


@settings(max_examples=draws(60), deadline=None)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
    missing=st.sampled_from([0.0, 0.3, 0.8]),
    limit=st.integers(1, 700),
    offset=st.sampled_from([0.0, 1e6]),
)
def test_as_by_definition_in_blocks_of_any_size(
    shape: list[int], seed: int, missing: float, limit: int, offset: float
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) + offset
    values[rng.random(shape) < missing] = np.nan
    if np.isnan(values).all():
        values.flat[0] = offset
    first, total = by_definition(values - offset)
    result = decomposition_of(values, limit)
    assert np.allclose(result.first, first, rtol=1e-7, atol=1e-9)
    assert np.allclose(result.total, total, rtol=1e-7, atol=1e-9)
    assert result.count == int((~np.isnan(values)).sum())
    assert result.mean == pytest.approx(np.nanmean(values), rel=1e-12, abs=1e-12)
    assert result.variance == pytest.approx(np.nanvar(values - offset), rel=1e-7, abs=1e-9)
    assert (result.low, result.high) == pytest.approx((np.nanmin(values), np.nanmax(values)))
    for axis in range(values.ndim):
        moved = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        present = ~np.isnan(moved)
        assert result.counts[axis].tolist() == present.sum(axis=1).tolist()
        for mean, row, is_present in zip(result.means[axis], moved, present, strict=True):
            assert (
                np.isnan(mean)
                if not is_present.any()
                else mean == pytest.approx(row[is_present].mean())
            )


@settings(max_examples=draws(30), deadline=None)
@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=4), seed=st.integers(0, 10**6))
def test_shares_add_up_to_the_variance_without_interactions(shape: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    terms = [rng.normal(size=size) for size in shape]
    values: Any = 0.0
    for k, term in enumerate(terms):
        values = values + term.reshape([-1 if j == k else 1 for j in range(len(shape))])
    result = decomposition_of(np.asarray(values))
    assert np.allclose(result.first, [term.var() for term in terms])
    assert np.allclose(result.total, result.first)
    assert sum(result.first) == pytest.approx(result.variance, abs=1e-12)


@settings(max_examples=draws(30), deadline=None)
@given(shape=st.lists(st.integers(2, 6), min_size=2, max_size=4), seed=st.integers(0, 10**6))
def test_a_product_has_interactions_of_every_order(shape: list[int], seed: int) -> None:
    """y = Π g: Var(E[y|x]) = Var(g) Π' E[g]², E[Var(y|~x)] = Var(g) Π' E[g²]."""
    rng = np.random.default_rng(seed)
    terms = [rng.uniform(0.5, 2, size=size) for size in shape]
    values: Any = 1.0
    for k, term in enumerate(terms):
        values = values * term.reshape([-1 if j == k else 1 for j in range(len(shape))])
    result = decomposition_of(np.asarray(values), 20)
    for k, term in enumerate(terms):
        rest = [other for j, other in enumerate(terms) if j != k]
        alone = term.var() * np.prod([other.mean() ** 2 for other in rest])
        in_all = term.var() * np.prod([(other**2).mean() for other in rest])
        assert (result.first[k], result.total[k]) == pytest.approx((alone, in_all))


def ishigami(points: int, a: float = 7.0, b: float = 0.1) -> tuple[Floats, Floats]:
    x = -np.pi + 2 * np.pi * (np.arange(points) + 0.5) / points
    one, two, three = np.meshgrid(x, x, x, indexing="ij", sparse=True)
    return x, np.sin(one) + a * np.sin(two) ** 2 + b * three**4 * np.sin(one)


def test_ishigami_on_its_grid_and_in_the_limit() -> None:
    """Sums of sines are exact on the grid; the moments of x⁴ are those of the grid's values.

    In the limit they are the published indices: 0.3139, 0.4424, 0 and 0.5576, 0.4424, 0.2437.
    """
    x, values = ishigami(32)
    result = decomposition_of(values, 3000)
    a, b = 7.0, 0.1
    fourth, eighth = (x**4).mean(), (x**8).mean()
    alone = (0.5 * (1 + b * fourth) ** 2, a * a / 8, 0.0)
    third = 0.5 * b * b * (eighth - fourth**2)
    in_all = (alone[0] + third, alone[1], third)
    assert result.first == pytest.approx(alone, rel=1e-12, abs=1e-12)
    assert result.total == pytest.approx(in_all, rel=1e-12)
    assert result.variance == pytest.approx(sum(alone) + third, rel=1e-12)
    result = decomposition_of(ishigami(64)[1])
    shares = [np.array(row) / result.variance for row in (result.first, result.total)]
    assert np.allclose(shares[0], [0.3139, 0.4424, 0.0], atol=1e-3)
    assert np.allclose(shares[1], [0.5576, 0.4424, 0.2437], atol=1e-3)


def test_a_constant_is_told_whatever_its_rounding() -> None:
    values = np.full((4, 5), 0.1) * np.array([1, 1 + 2e-16, 1, 1, 1])
    assert decomposition_of(values).is_constant
    assert not decomposition_of(values + np.arange(5) * 1e-12).is_constant
    assert decomposition_of(np.full((2, 2), 3.0)).first == (0.0, 0.0)
    assert decomposition_of(np.array([[np.nan, 2.0], [np.nan, np.nan]])).is_constant


def test_no_point_at_all() -> None:
    result = decomposition_of(np.full((2, 3), np.nan))
    assert result.count == 0
    assert np.isnan([result.mean, result.variance, *result.first, *result.total]).all()


@pytest.mark.parametrize("shape", [(7, 11, 5), (3, 100), (100, 3), (2, 2, 2, 2, 2, 2)])
@pytest.mark.parametrize("limit", [1, 10, 64, 1000])
def test_blocks_stay_below_the_limit_or_a_line(shape: tuple[int, ...], limit: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=shape)
    sizes = []

    def block(place: tuple[slice, ...]) -> Floats:
        part = values[place]
        sizes.append(part.size)
        return part

    result = decompose_variance(shape, block, limit=limit)
    assert max(sizes) <= max(limit, *shape)
    assert result.total == pytest.approx(by_definition(values)[1])
    passes = sum(sizes) / values.size
    assert passes <= (1 if limit >= values.size else len(shape))
    assert passes == int(passes)


def test_blocks_cover_the_grid_once_a_pass() -> None:
    seen: dict[tuple[int, ...], int] = {}

    def block(place: tuple[slice, ...]) -> Floats:
        for point in itertools.product(*(range(s.start, s.stop) for s in place)):
            seen[point] = seen.get(point, 0) + 1
        return np.zeros([s.stop - s.start for s in place])

    decompose_variance((4, 3, 5), block, limit=15)
    assert len(seen) == 60
    assert set(seen.values()) == {2}
