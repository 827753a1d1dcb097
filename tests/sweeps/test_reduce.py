"""The smallest values and the Pareto front, against sorting and comparing everything."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.nest.reduce import pareto_indices, smallest_indices
from tests.long import draws
from tests.oracles.brute import pareto

FEW = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0, 2.0, math.inf, -math.inf])
MANY = st.one_of(FEW, st.floats(allow_nan=False, width=16))


@given(values=st.lists(MANY, max_size=40), count=st.integers(1, 50))
def test_smallest_is_a_stable_sort(values: list[float], count: int) -> None:
    array = np.array(values, dtype=np.float64)
    order = sorted(range(len(values)), key=lambda i: (values[i], i))
    expected = [i for i in order if values[i] < math.inf][:count]
    assert smallest_indices(array, count).tolist() == expected


def test_smallest_of_many_ties() -> None:
    array = np.tile([3.0, 1.0, 2.0], 50_000)
    assert smallest_indices(array, 3).tolist() == [1, 4, 7]
    assert smallest_indices(array, 50_002)[-2:].tolist() == [2, 5]


@settings(max_examples=draws(300), deadline=None)
@given(
    points=st.integers(1, 4).flatmap(
        lambda k: st.lists(
            st.lists(st.one_of(FEW, st.just(math.nan)), min_size=k, max_size=k),
            min_size=1,
            max_size=30,
        )
    )
)
def test_front_of_few(points: list[list[float]]) -> None:
    assert pareto_indices(np.array(points).T.copy()).tolist() == pareto(points)


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 40])
@pytest.mark.parametrize("levels", [3, 12, 0])
def test_front_of_many(objectives: int, levels: int) -> None:
    """Above the size where strong points filter the others first; with duplicates and without."""
    rng = np.random.default_rng(objectives * 100 + levels)
    count = 900
    values = rng.random((objectives, count))
    if levels:
        values = np.floor(values * levels)
    values[rng.integers(objectives), rng.integers(count, size=40)] = np.nan
    values[rng.integers(objectives), rng.integers(count, size=40)] = np.inf
    values[:, 500:520] = values[:, 100:120]
    assert pareto_indices(values).tolist() == pareto(values.T.tolist())


def test_front_of_one_curve_and_its_duplicates() -> None:
    steps = np.arange(400.0)
    curve = np.stack([steps, 400 - steps])
    both = np.concatenate([curve, curve], axis=1)
    assert pareto_indices(both).tolist() == list(range(400))
    same = np.ones((3, 500))
    assert pareto_indices(same).tolist() == [0]


def test_front_of_nothing() -> None:
    assert pareto_indices(np.empty((2, 0))).tolist() == []
    assert pareto_indices(np.full((2, 5), np.nan)).tolist() == []
    assert pareto_indices(np.full((1, 500), np.inf)).tolist() == []


def test_front_does_not_care_for_scale() -> None:
    rng = np.random.default_rng(1)
    values = np.floor(rng.random((3, 700)) * 9)
    scaled = values * np.array([[1e-200], [1.0], [1e200]])
    assert pareto_indices(scaled).tolist() == pareto_indices(values).tolist()
