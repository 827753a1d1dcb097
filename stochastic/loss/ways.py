"""Which way to the probabilities of outcomes is taken, by what it costs."""

from __future__ import annotations

from stochastic.errors import LawError
from stochastic.loss.outcomes import Outcomes

__all__ = ["choose_way", "refuse"]

WAYS = ("auto", "sweep", "fft")
_MOST_BYTES = 4 << 30
_MOST_SECONDS = 120.0
#: Up to here the sweep, whose atoms have all digits however small they are, is worth any price.
_PATIENCE = 2.0
#: The sweep is for lanes of which it computes atoms down to this size, at least.
_LEAST_FLOOR = 1e-30


def choose_way(outcomes: Outcomes, how: str) -> str:
    """The sweep, unless it takes long or the lanes are too many for it, and the transform less."""
    if how not in WAYS:
        raise LawError(f"how = {how!r}: expected one of {', '.join(WAYS)}")
    if how != "auto":
        return how
    if outcomes.floor > _LEAST_FLOOR:
        return "fft"
    seconds = outcomes.sweep_seconds
    return "fft" if seconds > _PATIENCE and seconds > 2 * outcomes.fft_seconds else "sweep"


def refuse(outcomes: Outcomes, way: str, size: int) -> None:
    """An error where a result of ``size`` bytes is too large, or takes too long."""
    seconds = outcomes.fft_seconds
    if way == "sweep":
        size += 4 * outcomes.lanes * (outcomes.lanes * outcomes.top + 512)
        seconds = outcomes.sweep_seconds
        if outcomes.floor > _LEAST_FLOOR:
            raise LawError(
                f"the sweep underflows in {outcomes.lanes} lanes: take 'auto' or 'fft' instead of "
                "'sweep'; moments, CDF and quantiles need no atoms"
            )
    if size > _MOST_BYTES or seconds > _MOST_SECONDS:
        raise LawError(
            f"the atoms of {len(outcomes.values)} values up to {outcomes.maxima[-1]} in "
            f"{outcomes.lanes} lanes would take {size / 2**30:.3g} GiB and about {seconds:.2g} s "
            f"(by the {way}), above {_MOST_BYTES >> 30} GiB or {_MOST_SECONDS:.0f} s: moments, CDF "
            "and quantiles need no atoms; a larger eps cuts the support shorter; simulate draws"
        )
