"""The question a study file asks under ``[best]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symbolic.errors import DseError, UnknownNameError, nearest

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study
    from sweeps.store.fill import Watch

__all__ = ["Best", "read_best"]

#: Below this many points no loop nest is compiled for the question.
_LOOKED_UP = 1 << 24
_KEYS = ("minimize", "maximize", "per", "where", "top")


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What :meth:`dse.Study.optimum` is asked; ``where`` adds to the constraints of the study."""

    minimize: str | None = None
    maximize: str | None = None
    per: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top: int = 1

    def check(self, study: Study) -> None:
        """Raise where the study has no such quantity or axis; nothing is computed."""
        axes = study.grid().axes
        for name in self.per:
            if name not in axes:
                raise UnknownNameError(
                    f"per names {name!r}, which is no axis of the study{nearest(name, axes)}; "
                    f"its axes are: {', '.join(axes) or 'none'}"
                )
        study._question([self.minimize or self.maximize or ""], self.where)

    def looked_for(self, study: Study) -> tuple[str, str] | None:
        """The name and unit of the objective where it is an output, whose best a run can tell."""
        watch = self.watch(study)
        if watch is None:
            return None
        return watch.output, study.grid().model.quantities[watch.output].unit

    def watch(self, study: Study) -> Watch | None:
        """What a run watches, where the objective is an output and nothing else constrains it."""
        from sweeps.store.fill import Watch

        goal, grid = self.minimize or self.maximize or "", study.grid()
        if self.where or goal not in grid.outputs or grid.kind(goal) != "float":
            return None
        return Watch(output=goal, sign=1.0 if self.minimize else -1.0)

    def ask(self, study: Study, ds: xr.Dataset | None = None) -> xr.Dataset:
        """The winners; looked up in the store or Dataset of a run where that is quicker."""
        from dse.questions import at_hand

        goal = self.minimize or self.maximize or ""
        if ds is not None and at_hand(ds, study.grid().points <= _LOOKED_UP):
            from dse.api import optimum
            from symbolic.expression import parse, parse_condition
            from symbolic.ops import references

            quantities = study.grid().model.quantities
            nodes = [parse(goal, quantities)]
            nodes += [parse_condition(text, quantities) for text in self.where]
            if all(name in ds.variables for name in references(*nodes)):
                return optimum(
                    ds,
                    minimize=self.minimize,
                    maximize=self.maximize,
                    per=self.per,
                    where=self.where,
                    top=self.top,
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
    if not isinstance(goal, str) or not goal.strip():
        raise DseError(f"{origin}: {goals[0]} = {goal!r}, expected a quantity or formula as text")
    top = tree.get("top", 1)
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise DseError(f"{origin}: top = {top!r}, expected a whole number of at least 1")
    return Best(
        minimize=tree.get("minimize"),
        maximize=tree.get("maximize"),
        per=_texts(tree.get("per"), f"{origin}: per"),
        where=_texts(tree.get("where"), f"{origin}: where"),
        top=top,
    )


def _texts(value: Any, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value or ()
    if not isinstance(listed, (list, tuple)) or not all(isinstance(text, str) for text in listed):
        raise DseError(f"{where} = {value!r}, expected text or a list of texts")
    return tuple(listed)
