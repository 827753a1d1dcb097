"""Bound the outputs of a grid whose inputs have tolerances, and find its possible optima."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.problem import (
    Boxes,
    BoxProblem,
    Floats,
    Indices,
    Key,
    Leaves,
    Mask,
    RangeExtremes,
    Roots,
    concatenate_boxes,
)
from sweeps.certify.optimum import best_in_cell, switch_cases
from sweeps.certify.targets import CertifiedBoxes
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, Leaf, unravel
from sweeps.runtime.search_loop import SearchStats
from symbolic.intervals import Interval, Trend, interval_of, literal_trend, trend_algebra
from symbolic.ops import Node, constant, interpret_all, interpret_arrays, references, where
from symbolic.primitives.rule_operations import ALL_AXES, choose, either_flag, is_empty

# --- Bounds of a quantity at each configuration
# At each configuration an uncertain input lies between two ends. If the quantity is monotone in the
# input, its extreme is at one of the ends. Otherwise the range of the input is halved until the
# extreme is bracketed closely enough or the limit on the number of pieces is reached.


#: Maximum number of rounds of bisection, and maximum mean number of pieces per configuration.
ROUNDS, MEAN_PIECES = 20, sizes.RANGES_PIECES
#: A piece is not halved further if its bound is this close to the minimum (relative distance).
RELATIVE_TOLERANCE = 1e-4
BLOCK_POINTS = sizes.RANGES_TOGETHER
ALL_PIECES, MAX_PIECES = sizes.TOLERANCE_ALL, sizes.TOLERANCE_PIECES


@dataclass(frozen=True, slots=True, kw_only=True)
class ToleranceProblem:
    """A quantity evaluated at ``count`` configurations, where some inputs lie in an interval.

    ``known_values`` are single numbers, or arrays with a number for each configuration. The
    interval ends ``low`` and ``high`` have the same form. ``whole`` names the integer inputs.
    """

    root: Node
    known_values: Mapping[str, Any]
    low: Mapping[str, Floats]
    high: Mapping[str, Floats]
    whole: frozenset[str]
    count: int

    @property
    def uncertain_names(self) -> tuple[str, ...]:
        """Return the uncertain inputs on which the quantity depends."""
        return tuple(name for name in references(self.root) if name in self.low)

    def values(self, selection: Any, inputs: Mapping[str, Floats]) -> Floats:
        """Return the quantity at some configurations for given values of the uncertain inputs."""
        values = {**self._select_known(selection), **inputs}
        result = interpret_arrays((self.root,), values)[0]
        return np.broadcast_to(np.asarray(result, dtype=float), np.shape(selection))

    def trend(self, selection: Any, low: Mapping[str, Floats], high: Mapping[str, Floats]) -> Trend:
        """Return an enclosure of the quantity over intervals of the inputs, and its trends."""
        values: dict[str, Trend] = {}
        for name, value in self._select_known(selection).items():
            values[name] = Trend(interval_of(value), ALL_AXES, ALL_AXES)
        for place, name in enumerate(self.uncertain_names):
            bit = np.uint64(1) << np.uint64(place)
            down = np.where(low[name] == high[name], ALL_AXES, ALL_AXES & ~bit)
            values[name] = Trend(interval_of(low[name], high[name]), ALL_AXES, down)
        with np.errstate(all="ignore"):
            result: Trend = interpret_all((self.root,), values, trend_algebra(), literal_trend)[0]
        return result

    def _select_known(self, selection: Any) -> dict[str, Any]:
        names = [name for name in references(self.root) if name not in self.low]
        arrays = {name: np.asarray(self.known_values[name], dtype=float) for name in names}
        return {n: np.atleast_1d(a[selection] if a.ndim else a) for n, a in arrays.items()}

    def input_ends(self, selection: Any) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return the lower ends and the upper ends of the inputs at some configurations."""
        names = self.uncertain_names
        low = {name: self.low[name][selection] for name in names}
        return low, {name: self.high[name][selection] for name in names}


