"""What a run gives, and how it came about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.failing import Failure

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run gave: its values, in memory or written, and how they came about.

    ``open`` returns the Dataset, which a run into a store opens then. ``seconds`` is without
    ``compiling``; ``share`` is how much of the values was computed now, ``tiles`` how many of the
    store's tiles, and how many an earlier run had stored; ``feasible`` the feasible points, None
    where all are; ``kept`` where a fresh run keeps the earlier store; ``failed`` the configurations
    that could not be computed; ``barred`` how many values needed no computing, because no point of
    their tile keeps the rules.
    """

    open: Callable[[], xr.Dataset]
    seconds: float
    compiling: float
    share: float = 1.0
    tiles: tuple[int, int] | None = None
    feasible: int | None = None
    kept: str | None = None
    failed: tuple[Failure, ...] = ()
    barred: int = 0
