"""What a question asks for, and the Dataset that answers it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.plain import answered
from sweeps.reduce import smallest
from symbolic.errors import DseError, InfeasibleError, UnknownNameError, nearest
from symbolic.expression import parse
from symbolic.ops import Node

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "OBJECTIVE",
    "Chosen",
    "Goal",
    "answer",
    "answer_points",
    "check_top",
    "choose",
    "in_words",
    "no_choice",
    "objective_name",
    "one_goal",
    "per_axes",
    "read_goals",
    "spread",
    "texts_of",
    "trimmed",
    "with_idle_axes",
]

#: The name of an objective that is a formula.
OBJECTIVE = "objective"

#: Winners that are listed at most.
_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A formula to be made small (``sign`` 1) or large (``sign`` -1)."""

    text: str
    sign: float

    def node(self, quantities: Mapping[str, Any]) -> Node:
        """The formula, signed so that smaller is better."""
        node = parse(self.text, quantities)
        return node if self.sign > 0 else -node


def texts_of(value: Any, key: str) -> tuple[str, ...]:
    """A text, or several of them, as a tuple; ``key`` stands in the message where it is neither.

    >>> texts_of("time <= 1", "where"), texts_of(None, "where")
    (('time <= 1',), ())
    """
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, Iterable):
        raise DseError(f"{key} = {value!r}: expected text, or a list of texts")
    listed = tuple(value)
    for text in listed:
        if not isinstance(text, str):
            raise DseError(f"{key} holds {text!r}: expected text, or a list of texts")
    return listed


def read_goals(minimize: Any, maximize: Any) -> tuple[Goal, ...]:
    """The goals of ``minimize=`` and ``maximize=``: each a text, a list of texts, or None."""
    goals = []
    for key, texts, sign in (("minimize", minimize, 1.0), ("maximize", maximize, -1.0)):
        goals += [Goal(text=text, sign=sign) for text in texts_of(texts, key)]
    if not goals:
        raise DseError("nothing to optimise: give minimize= or maximize= a quantity")
    return tuple(goals)


def one_goal(minimize: Any, maximize: Any) -> Goal:
    """The one goal of an optimum."""
    goals = read_goals(minimize, maximize)
    if len(goals) != 1:
        texts = ", ".join(goal.text for goal in goals)
        raise DseError(f"a question takes one objective, was given {texts}: for several ask pareto")
    return goals[0]


def check_top(top: int, where: str = "") -> None:
    """Refuse a number of winners below one, or beyond what is held in memory."""
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise DseError(f"{where}top = {top!r}: expected a whole number of at least 1")
    if top > _MOST:
        raise DseError(
            f"{where}top = {top}: expected at most {_MOST:,}; for more, export the run and sort it"
        )


