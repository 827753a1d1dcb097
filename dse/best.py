"""The question a study file asks under ``[best]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sweeps.answers import Goal, check_top
from sweeps.goals import check_single, goals_in_order
from symbolic.errors import DseError, UnknownNameError, nearest

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study
    from sweeps.store.fill import Watch
    from sweeps.stored.written import Written

__all__ = ["Best", "read_best"]

#: Below this many points no loop nest is compiled for the question.
_LOOKED_UP = 1 << 24
_KEYS = ("minimize", "maximize", "per", "where", "top")


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What :meth:`dse.Study.optimum` is asked; ``where`` adds to the constraints of the study."""

    minimize: str | tuple[str, ...] | None = None
    maximize: str | tuple[str, ...] | None = None
    per: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top: int = 1

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives, the first in priority first."""
        return goals_in_order(self.minimize, self.maximize)

    def check(self, study: Study) -> None:
        """Raise where the study has no such quantity or axis; nothing is computed."""
        axes = study.space().axes
        for name in self.per:
            if name not in axes:
                raise UnknownNameError(
                    f"per names {name!r}, which is no axis of the study{nearest(name, axes)}; "
                    f"its axes are: {', '.join(axes) or 'none'}"
                )
        study.space(study._needed([goal.text for goal in self.goals]), self.where)

    def looked_for(self, study: Study) -> tuple[str, str] | None:
        """The name and unit of the objective where it is an output, whose best a run can tell."""
        watch = self.watch(study)
        if watch is None:
            return None
        return watch.output, study.grid().model.quantities[watch.output].unit

    def watch(self, study: Study) -> Watch | None:
        """What a run watches, where the objective is an output and nothing else constrains it."""
        from sweeps.store.fill import Watch

        (goal, *later), grid = self.goals, study.grid()
        if later or self.where or goal.text not in grid.outputs or grid.kind(goal.text) != "float":
            return None
        return Watch(output=goal.text, sign=goal.sign)

    def ask(self, study: Study, run: xr.Dataset | Written) -> xr.Dataset:
        """The winners; looked up in the Dataset or store of a run where that is quicker."""
        from dse.questions import ask_optimum, at_hand

        if at_hand(run, study.grid().points <= _LOOKED_UP):
            from symbolic.expression import parse, parse_condition
            from symbolic.ops import references

            quantities = study.grid().model.quantities
            nodes = [parse(goal.text, quantities) for goal in self.goals]
            nodes += [parse_condition(text, quantities) for text in self.where]
            if all(name in run.variables for name in references(*nodes)):
                return ask_optimum(
                    run, self.goals, where=self.where, per=self.per, top=self.top, ties=False
                )
        return study.optimum(
            minimize=self.minimize,
            maximize=self.maximize,
            per=self.per,
            where=self.where,
            top=self.top,
        )


def read_best(tree: Any, *, origin: str = "best") -> Best:
    """Read the table; ``origin`` stands before every message.

    >>> read_best({"minimize": "time", "per": "machine"}).per
    ('machine',)
    """
    if not isinstance(tree, Mapping):
        raise DseError(f'{origin} = {tree!r}: expected a table such as {{ minimize = "time" }}')
    for key in tree:
        if key not in _KEYS:
            raise UnknownNameError(
                f"{origin} has the key {key!r}, which is none of {', '.join(_KEYS)}"
                f"{nearest(str(key), _KEYS)}"
            )
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
    if len(goals_in_order(given.get("minimize"), given.get("maximize"))) > 1:
        check_single(top=tree.get("top", 1) != 1, per=bool(tree.get("per")))
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
