"""What is proven of an optimum, as it stands in the attributes of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sweeps.grid.goals import Goal
from symbolic.errors import OutOfTimeError

__all__ = ["Certificate", "none_in_time"]


def none_in_time(goal: Goal, time_limit: float | None = None) -> OutOfTimeError:
    """The error where no point was found while there was time."""
    within = "" if time_limit is None else f" in {time_limit:g} s"
    return OutOfTimeError(
        f"no feasible point with a finite {goal.text} was found{within}, nor is it proven that "
        "there is none: give more time, or relax the constraints"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What is proven of an optimum.

    No configuration is better than ``bound``; ``gap`` is how far, in shares of the value found,
    that is from it: 0 where it is proven to be the optimum. ``settled`` says that of equal ones it
    is the first in the order of the axes. ``visited`` counts the points looked at, some of them
    more than once; ``excluded`` those of which bounds over boxes told enough. Of several objectives
    in order of priority there are as many bounds and gaps.
    """

    bound: float | list[float]
    gap: float | list[float]
    settled: bool
    boxes: int
    visited: int
    excluded: int

    def attributes(self) -> dict[str, Any]:
        """For a Dataset."""
        excluded: int | float = self.excluded if self.excluded < 2**63 else float(self.excluded)
        return {
            "bound": self.bound,
            "gap": self.gap,
            "settled": int(self.settled),
            "boxes": self.boxes,
            "points_visited": self.visited,
            "points_excluded": excluded,
        }
