"""The question a study file asks under ``[best]``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sweeps.grid.goals import Goal, check_top, goals_in_order
from symbolic.errors import DseError, check_known

_KEYS = ("minimize", "maximize", "per", "where", "top")


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What :func:`dse.optimum` is asked; ``where`` adds to the constraints of the study."""

    minimize: str | tuple[str, ...] | None = None
    maximize: str | tuple[str, ...] | None = None
    per: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top: int = 1

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives, the first in priority first."""
        return goals_in_order(self.minimize, self.maximize)

    def as_asked(self) -> dict[str, Any]:
        """The keywords of :func:`dse.optimum`."""
        return asdict(self)


def read_best(tree: Any, *, origin: str = "best") -> Best:
    """Read the table; ``origin`` stands before every message.

    >>> read_best({"minimize": "time", "per": "machine"}).per
    ('machine',)
    """
    if not isinstance(tree, Mapping):
        raise DseError(f'{origin} = {tree!r}: expected a table such as {{ minimize = "time" }}')
    for key in tree:
        check_known(key, _KEYS, f"{origin} has the key {key!r}, which no question has")
    goals = [key for key in ("minimize", "maximize") if tree.get(key) is not None]
    if len(goals) != 1:
        raise DseError(
            f"{origin} {'holds both minimize and maximize' if goals else 'holds no objective'}: "
            "give one of minimize and maximize a quantity"
        )
    goal = tree[goals[0]]
    several = goal if isinstance(goal, (list, tuple)) and goal else [goal]
    if not all(isinstance(text, str) and text.strip() for text in several):
        raise DseError(
            f"{origin}: {goals[0]} = {goal!r}, expected a quantity or formula as text, or a list "
            "in order of priority"
        )
    given = {goals[0]: goal if isinstance(goal, str) else tuple(goal)}
    goals_in_order(given.get("minimize"), given.get("maximize"))
    top = tree.get("top", 1)
    check_top(top, f"{origin}: ")
    return Best(
        minimize=given.get("minimize"),
        maximize=given.get("maximize"),
        per=_texts(tree.get("per"), f"{origin}: per"),
        where=_texts(tree.get("where"), f"{origin}: where"),
        top=top,
    )


def _texts(value: Any, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value or ()
    if not isinstance(listed, (list, tuple)) or not all(isinstance(text, str) for text in listed):
        raise DseError(f"{where} = {value!r}, expected text or a list of texts")
    return tuple(listed)


def check_per(best: Best, axes: Collection[str]) -> None:
    """Raise where a question is asked per something that is no axis of the study."""
    for name in best.per:
        said = f"per names {name!r}, which is no axis of the study"
        check_known(name, axes, said, "its axes are")
