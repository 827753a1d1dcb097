"""Certified answers known by construction; hundreds by tests.sweeps.planting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sweeps.bounds.merge_axes
from symbolic.errors import InternalError
from tests.long import mostly_long
from tests.sweeps import planting


@pytest.mark.parametrize("seed", mostly_long(range(1, 9), lambda k, _: k == 1))
@pytest.mark.parametrize("size", ["vast", "below", "tiny"])
def test_answers_are_those_of_the_construction(size: str, seed: int, tmp_path: Path) -> None:
    one = planting.plant(seed, size)
    low, high = planting.POINTS[size]
    assert low < one.points / len(one.axes.get(planting.IDLE, [0])) < high
    planting.compare(one, seed, tmp_path, size)


def test_beyond_the_border_axes_are_merged() -> None:
    assert (
        planting.POINTS["below"][1]
        < sweeps.bounds.merge_axes._MIN_POINTS
        <= planting.POINTS["vast"][0]
    )


def test_an_answer_that_takes_nan_for_a_number_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A former fault: a table of one value was taken to be sorted and without NaN."""
    from sweeps.bounds.problem import RangeExtremes

    begun = RangeExtremes.__init__

    def wrong(self: Any, *given: Any) -> None:
        begun(self, *given)
        self.is_sorted = self.dims == 1 and (self.array.size == 1 or self.is_sorted)

    monkeypatch.setattr(RangeExtremes, "__init__", wrong)

    def attack() -> None:
        for seed in (32, 77):
            planting.compare(planting.plant(seed, "tiny"), seed, tmp_path, "tiny")

    with pytest.raises((planting.Wrong, InternalError)):
        attack()
