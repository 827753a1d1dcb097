"""The interface that each source of configurations implements, and the record of a query."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.dataset import assemble, make_answer
from sweeps.grid.goals import Goal, check_top, describe_goals, objective_name, per_axes, texts_of
from sweeps.grid.grid import Indexers, unravel
from sweeps.runtime.interrupts import raise_if_out_of_time
from sweeps.scan.optimum import add_idle_axes, unravel_places
from symbolic.errors import DseError, InfeasibleError
from symbolic.expression import formula_unit
from symbolic.ops import Node, equal

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.scan.values import FormulaValues
    from sweeps.scan.winners_per_draw import DrawScores

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Attributes that are merged from parts by their minimum. Most other attributes are added.
_MIN_KEYS = ("complete", "settled")
_METHODS = ("auto", "scan", "certified")


def shape_of(places: Mapping[str, NDArray[np.int64]]) -> tuple[int, ...]:
    """Return the common shape of the index arrays; (1,) if there are no axes."""
    return next((index.shape for index in places.values()), (1,))


def winners_dataset(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    outputs: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    per: Sequence[str],
    places: Mapping[str, Indices],
    goals: Sequence[Goal],
    with_rank: bool,
) -> xr.Dataset:
    """Return the Dataset of winners. ``places`` has their indices (or -1), of shape (*per, top)."""
    dims = (*per, *(["rank"] if with_rank else []))

    def without_rank(array: NDArray[Any]) -> NDArray[Any]:
        return array if with_rank else array[..., 0]

    none = next(iter(places.values())) < 0 if places else np.zeros(1, dtype=bool)
    coords: dict[str, Any] = {"rank": ("rank", np.arange(none.shape[-1]) + 1)} if with_rank else {}
    for name, (axis, array, attrs) in coordinates.items():
        if axis in per:
            coords[name] = (axis, array, attrs)
            continue
        values = array[np.maximum(places[axis], 0)]
        coords[name] = (dims, _fill_missing(without_rank(values), without_rank(none)), attrs)
    variables = {
        name: (dims, _fill_missing(without_rank(array), without_rank(none)), attrs)
        for name, (array, attrs) in outputs.items()
    }
    return make_answer(variables, coords, {"question": describe_goals(goals)})


def _fill_missing(array: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    if not np.any(missing):
        return array
    if array.dtype.kind == "i" and array.dtype.itemsize > 1:
        array = array.astype(np.float64)
    empty = {"f": np.nan, "i": -1, "b": False}.get(array.dtype.kind, "")
    return np.where(missing, np.array(empty, dtype=array.dtype), array)


class Sliceable(Protocol):
    """A space of configurations that can be restricted to a part."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return the length of each axis, in order."""

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """Return, for each coordinate, its axis, its values and its attributes."""

    def part_at(self, indices: Mapping[str, int]) -> Self:
        """Return the part at one index of some axes; its answers have indices into the whole."""


AnySource = TypeVar("AnySource", bound=Sliceable)
AnyAnswer = TypeVar("AnyAnswer")


def answers_or_errors(
    source: AnySource, per: Sequence[str], answer_part: Callable[[AnySource], AnyAnswer]
) -> list[AnyAnswer | InfeasibleError]:
    """Return, for each value of the axes ``per``, an answer or the error that no point is feasible.

    If ``per`` is empty, the whole source answers, and errors are raised. OutOfTimeError is always
    raised.
    """
    result: list[AnyAnswer | InfeasibleError] = []
    sizes = [source.sizes[axis] for axis in per]
    for number, cell in enumerate(np.ndindex(*sizes)):
        raise_if_out_of_time(number, math.prod(sizes))
        try:
            part = source.part_at(dict(zip(per, cell, strict=True))) if per else source
            result.append(answer_part(part))
        except InfeasibleError as error:
            if not per or type(error) is not InfeasibleError:
                raise
            result.append(error)
    return result


def successful_answers(parts: Sequence[AnyAnswer | InfeasibleError]) -> list[AnyAnswer]:
    """Return those results that are answers. If all are errors, raise the last one."""
    result = [part for part in parts if not isinstance(part, InfeasibleError)]
    if not result and isinstance(why := parts[-1], InfeasibleError):
        raise why
    return result