def lower_bounds(problem: ToleranceProblem, *, pieces: int = MEAN_PIECES) -> Floats:
    """Return, for each configuration, a proven lower bound of the quantity.

    With enough ``pieces``, the relative distance of the bound to the minimum is at most
    ``RELATIVE_TOLERANCE``. The bound is NaN where the quantity may be NaN.
    """
    owner = np.arange(problem.count)
    low, high = problem.input_ends(owner)
    bound = np.full(problem.count, math.inf)
    attained = np.full(problem.count, math.inf)
    undefined = np.zeros(problem.count, dtype=bool)
    for turn in range(ROUNDS + 1):
        trend = problem.trend(owner, low, high)
        below = np.broadcast_to(trend.enclosure.lo, owner.shape)
        if (nan := trend.enclosure.may_be_nan) is not False:
            np.logical_or.at(undefined, owner, np.broadcast_to(nan, owner.shape))
        for place, name in enumerate(problem.uncertain_names):  # fix monotone inputs at their end
            bit = np.uint64(1) << np.uint64(place)
            rises, falls = (trend.up & bit) != 0, (trend.down & bit) != 0
            start, end = low[name], high[name]
            high[name] = np.where(rises, start, end)
            low[name] = np.where(falls & ~rises, end, start)
        point = np.logical_and.reduce([low[name] == high[name] for name in low], axis=0)
        point = np.broadcast_to(point, owner.shape)
        middle = {name: _middle(problem, name, low[name], high[name]) for name in low}
        here = problem.values(owner, middle)
        np.fmin.at(attained, owner, here)
        below = np.where(point, here, below)  # the value at a single point is its bound
        goal = attained[owner]
        last = turn == ROUNDS or 2 * owner.size > pieces * problem.count
        near = np.where(np.isfinite(goal), RELATIVE_TOLERANCE * np.abs(goal), 0.0)
        done = point | last | (below >= goal - near) | undefined[owner]
        np.fmin.at(bound, owner[done], below[done])
        if done.all():
            break
        owner, low, high = _split_pieces(problem, owner, low, high, ~done)
    return np.where(undefined, math.nan, np.minimum(bound, attained))


def _middle(problem: ToleranceProblem, name: str, low: Floats, high: Floats) -> Floats:
    middle = low / 2 + high / 2
    middle = np.floor(middle) if name in problem.whole else middle
    return np.asarray(np.clip(middle, low, high))


def _split_pieces(
    problem: ToleranceProblem,
    owner: Any,
    low: dict[str, Floats],
    high: dict[str, Floats],
    selection: Mask,
) -> tuple[Any, dict[str, Floats], dict[str, Floats]]:
    low = {name: ends[selection] for name, ends in low.items()}
    high = {name: ends[selection] for name, ends in high.items()}
    names = list(low)
    with np.errstate(all="ignore"):
        widths = [(high[n] - low[n]) / np.maximum(np.abs(high[n]), 1e-300) for n in names]
    widest = np.argmax(np.nan_to_num(widths), axis=0)
    lows, highs = [], []
    for half in (0, 1):
        a, b = dict(low), dict(high)
        for place, name in enumerate(names):
            middle = _middle(problem, name, low[name], high[name])
            mine = widest == place
            step = middle + 1 if name in problem.whole else middle
            if half:
                a[name] = np.where(mine, np.minimum(step, high[name]), low[name])
            else:
                b[name] = np.where(mine, middle, high[name])
        lows.append(a)
        highs.append(b)
    low, high = ({n: np.concatenate([s[n] for s in ends]) for n in names} for ends in (lows, highs))
    return np.tile(owner[selection], 2), low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainInput:
    """An input between two ends. An end has a leaf over some axes for each set of switch labels."""

    name: str
    low: Mapping[tuple[str, ...], Leaf]
    high: Mapping[tuple[str, ...], Leaf]
    whole: bool


def root_axes(grid: Grid, roots: Roots) -> tuple[str, ...]:
    """Return the axes on which an expression depends, in grid order."""
    result = {dim for key, root in roots.items() for dim in grid.node_dims(root, key)}
    if len({id(root) for root in roots.values()}) > 1:
        result |= set(grid.switch_axes)
    return grid.sort_axes(result)


