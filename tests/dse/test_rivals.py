"""Boxes of configurations that can be the best within ±, which leave out no winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
import dse.inverse.ranges
from symbolic.errors import DseError
from tests.long import long

GIVEN = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600.0}
GIVEN_THREADS = {**GIVEN, "threads": 256}
GOAL = "cs_throughput - threads / 100 + intensity * absolute(mem_latency - 590) / 40"


def study(**given: Any) -> dse.Study:
    """A study whose best configuration moves with its inputs."""
    axes: dict[str, Any] = {"threads": range(8, 1025, 24), "intensity": [2, 5, 10, 20, 40]}
    if "mem_latency" in given:
        axes["mem_latency"] = given.pop("mem_latency")
    fixed = {name: value for name, value in {**GIVEN, **given}.items() if name not in axes}
    return dse.Study(model="transit", axes=axes, set=fixed, where="cs_throughput >= 0.2")


def boxes_with(boxes: Any, threads: int, intensity: float) -> Any:
    """In which boxes a configuration lies."""
    inside = (boxes.threads_first <= threads) & (threads <= boxes.threads_last)
    return inside & (boxes.intensity_first <= intensity) & (intensity <= boxes.intensity_last)


@long
@pytest.mark.parametrize(
    ("within", "boxes"),
    [({"mem_latency": "20 %"}, 1 << 16), ({"mem_latency": "20 %", "ms_peak": "10 %"}, 24)],
)
def test_no_winner_is_left_out(monkeypatch: Any, within: dict[str, str], boxes: int) -> None:
    near = study().ranges(within, maximize=GOAL).can_be_best
    monkeypatch.setattr(dse.inverse.ranges, "MAX_POINTS", 10)
    monkeypatch.setattr("dse.inverse.ranges.MAX_RIVAL_BOXES", boxes)
    result = study().ranges(within, maximize=GOAL)
    assert result.attrs["complete"] == (boxes > 24)
    assert 0 < int(result.inner) <= int(result.outer) < int(result.total)
    moved = [480.0, 600.0, 720.0, *np.random.default_rng(0).uniform(480, 720, 40)]
    best = study(mem_latency=moved).optimum(maximize=GOAL, per="mem_latency")
    winners = set(zip(best.threads.values.tolist(), best.intensity.values.tolist(), strict=True))
    assert len(winners) > 1
    for winner in winners:
        assert boxes_with(result, *winner).sum() == 1, winner
    if list(within) == ["mem_latency"]:
        middles = ((np.arange(100) + 0.5) / 100 * 240 + 480).tolist()
        best = study(mem_latency=middles).optimum(maximize=GOAL, per="mem_latency")
        pairs = zip(best.threads.values.tolist(), best.intensity.values.tolist(), strict=True)
        inside = np.stack([boxes_with(result, *pair).values for pair in pairs]).mean(axis=0)
        assert np.all(result.chance_lower - 0.03 <= inside)
        assert np.all(inside <= result.chance_upper + 0.03)
    for box in np.flatnonzero(result.certain.values):
        place = result.isel(box=int(box))
        here = {"threads": place.threads_first.item(), "intensity": place.intensity_first.item()}
        assert near.sel(here).item()


def test_chances_are_bounded_by_cells(monkeypatch: Any) -> None:
    monkeypatch.setattr(dse.inverse.ranges, "MAX_POINTS", 1)
    near = dse.Study(model="transit", axes={"intensity": [2, 5, 10, 20, 40]}, set=GIVEN_THREADS)
    result = near.ranges({"mem_latency": "20 %"}, maximize="intensity * (mem_latency - 590)")
    exact = {40: (720 - 590) / 240, 2: (590 - 480) / 240}
    for box in range(result.sizes["box"]):
        one = result.isel(box=box)
        chance = exact.get(one.intensity_first.item(), 0.0)
        assert one.chance_lower <= chance <= one.chance_upper
        assert one.chance_upper - one.chance_lower < 0.05


def test_what_boxes_cannot_tell_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(dse.inverse.ranges, "MAX_POINTS", 10)
    inputs = dict.fromkeys(["mem_latency", "ms_peak", "lanes_width", "intensity"], "5 %")
    with pytest.raises(DseError, match="at most 3 uncertain inputs"):
        study().ranges(inputs, maximize=GOAL)