def stack_answers(
    source: AnySource, per: Sequence[str], answer_part: Callable[[AnySource], xr.Dataset]
) -> xr.Dataset:
    """Return the answers of all parts along the axes ``per``; NaN for parts without an answer."""
    if not per:
        return answer_part(source)
    per = per_axes(per, tuple(source.sizes))
    answers = answers_or_errors(source, per, answer_part)
    successes = successful_answers(answers)
    first, shape = successes[0], tuple(source.sizes[axis] for axis in per)
    variables: dict[str, Any] = {}
    for name, variable in first.data_vars.items():
        nothing = np.full(variable.shape, np.nan)
        rows = [nothing if isinstance(a, InfeasibleError) else a[name].values for a in answers]
        array = np.stack(rows).reshape(*shape, *variable.shape)
        variables[str(name)] = ((*per, *variable.dims), array, dict(variable.attrs))
    labels = {name: c for name, c in source.coordinates.items() if c[0] in per}
    coords: dict[Any, Any] = {**labels, **first.coords}
    counts = merge_attributes([answer.attrs for answer in successes])
    return assemble(variables, coords, {**first.attrs, **counts})


def merge_attributes(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge attributes of parts: minimum of flags, maximum of gaps, sum of all others."""
    result: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if key not in result or isinstance(value, str):
                result[key] = value
            elif key in _MIN_KEYS:
                result[key] = min(result[key], value)
            else:
                result[key] = max(result[key], value) if key == "gap" else result[key] + value
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPoints:
    """Configurations in arrays of shape (*per, n), best first.

    ``places`` has their indices along each axis (-1: no point). ``scores`` has the signed
    objectives.
    """

    places: Mapping[str, Indices]
    scores: Floats

    def take(self, selection: Any) -> RankedPoints:
        """Return the points that an index, slice or mask selects."""
        places = {axis: index[selection] for axis, index in self.places.items()}
        return RankedPoints(places=places, scores=self.scores[selection])

    @classmethod
    def concatenate(cls, parts: Sequence[RankedPoints]) -> RankedPoints:
        """Join several lists of points over the same axes."""
        places = {a: np.concatenate([p.places[a] for p in parts], axis=-1) for a in parts[0].places}
        return cls(places=places, scores=np.concatenate([part.scores for part in parts], axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveBound:
    """A condition on an earlier objective: at most ``score`` and finite, or equal if ``exact``."""

    goal: Goal
    score: float = math.inf
    exact: bool = False

    def condition(self, signed: Any) -> Any:
        """Return the condition on the signed objective, given as a formula or as values."""
        if isinstance(signed, Node) and self.exact:
            return equal(signed, self.score)
        if self.score == math.inf:
            return signed < self.score
        return signed == self.score if self.exact else signed <= self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveStage:
    """One of several objectives in order of priority, with bounds on the objectives before it."""

    goals: tuple[Goal, ...]
    number: int = 0
    earlier_bounds: tuple[ObjectiveBound, ...] = ()

    @property
    def goal(self) -> Goal:
        """Return the objective of this stage."""
        return self.goals[self.number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The points of a front in axis order, its attributes, and the mask of proven points.

    ``epsilon`` is the share within which the points cover the front; 0 if they are all its points.
    """

    places: Mapping[str, Indices]
    attributes: Mapping[str, Any]
    proven_mask: NDArray[np.bool_] | None = None
    epsilon: float = 0.0

    def full_proven_mask(self) -> NDArray[np.bool_]:
        """Return the mask of points that are proven to be non-dominated."""
        count = len(next(iter(self.places.values()), ()))
        return np.ones(count, dtype=bool) if self.proven_mask is None else self.proven_mask


class QuerySource(Sliceable, Protocol):
    """A space of configurations that can find the best points by one objective.

    It can also evaluate single points, to check an answer and to add outputs to the answer.
    """

    @property
    def quantities(self) -> Mapping[str, Any]:
        """Return the quantities that formulas can contain."""

    @property
    def fixed_indices(self) -> Mapping[str, int]:
        """Return the index of each axis that is fixed in this part of a source."""

    @property
    def is_cheap(self) -> bool:
        """True if single points can be evaluated at little cost, so that answers can be checked."""

    @property
    def condition_texts(self) -> Sequence[str]:
        """Return the conditions of feasible points, as text."""

    @property
    def conditions(self) -> Sequence[Node]:
        """Return formulas that are all true where a point is feasible."""

    def compute(self, nodes: Sequence[Node], places: Mapping[str, Indices]) -> list[Any]:
        """Return the values of formulas at some points, each in the shape of the index arrays."""

    def outputs_at(self, places: Mapping[str, Indices], shape: tuple[int, ...]) -> dict[str, Any]:
        """Return every output at some points, in the given shape, with its attributes."""

    def best(self, stage: ObjectiveStage, per: Sequence[str], top: int) -> RankedPoints:
        """Return the ``top`` best points by a stage's objective, with ties in axis order.

        Points must meet the bounds of earlier objectives. Without ``per``, the list may be shorter.
        """

    def within_tolerance(
        self, stage: ObjectiveStage, best_score: float, tolerance: float
    ) -> RankedPoints:
        """Return all points whose objective is <= ``tolerance_limit(best_score, tolerance)``."""

    def no_point_error(self, stage: ObjectiveStage) -> InfeasibleError:
        """Return the error to raise if no feasible point has finite objectives."""

    def missing_values(self, goals: Sequence[Goal]) -> dict[str, str]:
        """Return the attribute ``no_value`` if an objective has no value at some labels."""
        return {}

    def result_attributes(self, goals: Sequence[Goal], answer: xr.Dataset) -> dict[str, Any]:
        """Return the attributes of an answer that say how it was found."""

    def count(self) -> xr.Dataset:
        """Return the number of feasible configurations and of all configurations."""

    def values(self, text: str, *more: str, indexers: Indexers | None = None) -> FormulaValues:
        """Return the values of formulas over the source, or over the part at ``indexers``."""

    def draw_scores(self, goal: Goal, along: str) -> DrawScores:
        """Return the objective of each configuration in each draw of the axis ``along``."""

    def front(self, goals: Sequence[Goal], epsilon: float = 0.0) -> Front:
        """Return the Pareto front, without equal points; raise InfeasibleError if it is empty.

        With ``epsilon``, the points may cover the front within a share, which is at most this.
        """

    def evaluate(
        self, places: Mapping[str, Indices], goals: Sequence[Goal]
    ) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Return the signed objectives at some points, and the mask of feasible points."""
        nodes = [goal.node(self.quantities) for goal in goals]
        result = self.compute([*nodes, *self.conditions], places)
        holds = np.logical_and.reduce(result[len(nodes) :], axis=0, initial=True)
        values = [array.astype(np.float64) for array in result[: len(nodes)]]
        return values, np.broadcast_to(holds, shape_of(places)).astype(bool)

    def answer(self, places: Mapping[str, Indices], query: Query) -> xr.Dataset:
        """Return the Dataset of some configurations, with all outputs and objectives."""
        result, goals = self._values_at(places, query.goals), query.goals
        return winners_dataset(self.coordinates, result, query.per, places, goals, query.is_ranked)

    def _values_at(self, places: Mapping[str, Indices], goals: Sequence[Goal]) -> dict[str, Any]:
        """Return every output and objective at some points, with its attributes."""
        result = self.outputs_at(places, shape_of(places))
        for number, goal in enumerate(goals):
            if goal.text not in self.quantities and goal.text not in result:
                (values,) = self.compute([goal.formula(self.quantities)], places)
                unit = formula_unit(goal.text, self.quantities) or "1"
                name = objective_name(goals, number, self.quantities)
                result[name] = (values, {"units": unit, "long_name": goal.text})
        return result

    def points_dataset(self, places: Mapping[str, Indices], goals: Sequence[Goal]) -> xr.Dataset:
        """Return the Dataset of some points, along the dimension ``point``."""
        result = self._values_at(places, goals)
        coords = {
            n: ("point", a[places[axis]], attrs) for n, (axis, a, attrs) in self.coordinates.items()
        }
        question = ", ".join(describe_goals([goal]) for goal in goals)
        variables = {name: ("point", array, attrs) for name, (array, attrs) in result.items()}
        return make_answer(variables, coords, {"question": question})


# --- Lists of configurations over all axes, including idle axes (axes without influence)


MAX_LISTED = sizes.LISTED_MOST


def describe_near_best(goal: Goal, best_score: float, tolerance: float) -> str:
    """Return the predicate of an error message about ties or near-best configurations."""
    value = f"{goal.sign * best_score:.6g}"
    if tolerance:
        return f"are within {tolerance:.6g} of the best {goal.text}, {value}"
    return f"are equally good: {goal.text} is {value}"


def tolerance_limit(best_score: float, tolerance: float) -> float:
    """Return best_score + tolerance * |best_score|, but never infinity.

    Infeasible points have an infinite objective, so an infinite limit would admit them.
    """
    if not tolerance:
        return best_score
    limit = best_score + tolerance * abs(best_score)
    if limit == math.inf:  # the product may overflow although the sum does not
        limit = 2.0 * (0.5 * best_score + tolerance * (0.5 * abs(best_score)))
    return min(limit, sys.float_info.max)


def check_listable(count: int, what: str, idle: Sequence[str] = (), *, exact: bool = True) -> None:
    """Raise DseError if there are too many configurations to list.

    ``what`` is the predicate of the message. ``idle`` axes have no influence. If not ``exact``, the
    message says that there are at least ``count`` configurations.
    """
    if count > MAX_LISTED:
        along = f"; nothing varies along {', '.join(idle)}" if idle else ""
        raise DseError(
            f"{'' if exact else 'at least '}{count:,} configurations {what}, but at most "
            f"{MAX_LISTED:,} can be listed: fix some axes by constraints, ask for a smaller "
            f"share, or for the first of them by top{along}"
        )


def ranked_points(
    flat: Indices, scores: Floats, rest: Sequence[str], per: Sequence[str], sizes: Mapping[str, int]
) -> RankedPoints:
    """Convert winners from flat indices over the axes ``rest`` to an index along each axis."""
    flat, scores, rest = add_idle_axes(flat, scores, rest, per, sizes)
    if not per:  # drop ranks without a point
        flat = flat[: max(int(np.count_nonzero(flat >= 0)), 1)]
    scores = np.where(flat < 0, math.inf, scores[..., : flat.shape[-1]])
    return RankedPoints(places=unravel_places(flat, rest, per, sizes), scores=scores)


def list_all_points(
    flat: Indices, scores: Floats, dims: Sequence[str], sizes: Mapping[str, int], what: str
) -> RankedPoints:
    """Return the configurations at flat indices over ``dims``, for all values of the other axes."""
    idle = [axis for axis in sizes if axis not in dims]
    check_listable(flat.size * math.prod(sizes[axis] for axis in idle), what, idle)
    split = unravel(flat, [sizes[axis] for axis in dims])
    return repeat_over_idle_axes(dict(zip(dims, split, strict=True)), scores, sizes)


def repeat_over_idle_axes(
    index: Mapping[str, Indices], scores: Floats, sizes: Mapping[str, int]
) -> RankedPoints:
    """Repeat configurations at every value of the axes without an index; sort them, best first."""
    idle = [axis for axis in sizes if axis not in index]
    copies = math.prod(sizes[axis] for axis in idle)
    places = {axis: np.repeat(each, copies) for axis, each in index.items()}
    whole = np.indices([sizes[axis] for axis in idle]).reshape(len(idle), copies)
    places |= {axis: np.tile(row, scores.size) for axis, row in zip(idle, whole, strict=True)}
    scores = np.repeat(scores, copies)
    order = np.lexsort([*(places[axis] for axis in reversed(tuple(sizes))), scores])
    places = {axis: places[axis][order].astype(np.int64) for axis in sizes}
    return RankedPoints(places=places, scores=scores[order])


def merge_ranked_points(parts: Sequence[RankedPoints], top: int | None = None) -> RankedPoints:
    """Merge lists over the same axes; return the ``top`` best points, with ties in axis order."""
    every = RankedPoints.concatenate(parts)
    order = np.lexsort([*reversed(list(every.places.values())), every.scores], axis=-1)[..., :top]
    scores = np.take_along_axis(every.scores, order, axis=-1)
    ranks = max(int(np.count_nonzero(scores < math.inf, axis=-1).max(initial=0)), 1)
    order = order[..., :ranks]
    places = {a: np.take_along_axis(index, order, axis=-1) for a, index in every.places.items()}
    return RankedPoints(places=places, scores=scores[..., :ranks])


def points_in_whole(points: RankedPoints, fixed_indices: Mapping[str, int]) -> RankedPoints:
    """Convert points of a part into points of the whole source."""
    return replace(points, places=places_in_whole(points.places, fixed_indices))


def places_in_whole(
    places: Mapping[str, Indices], fixed_indices: Mapping[str, int]
) -> dict[str, Indices]:
    """Convert indices of points in a part into indices in the whole source; -1 stays -1."""
    fixed = {axis: np.where(places[axis] < 0, -1, index) for axis, index in fixed_indices.items()}
    return {**places, **fixed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A request for an optimum, with all its options.

    For each value of the axes ``per``, the query asks for the ``top`` best configurations, by
    objectives in order of priority. ``ties`` adds all configurations that are as good as the last
    of these. ``within`` asks for all configurations whose objective differs from the best by at
    most this share of the best. ``time_limit`` [s] and ``gap`` end a certified search early.
    ``epsilon`` is the share within which an answer covers a Pareto front, and ``reference`` the
    reference point of its hypervolume.
    """

    goals: tuple[Goal, ...]
    per: tuple[str, ...] = ()
    top: int = 1
    ties: bool = False
    within: float | None = None
    method: str = "auto"
    time_limit: float | None = None
    gap: float | None = None
    epsilon: float = 0.0
    reference: tuple[float, ...] = ()

    @property
    def has_ties_or_within(self) -> bool:
        """True if the query asks for ties or for configurations within a tolerance."""
        return self.ties or self.within is not None

    @property
    def is_ranked(self) -> bool:
        """True if the answer may have several configurations, which lie along ``rank``."""
        return self.has_ties_or_within or self.top > 1

    @property
    def has_limit(self) -> bool:
        """True if the query limits the search, so that its answer needs a certificate."""
        return self.time_limit is not None or self.gap is not None


def build_query(
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
    epsilon: float = 0.0,
    reference: Sequence[float] | None = None,
) -> Query:
    """Build a query; raise DseError if an option is invalid or contradicts another."""
    check_top(top)
    if within is not None:
        _check_number("within", within, "a share of the best value, such as 0.01")
    _check_number("epsilon", epsilon, "a share of each objective, such as 0.01")
    _check_method(method, time_limit, gap)
    options = {"top": top != 1, "ties": ties, "within": within is not None}
    several = [name for name, is_set in options.items() if is_set]
    if gap and several:
        raise DseError(
            f"gap = {gap:g} does not settle which others are as good: leave {', '.join(several)} "
            "out, or gap"
        )
    return Query(
        goals=tuple(goals),
        per=per_axes(texts_of(per, "per"), axes),
        top=top,
        ties=ties,
        within=within,
        method=method,
        time_limit=time_limit,
        gap=gap,
        epsilon=epsilon,
        reference=_read_reference(reference, goals, per) if reference is not None else (),
    )


def _read_reference(reference: Any, goals: Sequence[Goal], per: Any) -> tuple[float, ...]:
    numbers = [v for v in np.ravel(np.asarray(reference, dtype=object)) if isinstance(v, Real)]
    if not len(numbers) == len(goals) == np.size(reference) or len(goals) not in (2, 3) or per:
        raise DseError(
            f"reference = {reference!r}: expected {len(goals)} numbers, one for each objective; a "
            "front of two or three objectives without per has a hypervolume"
        )
    return tuple(map(float, numbers))


def _check_method(method: str, time_limit: Any, gap: Any) -> None:
    if method not in _METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(_METHODS)}")
    limits = {"time_limit": time_limit, "gap": gap}
    used = [name for name, value in limits.items() if value is not None]
    if method == "scan" and used:
        raise DseError(f"a scan looks at every point: {' and '.join(used)} need method='certified'")
    for name in used:
        _check_number(name, limits[name], "a number that is not below 0")


def _check_number(name: str, value: Any, expected: str) -> None:
    wrong = isinstance(value, bool) or not isinstance(value, (int, float))
    if wrong or not 0 <= value < math.inf:
        raise DseError(f"{name} = {value!r}: expected {expected}")