def output_ranges(
    grid: Grid,
    roots: Roots,
    dims: Sequence[str],
    inputs: Sequence[UncertainInput],
    rules: Roots,
    *,
    subdivide: bool = True,
) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound of a node at each configuration.

    The bounds hold for all values of the inputs that ``rules`` allow; they are inf and -inf if no
    values are allowed. ``subdivide`` halves the ranges of the inputs for tighter bounds.
    """
    result = np.empty((2, *grid.shape(dims)))
    pieces = min(max(ALL_PIECES // max(result.size, 1), 1), MAX_PIECES) if subdivide else 1
    plain = grid.non_switch_axes(dims)
    count = math.prod(grid.shape(plain))
    for key, piece in grid.split_by_switches(result, dims):
        flat = np.empty((2, count))
        for first in range(0, count, BLOCK_POINTS):
            numbers = np.arange(first, min(first + BLOCK_POINTS, count))
            for side, sign in enumerate((1.0, -1.0)):
                root = roots[key]
                root = constant(where(root, 1.0, 0.0)) if root.is_boolean else root
                root = constant(root if side == 0 else -1.0 * root)
                root = constant(where(rules[key], root, math.inf)) if key in rules else root
                spread = _tolerance_problem(grid, key, root, plain, inputs, numbers)
                flat[side, numbers] = sign * lower_bounds(spread, pieces=pieces)
        piece[...] = flat.reshape(piece.shape)
    return result[0], result[1]


def _tolerance_problem(
    grid: Grid,
    key: Key,
    root: Node,
    plain: Sequence[str],
    inputs: Sequence[UncertainInput],
    numbers: Any,
) -> ToleranceProblem:
    along = dict(zip(plain, unravel(numbers, grid.shape(plain)), strict=True))

    def leaf_values(leaf: Leaf) -> Any:
        return np.asarray(leaf.array[tuple(along[axis] for axis in leaf.axes)])

    def leaf_floats(leaf: Leaf) -> Any:
        return np.broadcast_to(np.asarray(leaf_values(leaf), dtype=float), len(numbers))

    used = references(root)
    uncertain = {each.name: each for each in inputs if each.name in used}
    leaves = grid.leaves[key]
    return ToleranceProblem(
        root=root,
        known_values={name: leaf_values(leaves[name]) for name in used if name not in uncertain},
        low={name: leaf_floats(each.low[key]) for name, each in uncertain.items()},
        high={name: leaf_floats(each.high[key]) for name, each in uncertain.items()},
        whole=frozenset(name for name, each in uncertain.items() if each.whole),
        count=len(numbers),
    )


def can_be_best(
    grid: Grid,
    roots: Roots,
    dims: Sequence[str],
    inputs: Sequence[UncertainInput],
    feasibility: tuple[Any, Any],
    cells: int,
) -> Mask:
    """Return the mask of configurations where a node may have its minimum.

    ``feasibility`` has two masks over ``dims``: where all conditions surely hold, and where they
    may hold. If a switch axis is in ``dims``, configurations are compared by their bounds over all
    values of the inputs. Otherwise the space of the inputs is cut into up to ``cells`` cells. In a
    cell, a configuration cannot be the best if its lower bound is above the upper bound of a surely
    feasible configuration.
    """
    sure, may = feasibility
    low, high = output_ranges(grid, roots, dims, inputs, {}, subdivide=False)
    result = may & _may_be_least(low, high, sure)
    if any(dim in grid.switch_axes for dim in dims):
        return np.asarray(result)
    key = next(iter(roots))
    spread = _tolerance_problem(grid, key, roots[key], dims, inputs, np.arange(result.size))
    sure, able = np.asarray(sure).reshape(-1), np.zeros(result.size, dtype=bool)
    names = spread.uncertain_names
    whole = dict.fromkeys(names, (0.0, 1.0))
    stack: list[tuple[dict[str, tuple[float, float]], Any, int]] = [
        (whole, np.flatnonzero(result), 1)
    ]
    while stack:
        cell, some, count = stack.pop()
        low, high = _bounds_in_cell(spread, cell, some)
        some = some[_may_be_least(low, high, sure[some])]
        if not names or count >= cells or some.size < 2 or able[some].all():
            able[some] = True
            continue
        widest = max(cell, key=lambda name: cell[name][1] - cell[name][0])
        a, b = cell[widest]
        halves = ((a, (a + b) / 2), ((a + b) / 2, b))
        stack.extend(({**cell, widest: ends}, some, 2 * count) for ends in halves)
    return able.reshape(result.shape)


def _may_be_least(low: Any, high: Any, surely_feasible: Any) -> Mask:
    """Return the mask where ``low`` is <= the lowest ``high`` of surely feasible configurations."""
    counts = ~((low == math.inf) | (high == -math.inf))
    most = np.nanmin(np.where(surely_feasible & counts, high, math.inf), initial=math.inf)
    return np.asarray(counts & ~(low > most))


def _bounds_in_cell(
    problem: ToleranceProblem, cell: Mapping[str, tuple[float, float]], selection: Any
) -> Any:
    ends = np.empty((2, selection.size))
    for first in range(0, selection.size, BLOCK_POINTS):
        block = slice(first, first + BLOCK_POINTS)
        some = selection[block]
        low, high = problem.input_ends(some)
        known = problem.known_values.items()
        part = replace(
            problem,
            known_values={n: np.asarray(v)[some] if np.ndim(v) else v for n, v in known},
            low={name: _interpolate(low[name], high[name], cell[name][0]) for name in low},
            high={name: _interpolate(low[name], high[name], cell[name][1]) for name in low},
            whole=frozenset(),
            count=some.size,
        )
        ends[0, block] = lower_bounds(part, pieces=1)
        ends[1, block] = -lower_bounds(replace(part, root=constant(-1.0 * part.root)), pieces=1)
    return ends


def _interpolate(low: Floats, high: Floats, share: float) -> Floats:
    return (high if share else low) if share in (0.0, 1.0) else low + (high - low) * share


# --- Possible optima among very many configurations: boxes of configurations are halved
# A box is dropped if, in every cell of the inputs, its lower bound is above the upper bound of some
# configuration. The best configuration is certified for inputs at their middles, and for inputs at
# corners of their ranges. Such a configuration surely can be the best.


#: Number of parts into which each of 1, 2 or 3 inputs is cut.
_CELLS_PER_INPUT = {1: 32, 2: 8, 3: 4}
_BLOCK_BOXES = sizes.RIVALS_TOGETHER
#: If at most _FINE_MAX_BOXES boxes are left, their winning shares are computed with more parts.
_FINE_CELLS_PER_INPUT, _FINE_MAX_BOXES = {1: 512, 2: 24, 3: 8}, sizes.RIVALS_FEW


class _BandExtremes:
    def __init__(self, low: Leaf, high: Leaf, places: Sequence[int]) -> None:
        self.low, self.high = RangeExtremes(low, places), RangeExtremes(high, places)

    def __call__(self, lo: Any, hi: Any) -> Trend:
        a, b = self.low(lo, hi), self.high(lo, hi)
        undefined = either_flag(a.enclosure.may_be_nan, b.enclosure.may_be_nan)
        # if all ends in a range are NaN, the enclosure is empty
        empty = is_empty(undefined, a.enclosure.lo, b.enclosure.hi)
        least, most = choose(empty, np.inf, a.enclosure.lo), choose(empty, -np.inf, b.enclosure.hi)
        return Trend(Interval(least, most, undefined), a.up & b.up, a.down & b.down)


class _ProblemWithinTolerances(BoxProblem):
    """An objective whose bounds over a box hold for all values of the inputs within ``ends``."""

    def __init__(
        self,
        root: Node,
        leaves: Leaves,
        sizes: Mapping[str, int],
        ends: Mapping[str, tuple[Leaf, Leaf]],
    ) -> None:
        self.ends = ends
        super().__init__(root, leaves, sizes)
        place = {axis: k for k, axis in enumerate(self.dims)}
        for name, (low, high) in ends.items():
            if name in self.extremes:
                bands: dict[str, Any] = self.extremes
                bands[name] = _BandExtremes(low, high, [place[axis] for axis in low.axes])

    def _fixed_trend(self, node: Node) -> Trend:
        if node.op == "reference" and node.args[0] in self.ends:
            low, high = (float(end.array) for end in self.ends[node.args[0]])
            return Trend(interval_of(np.float64(low), np.float64(high)), ALL_AXES, ALL_AXES)
        return super()._fixed_trend(node)

    def objective_ranges(self, boxes: Boxes) -> Floats:
        count = boxes.lo.shape[1]
        result = np.empty((2, count))
        for first in range(0, count, _BLOCK_BOXES):
            part = slice(first, first + _BLOCK_BOXES)
            ends = self.step_trends(boxes.take(part))[id(self.root)].enclosure
            result[0, part], result[1, part] = ends.lo, ends.hi
        return result


def possible_winners(
    grid: Grid, goal: Goal, inputs: Sequence[UncertainInput], *, max_boxes: int
) -> tuple[CertifiedBoxes, Floats]:
    """Return boxes that contain all possible winners, and the share that each box surely wins.

    A ``certain`` box is a single configuration that is the best for some values of the inputs.
    ``complete`` is True if every box is a single configuration. At most three inputs and no switch
    axes are allowed. :func:`_winning_shares` defines the shares.
    """
    with np.errstate(all="ignore"):
        return _WinnerSearch(grid, goal, inputs).run(max_boxes)


class _WinnerSearch:
    def __init__(self, grid: Grid, goal: Goal, inputs: Sequence[UncertainInput]) -> None:
        (self.key,) = grid.graphs
        self.grid, self.goal, self.inputs, self.stats = grid, goal, inputs, SearchStats()
        self.sizes = {axis: grid.axes[axis].size for axis in grid.sort_axes(dims_of(grid, [goal]))}
        self.root = objective_node(grid, self.key, goal)

    def _interpolated_leaf(self, uncertain: UncertainInput, share: float) -> Leaf:
        low, high = uncertain.low[self.key], uncertain.high[self.key]
        return replace(low, array=_interpolate(low.array, high.array, share))

    def _input_cells(self, parts: int) -> list[_ProblemWithinTolerances]:
        cuts = [(k / parts, (k + 1) / parts) for k in range(parts)]
        result = []
        for cell in itertools.product(cuts, repeat=len(self.inputs)):
            ends = {
                each.name: (self._interpolated_leaf(each, a), self._interpolated_leaf(each, b))
                for each, (a, b) in zip(self.inputs, cell, strict=True)
            }
            leaves = self.grid.leaves[self.key]
            result.append(_ProblemWithinTolerances(self.root, leaves, self.sizes, ends))
        return result

    def _certain_winners(self) -> Indices:
        """Return certified best points (columns) for inputs at their middles and at corners."""
        result = []
        middle = [] if any(each.whole for each in self.inputs) else [(0.5,) * len(self.inputs)]
        for shares in [*middle, *itertools.product((0.0, 1.0), repeat=len(self.inputs))]:
            fixed = {
                each.name: self._interpolated_leaf(each, share)
                for each, share in zip(self.inputs, shares, strict=True)
            }
            leaves = {self.key: {**self.grid.leaves[self.key], **fixed}}
            grid = replace(self.grid, leaves=leaves, cache={})
            best = best_in_cell(grid, switch_cases(grid, [self.goal], ()), {}, 0.0, self.stats)
            if best.place is not None and best.bound == best.value:
                result.append([best.place[axis] for axis in self.sizes])
        return np.unique(np.array(result, dtype=np.int64).reshape(-1, len(self.sizes)), axis=0).T

    def run(self, max_boxes: int) -> tuple[CertifiedBoxes, Floats]:
        winners = self._certain_winners()
        points = Boxes(winners, winners)
        cells = self._input_cells(1)
        limits = [_certain_maximum(cell, points) for cell in cells]
        boxes = cells[0].whole_box
        fine = False
        while True:
            single = np.all(boxes.lo == boxes.hi, axis=0)
            alive = np.zeros(single.size, dtype=bool)
            for place, cell in enumerate(cells):  # drop boxes that cannot be the best in any cell
                least, top = cell.objective_ranges(boxes)
                self.stats.boxes += least.size
                limits[place] = min([limits[place], *top[single].tolist()])
                alive |= (least <= limits[place]) & (least < np.inf)
            boxes, single = boxes.take(alive), single[alive]
            late = self.stats.is_late or 2 * boxes.lo.shape[1] > max_boxes
            if not fine and (single.all() or late or boxes.lo.shape[1] > _BLOCK_BOXES):
                cells, fine = self._input_cells(_CELLS_PER_INPUT[len(self.inputs)]), True
                limits = [_certain_maximum(cell, points) for cell in cells]
                continue
            if single.all() or late:
                break
            boxes = _halve_boxes(boxes, single, cells[0])
        complete = bool(single.all())
        # split boxes around the proven winners until each winner is a separate box
        while (split := _contains_any(boxes, winners) & ~single).any():
            longest = np.argmax(boxes.hi - boxes.lo, axis=0)[split]
            boxes = concatenate_boxes([boxes.take(split).halves(longest), boxes.take(~split)])
            single = np.all(boxes.lo == boxes.hi, axis=0)
        result = CertifiedBoxes(
            dims=tuple(self.sizes),
            lo=boxes.lo,
            hi=boxes.hi,
            certain=_contains_any(boxes, winners) & single,
            boxes_bounded=self.stats.boxes,
            complete=complete,
        )
        if boxes.lo.shape[1] <= _FINE_MAX_BOXES:
            cells = self._input_cells(_FINE_CELLS_PER_INPUT[len(self.inputs)])
        return result, _winning_shares(boxes, cells)


def _winning_shares(boxes: Boxes, cells: Sequence[_ProblemWithinTolerances]) -> Floats:
    """Return the share of cells that each box surely wins (row 0) and that it may win (row 1)."""
    result = np.zeros((2, boxes.lo.shape[1]))
    single = np.all(boxes.lo == boxes.hi, axis=0)
    for cell in cells:
        least, top = cell.objective_ranges(boxes)
        limit = np.min(top[single], initial=np.inf)
        alive = (least <= limit) & (least < np.inf)
        result[1] += alive
        if np.count_nonzero(alive) == 1 and limit < np.inf:
            result[0] += alive
    return result / len(cells)


def _contains_any(boxes: Boxes, places: Indices) -> Mask:
    lo, hi = boxes.lo[:, :, None], boxes.hi[:, :, None]
    inside = (lo <= places[:, None]) & (places[:, None] <= hi)
    return np.asarray(np.any(np.all(inside, axis=0), axis=1))


def _certain_maximum(cell: _ProblemWithinTolerances, points: Boxes) -> float:
    return float(np.min(cell.objective_ranges(points)[1], initial=np.inf))


def _halve_boxes(boxes: Boxes, single: Mask, problem: _ProblemWithinTolerances) -> Boxes:
    """Halve each box that is not ``single`` along the axis that raises its lower bound most."""
    some, rest = boxes.take(~single), boxes.take(single)
    wide = some.hi > some.lo
    gains = np.full(wide.shape, -np.inf)
    for axis in range(len(wide)):
        numbers = np.flatnonzero(wide[axis])
        for first in range(0, numbers.size, _BLOCK_BOXES):
            part = numbers[first : first + _BLOCK_BOXES]
            halves = some.take(part).halves(np.full(part.size, axis))
            high = problem.bound_boxes(halves)[0].reshape(2, -1).max(axis=0)
            gains[axis, part] = np.nan_to_num(high, posinf=1e300, neginf=-1e300)
    best = gains >= gains.max(axis=0)  # of axes with equal gains, the longest is halved
    axis_of = np.argmax(np.where(best & wide, some.hi - some.lo, -1), axis=0)
    return concatenate_boxes([some.halves(axis_of), rest])