def per_axes(per: str | Sequence[str] | None, axes: Sequence[str]) -> tuple[str, ...]:
    """The axes named by ``per``, in the order of the grid."""
    names = texts_of(per, "per")
    for name in names:
        if name not in axes:
            raise UnknownNameError(
                f"per = {name!r} is no axis{nearest(name, axes)}; there are: {', '.join(axes)}"
            )
    return tuple(axis for axis in axes if axis in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Winning places: an index along each axis, of shape (*per, top); -1 where there is none."""

    per: tuple[str, ...]
    places: Mapping[str, NDArray[np.int64]]


def choose(
    values: NDArray[np.float64], dims: Sequence[str], per: Sequence[str], top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """The ``top`` smallest, shape (*per, top): flat indices over the other axes, and values."""
    rest = tuple(dim for dim in dims if dim not in per)
    moved = values.transpose([dims.index(dim) for dim in (*per, *rest)])
    shape = moved.shape[: len(per)]
    rows = moved.reshape(math.prod(shape), -1)
    if top == 1 and rows.size:
        best = rows.argmin(axis=1)
        scores = np.take_along_axis(rows, best[:, None], axis=1)
        found = np.where(scores < np.inf, best[:, None], -1).astype(np.int64)
        return found.reshape(*shape, 1), scores.reshape(*shape, 1), rest
    found = np.full((len(rows), top), -1, dtype=np.int64)
    scores = np.full((len(rows), top), np.inf)
    for place, row in enumerate(rows):
        best = smallest(row, top)
        found[place, : best.size] = best
        scores[place, : best.size] = row[best]
    return found.reshape(*shape, top), scores.reshape(*shape, top), rest


def with_idle_axes(
    flat: NDArray[np.int64],
    values: NDArray[np.float64],
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """The winners among all axes, those included along which nothing varies: ties of each other.

    ``flat`` and ``values`` are those of :func:`choose`, over the axes ``rest``. A configuration of
    the first ``top`` lies, along either kind of axes, among the first ``top`` that tie.
    """
    idle = [axis for axis in sizes if axis not in rest and axis not in per]
    top = flat.shape[-1]
    if top == 1 or not idle:
        return flat, values, tuple(rest)
    whole = tuple(axis for axis in sizes if axis not in per)
    shape = [sizes[axis] for axis in idle]
    copies = np.unravel_index(np.arange(min(top, math.prod(shape))), shape)
    index = dict(zip(idle, copies, strict=True))
    if rest:
        split = np.unravel_index(np.maximum(flat, 0), [sizes[axis] for axis in rest])
        index.update({axis: i[..., None] for axis, i in zip(rest, split, strict=True)})
    found = np.ravel_multi_index([index[axis] for axis in whole], [sizes[axis] for axis in whole])
    found = np.where(flat[..., None] < 0, -1, found)
    scores = np.broadcast_to(values[..., None], found.shape).reshape(*flat.shape[:-1], -1)
    found = found.reshape(*flat.shape[:-1], -1)
    order = np.lexsort((found, scores))[..., :top]
    best = np.take_along_axis(scores, order, axis=-1)
    return np.take_along_axis(found, order, axis=-1), best, whole


def trimmed(flat: NDArray[np.int64], per: Sequence[str]) -> NDArray[np.int64]:
    """Without the ranks that no point takes, where there is one ranking."""
    return flat if per else flat[: max(int(np.count_nonzero(flat >= 0)), 1)]


def spread(
    flat: NDArray[np.int64],
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> dict[str, NDArray[np.int64]]:
    """From flat indices over ``rest``, shape (*per, top), to an index along every axis."""
    shape = tuple(sizes[axis] for axis in rest)
    split = np.unravel_index(np.maximum(flat, 0), shape) if rest else ()
    places = {axis: np.zeros(flat.shape, dtype=np.int64) for axis in sizes}
    places.update(
        {axis: np.asarray(i, dtype=np.int64) for axis, i in zip(rest, split, strict=True)}
    )
    for position, axis in enumerate(per):
        steps = np.arange(sizes[axis]).reshape(
            [-1 if k == position else 1 for k in range(flat.ndim)]
        )
        places[axis] = np.broadcast_to(steps, flat.shape).copy()
    for axis in places:
        places[axis][flat < 0] = -1
    return places


def answer(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    chosen: Chosen,
    goals: Sequence[Goal],
    ranked: bool,
) -> xr.Dataset:
    """The Dataset of some winners: the axes as coordinates, the outputs as variables."""
    dims = (*chosen.per, *(["rank"] if ranked else []))

    def shaped(array: NDArray[Any]) -> NDArray[Any]:
        return array if ranked else array[..., 0]

    none = next(iter(chosen.places.values())) < 0 if chosen.places else np.zeros(1, dtype=bool)
    coords: dict[str, Any] = {"rank": ("rank", np.arange(none.shape[-1]) + 1)} if ranked else {}
    for name, (axis, array, attrs) in coordinates.items():
        if axis in chosen.per:
            coords[name] = (axis, array, attrs)
            continue
        values = array[np.maximum(chosen.places[axis], 0)]
        coords[name] = (dims, _blank(shaped(values), shaped(none)), attrs)
    variables = {
        name: (dims, _blank(shaped(array), shaped(none)), attrs)
        for name, (array, attrs) in found.items()
    }
    return answered(variables, coords, {"question": in_words(goals)})


def in_words(goals: Sequence[Goal]) -> str:
    """Objectives in order of priority: ``minimize time, then maximize throughput``."""
    return ", then ".join(f"{'minimize' if g.sign > 0 else 'maximize'} {g.text}" for g in goals)


def objective_name(goals: Sequence[Goal], number: int, known: Any) -> str:
    """The name of an objective in an answer: its own, or that of a formula by its place."""
    text = goals[number].text
    formula = OBJECTIVE if len(goals) == 1 else f"{OBJECTIVE}_{number + 1}"
    return text if text in known else formula


def _blank(array: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    """The array with nothing where there is no winner: NaN, -1, False or an empty label."""
    if not np.any(none):
        return array
    if array.dtype.kind == "i" and array.dtype.itemsize > 1:
        array = array.astype(np.float64)
    empty = {"f": np.nan, "i": -1, "b": False}.get(array.dtype.kind, "")
    return np.where(none, np.array(empty, dtype=array.dtype), array)


def no_choice(goal: Goal, among: str = "") -> InfeasibleError:
    """The error where nothing can be chosen; ``among`` says of which feasible points."""
    return InfeasibleError(
        f"{goal.text} is finite at no feasible point{among}: nothing to choose; relax the "
        "constraints or change the axes"
    )


def answer_points(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    places: Mapping[str, NDArray[np.int64]],
    goals: Sequence[Goal],
) -> xr.Dataset:
    """The Dataset of some points, along the dimension ``point``."""
    coords = {
        name: ("point", array[places[axis]], attrs)
        for name, (axis, array, attrs) in coordinates.items()
    }
    question = ", ".join(
        f"{'minimize' if goal.sign > 0 else 'maximize'} {goal.text}" for goal in goals
    )
    variables = {name: ("point", array, attrs) for name, (array, attrs) in found.items()}
    return answered(variables, coords, {"question": question})
