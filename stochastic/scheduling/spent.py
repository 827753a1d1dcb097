"""Where the time of slots and lanes goes, and the energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Energy", "Idle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Means over launches. Shares are of all the time of all slots, M·E[C]; they sum to 1.

    Attributes
    ----------
    slot_time : float
        Time that slots wait for the end of the launch, M·E[C] - E[T].
    slot_share : float
        Its share: the tail.
    lane_share : float
        Share that lanes wait for the longest of their warp, inside blocks.
    warp_share : float
        Share that warps wait for the longest of their block.
    working_share : float
        Share of useful work.
    """

    slot_time: float
    slot_share: float
    lane_share: float
    warp_share: float
    working_share: float

    @classmethod
    def of(
        cls, *, slots: int, time: float, total: float, parts: Sequence[tuple[float, float, float]]
    ) -> Idle:
        """Return the shares, from mean times of the launch and of all its blocks.

        ``parts`` are numbers of blocks, with the mean work of an item and of a warp.
        """
        whole = slots * time
        if whole == 0:
            return cls(
                slot_time=0.0, slot_share=0.0, lane_share=0.0, warp_share=0.0, working_share=1.0
            )
        used = min(total / whole, 1.0)  # what follows is above 1, or below 0, by rounding alone
        working = min(sum(count * item for count, item, _ in parts) / whole, used)
        lanes = min(max(sum(c * (warp - item) for c, item, warp in parts) / whole, 0.0), 1.0)
        return cls(
            slot_time=max(whole - total, 0.0),
            slot_share=1.0 - used,
            lane_share=lanes,
            warp_share=max(used - working - lanes, 0.0),
            working_share=working,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """The energy of a launch: the means of its parts, and the standard deviation of all.

    The standard deviation is exact to some 1e-6 of itself.
    """

    working: float
    on: float
    idling: float
    std: float

    @property
    def mean(self) -> float:
        """Of all."""
        return self.working + self.on + self.idling
