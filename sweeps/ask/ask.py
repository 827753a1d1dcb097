"""What is asked of a space of configurations: one record, whatever it is asked of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sweeps.grid.goals import Goal, check_top, per_axes, texts_of
from symbolic.errors import DseError

_METHODS = ("auto", "scan", "certified")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Which configurations are wanted: the best by objectives in order, and which beside it.

    ``per`` are axes for each value of which it is asked; ``top`` how many, best first; ``ties``
    wants all that are as good as the last of these, ``within`` all that are off the best by at most
    a share of it. ``time_limit`` [s] and ``gap`` bound a search with a proof.
    """

    goals: tuple[Goal, ...]
    per: tuple[str, ...] = ()
    top: int = 1
    ties: bool = False
    within: float | None = None
    method: str = "auto"
    time_limit: float | None = None
    gap: float | None = None

    @property
    def listed(self) -> bool:
        """Whether all are wanted that are as good as some value."""
        return self.ties or self.within is not None

    @property
    def ranked(self) -> bool:
        """True if several configurations may be wanted, which then lie along ``rank``."""
        return self.listed or self.top > 1

    @property
    def limited(self) -> bool:
        """Whether a search is bounded, so that only a proof tells what its answer is worth."""
        return self.time_limit is not None or self.gap is not None


def ask_for(
    goals: Sequence[Goal],
    axes: Sequence[str],
    *,
    per: str | Sequence[str] | None = None,
    top: int = 1,
    ties: bool = False,
    within: float | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
) -> Ask:
    """The question of an optimum over some axes.

    Raises
    ------
    DseError
        What is no axis, number of winners, share, method or limit; or what contradicts itself.
    """
    check_top(top)
    if within is not None:
        _check_number("within", within, "a share of the best value, such as 0.01")
    _check_method(method, time_limit, gap)
    several = [
        name
        for name, asked in (("top", top != 1), ("ties", ties), ("within", within is not None))
        if asked
    ]
    if gap and several:
        raise DseError(
            f"gap = {gap:g} leaves open which others are as good: leave {', '.join(several)} out, "
            "or gap"
        )
    return Ask(
        goals=tuple(goals),
        per=per_axes(texts_of(per, "per"), axes),
        top=top,
        ties=ties,
        within=within,
        method=method,
        time_limit=time_limit,
        gap=gap,
    )


def _check_method(method: str, time_limit: Any, gap: Any) -> None:
    """Refuse what is no method, or limits of a scan."""
    if method not in _METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(_METHODS)}")
    limits = {"time_limit": time_limit, "gap": gap}
    given = [name for name, value in limits.items() if value is not None]
    if method == "scan" and given:
        raise DseError(
            f"a scan looks at every point: {' and '.join(given)} need method='certified'"
        )
    for name in given:
        _check_number(name, limits[name], "a number that is not below 0")


def _check_number(name: str, value: Any, expected: str) -> None:
    """Refuse what is no number, or below 0."""
    wrong = isinstance(value, bool) or not isinstance(value, (int, float))
    if wrong or not 0 <= value < math.inf:
        raise DseError(f"{name} = {value!r}: expected {expected}")
