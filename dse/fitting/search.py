"""Minimise the squared residuals of a fit: choose starting points, refine them, leave out rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.parameters import Floats, Parameters
from stochastic import sizes
from symbolic.intervals import PartialEvaluation
from symbolic.ops import Node, walk

Mask = NDArray[np.bool_]
TwoArrays = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitProblem:
    """A least-squares problem: minimise the sum of squares of ``scale`` × (predicted - measured).

    ``nodes`` compute the measured quantities (NaN if a rule is broken); ``leaves`` are their fixed
    inputs, of shape (rows,) or (1,). A *point* has one value for each parameter; the parameters of
    one quantity are adjacent, in the order of the labels. ``labels`` are the label indices of the
    rows. ``measurements`` and ``scale`` have the shape (measured quantities, rows). The scaled
    measurements should have the norm 1, so that no square overflows. With ``ridge``, each positive
    parameter with a start value has one more residual, ``ridge`` × log(value / start).
    """

    nodes: tuple[Node, ...]
    leaves: Mapping[str, Floats]
    parameters: Parameters
    labels: NDArray[np.int64]
    measurements: Floats
    scale: Floats
    ridge: float = 0.0
    _partial: list[PartialEvaluation] = field(default_factory=list, repr=False, compare=False)

    @property
    def positions(self) -> dict[str, list[int]]:
        """For each quantity, the indices of its values in a point."""
        result: dict[str, list[int]] = {}
        for place, coordinate in enumerate(self.parameters):
            result.setdefault(coordinate.name, []).append(place)
        return result

    @property
    def measured_norm(self) -> float:
        """The norm of the scaled measurements; 1 if all of them are 0."""
        return math.sqrt(float(np.square(self.measurements * self.scale).sum())) or 1.0

    def predict(self, points: Floats) -> Floats:
        """Return predictions (points, quantities, rows) at points (points, parameters)."""
        shape = (len(points), self.measurements.shape[1])
        places = self.positions
        if not self._partial:  # subexpressions that depend only on the rows are computed once
            values = {name: leaf[None, :] for name, leaf in self.leaves.items()}
            self._partial.append(PartialEvaluation(self.nodes, places, values))
        moved = {}
        for name, columns in places.items():
            shared = self.parameters[columns[0]].label is None
            moved[name] = points[:, columns] if shared else points[:, columns][:, self.labels]
        arrays = self._partial[0].evaluate(moved)
        return np.stack([np.broadcast_to(np.asarray(a, float), shape) for a in arrays], axis=1)

    @property
    def _starts(self) -> dict[int, float]:
        positive = [(k, c.start or 0.0) for k, c in enumerate(self.parameters) if c.low >= 0]
        return {k: start for k, start in positive if start * self.ridge > 0}

    def residuals(self, points: Floats) -> Floats:
        """Return scaled residuals at points, of shape (points, quantities x rows + starts)."""
        rows = self._apply_scale(self.predict(points) - self.measurements)
        with np.errstate(divide="ignore"):
            moved = np.log(points[:, [*self._starts]] / [*self._starts.values()])
        return np.concatenate([rows, self.ridge * moved], axis=1)

    def scaled_predictions(self, points: Floats) -> Floats:
        """Return scaled predictions, of shape (points, quantities x rows)."""
        return self._apply_scale(self.predict(points))

    def _apply_scale(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            values = np.where(self.scale == 0, 0.0, values * self.scale)
        return values.reshape(len(values), -1)

    def costs(self, points: Floats) -> Floats:
        """Return the sum of squares at each point; it is infinite if a residual is not a number."""
        step = max(1, sizes.FIT_NUMBERS // max(self.measurements.size, 1))
        with np.errstate(over="ignore"):
            result = [
                np.square(self.residuals(points[low : low + step])).sum(axis=1)
                for low in range(0, len(points), step)
            ]
        costs = np.concatenate(result)
        return np.where(np.isfinite(costs), costs, math.inf)

    def jacobian(self, point: Floats, steps: Floats, back: Floats | None = None) -> Floats:
        """Return the derivatives of scaled residuals, of shape (residuals, parameters)."""
        slopes, places = self.linearize(point[None, :], steps, back)[1][0], [*self._starts]
        moved = self.ridge * np.eye(len(point))[places] / point[places, None]
        return np.concatenate([slopes, moved])

    def linearize(self, points: Floats, steps: Floats, back: Floats | None = None) -> TwoArrays:
        """Return scaled predictions at points, and their derivatives by central differences.

        Differences are one-sided at bounds and next to missing values. They are 0 for a step of 0.
        ``back`` are the backward steps (default: ``steps``). A quantity with labels is moved for
        all labels at once, because a row depends only on the value for its own label. Shapes:
        (points, residuals) and (points, residuals, parameters).
        """
        back = steps if back is None else back
        ahead = np.minimum(points + steps, [c.high for c in self.parameters])
        behind = np.maximum(points - back, [c.low for c in self.parameters])
        moving = [k for k in self.positions.values() if steps[k].any() or back[k].any()]
        moved = np.repeat(points[:, None, :], 1 + 2 * len(moving), axis=1)
        for number, places in enumerate(moving):
            moved[:, 1 + 2 * number, places] = ahead[:, places]
            moved[:, 2 + 2 * number, places] = behind[:, places]
        result = self.scaled_predictions(moved.reshape(-1, len(self.parameters)))
        result = result.reshape(*moved.shape[:2], self.measurements.size)
        here = result[:, 0]
        slopes = np.zeros((*here.shape, len(self.parameters)))
        for number, places in enumerate(moving):
            at = np.array(places)
            if self.parameters[places[0]].label is not None:  # select by the label of the row
                at = np.tile(at[self.labels], len(self.measurements))
            up, down = result[:, 1 + 2 * number], result[:, 2 + 2 * number]
            value, high, low = points[:, at], ahead[:, at], behind[:, at]
            with np.errstate(all="ignore"):
                both = (up - down) / (high - low)
                right, left = (up - here) / (high - value), (here - down) / (value - low)
            each = np.where(np.isfinite(both), both, np.where(np.isfinite(right), right, left))
            slopes[:, np.arange(here.shape[1]), at] = np.where(np.isfinite(each), each, 0.0)
        return here, slopes

    def subsample(self, limit: int) -> FitProblem:
        """Return the problem on at most ``limit`` rows, drawn with a fixed seed."""
        total = self.measurements.shape[1]
        if total <= limit:
            return self
        rows = np.sort(np.random.default_rng(0).permutation(total)[:limit])
        leaves = self.leaves.items()
        return replace(
            self,
            _partial=[],
            leaves={name: leaf[rows] if leaf.size == total else leaf for name, leaf in leaves},
            labels=self.labels[rows],
            measurements=self.measurements[:, rows],
            scale=self.scale[:, rows],
        )


#: Starting points: number for each nonlinear quantity; maximum; number if all are linear.
POINTS_EACH, MAX_POINTS, MIN_POINTS = 96, 384, 16
LINEAR_PASSES = 2  # number of times that linear quantities are solved for
#: Search starts from the best point in each of RANGE_PARTS parts of each range, and from the
#: BEST_POINTS best points of all.
RANGE_PARTS, BEST_POINTS = 8, 4
TRIALS = 4  # number of points at which linearity is tested
NEARBY_STEP = 1e-3  # relative step so small that it stays in one regime
NOISE = 1e-9  # largest relative second difference of a prediction that counts as linear


def starting_points(problem: FitProblem) -> Floats:
    """Return starting points; the first has the given start values.

    The other points are the best of all drawn points, and the best in each part of the range of
    each nonlinear quantity.
    """
    trials = _draw_points(problem, TRIALS)[0]
    linear = np.all([_linear_mask(problem, trial, 1.0) for trial in trials], axis=0)
    nearby = np.any([_linear_mask(problem, trial, NEARBY_STEP) for trial in trials], axis=0)
    nonlinear = sum(not linear[places[0]] for places in problem.positions.values())
    points, shares = _draw_points(problem, min(POINTS_EACH * nonlinear, MAX_POINTS) or MIN_POINTS)
    for which in (linear, nearby) * LINEAR_PASSES:
        points = _solve_linear(problem, points, which) if which.any() else points
    costs = problem.costs(points)
    order = np.argsort(costs, kind="stable")
    chosen = dict.fromkeys([0, *order[:BEST_POINTS].tolist()])
    for number, places in enumerate(problem.positions.values()):
        if not linear[places[0]]:
            parts = np.minimum((shares[order, number] * RANGE_PARTS).astype(int), RANGE_PARTS - 1)
            firsts = [np.flatnonzero(parts == part)[:1] for part in range(RANGE_PARTS)]
            chosen |= dict.fromkeys(order[np.concatenate(firsts)].tolist())
    return points[[place for place in chosen if math.isfinite(costs[place])]]


def _draw_points(problem: FitProblem, count: int) -> tuple[Floats, Floats]:
    """Return points, and their positions in the starting ranges as shares from 0 to 1.

    If parameters have start values, ``count`` points use these and ``count`` points do not. In the
    first point, the other parameters are in the middle of their range.
    """
    free, places = problem.parameters, list(problem.positions.values())
    shares = _halton(count, len(places))
    shares[0] = 0.5
    drawn = np.empty((count, len(free)))
    for number, several in enumerate(places):
        for place in several:
            drawn[:, place] = free[place].start_values(shares[:, number])
    started = [k for k, c in enumerate(free) if c.start is not None]
    if started:
        mixed = drawn.copy()
        mixed[:, started] = [free[k].start for k in started]
        drawn, shares = np.concatenate([mixed, drawn]), np.concatenate([shares, shares])
    low, high = [c.low for c in free], [c.high for c in free]
    return np.clip(drawn, low, high), shares


def _halton(count: int, dimensions: int) -> Floats:
    """Return the first points of the Halton sequence, without the origin.

    >>> _halton(3, 2)[:, 0].tolist()
    [0.5, 0.25, 0.75]
    """
    primes: list[int] = []
    number = 2
    while len(primes) < dimensions:
        primes += [number] if all(number % prime for prime in primes) else []
        number += 1
    shares = np.zeros((count, dimensions))
    for column, base in enumerate(primes):
        rest, weight = np.arange(1, count + 1), 1.0
        while rest.any():
            weight /= base
            shares[:, column] += weight * (rest % base)
            rest //= base
    return shares


def _solve_linear(problem: FitProblem, points: Floats, linear: Mask) -> Floats:
    """Replace the values in the mask ``linear`` by the least-squares solution at each point.

    A new point is used only if it reduces the sum of squares, because predictions may be linear
    only within one regime.
    """
    steps = NEARBY_STEP * np.where(linear, [c.typical_size for c in problem.parameters], 0.0)
    low, high = [c.low for c in problem.parameters], [c.high for c in problem.parameters]
    moved, blocks = points.copy(), _linear_blocks(problem, linear)
    measured = (problem.measurements * problem.scale).reshape(-1)
    numbers = problem.measurements.size * (2 * len(problem.parameters) + 1)
    count = max(1, sizes.FIT_NUMBERS // max(numbers, 1))
    for first in range(0, len(points), count):
        predicted, slopes = problem.linearize(points[first : first + count], steps)
        wanted = measured - predicted
        known = np.isfinite(wanted).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
        here = first + np.flatnonzero(known)
        for rows, places in blocks:
            block = slopes[known][:, rows][:, :, places]
            moved[here[:, None], places] += _least_squares_steps(block, wanted[known][:, rows])
    moved = np.clip(moved, low, high)
    return np.where((problem.costs(moved) < problem.costs(points))[:, None], moved, points)


def _linear_blocks(problem: FitProblem, linear: Mask) -> list[tuple[Any, list[int]]]:
    """Return blocks (residuals, linear values) that can be solved independently of each other.

    There is one block for each label, or a single block if a linear value is common to all labels.
    """
    places = np.flatnonzero(linear).tolist()
    if any(problem.parameters[place].label is None for place in places):
        return [(slice(None), places)]
    labels = np.tile(problem.labels, len(problem.measurements))
    by_label: dict[int, list[int]] = {}
    for several in problem.positions.values():
        for order, place in enumerate(several):
            if linear[place]:
                by_label.setdefault(order, []).append(place)
    return [(labels == order, group) for order, group in by_label.items()]


def _least_squares_steps(slopes: Floats, wanted: Floats) -> Floats:
    lengths = np.sqrt(np.square(slopes).sum(axis=1))
    lengths = np.where(lengths > 0, lengths, 1.0)
    rounding = float(np.finfo(float).eps) * max(slopes.shape[1:])
    inverse = np.linalg.pinv(slopes / lengths[:, None, :], rcond=rounding)
    return (inverse @ wanted[..., None])[..., 0] / lengths


def _linear_mask(problem: FitProblem, point: Floats, step: float) -> Mask:
    """Return a mask of the values in which predictions are linear if all other values are fixed."""
    result = np.zeros(len(point), dtype=bool)
    for places in problem.positions.values():
        trial = np.repeat(point[None, :], 3, axis=0)
        units = step * np.array([problem.parameters[place].typical_size for place in places])
        trial[1, places] += units
        trial[2, places] += 2 * units
        here, near, far = problem.scaled_predictions(trial)
        bend = np.abs(far - 2 * near + here)
        size = np.abs(far) + 2 * np.abs(near) + np.abs(here)
        result[places] = bool(np.all(bend <= NOISE * size)) and math.isfinite(float(size.sum()))
    return result


#: Number of rough searches whose results are refined.
REFINED = 2
#: Limits on the number of rows of a rough search. Above MIN_ROUGH_ROWS, rows × steps of the
#: equations is at most MAX_ROUGH_STEPS, because equations that choose among tiles have many steps.
MAX_ROUGH_ROWS, MIN_ROUGH_ROWS, MAX_ROUGH_STEPS = 2048, 128, 150_000
#: Relative step of a numerical derivative: the cube root of the machine precision.
STEP = float(np.finfo(float).eps) ** (1 / 3)
#: Minimum size of a value, as a share of the change that changes predictions by their norm.
NEAR_ZERO = 1e-3
#: A direction changes no prediction if its relative singular value is below this limit.
FLAT_TOLERANCE = 1e-7
#: A value is tried at an end of its domain if its distance (in units of its typical size) is below
#: NEAR_BOUND, and the estimated relative increase of the cost is below TRY_BOUND.
NEAR_BOUND, TRY_BOUND = 0.03, 1e-4
#: A value is set to the end of its domain if this raises the squares by less than TAKE_BOUND times,
#: and if either (a) they grow as the value leaves the end (cosine between slope and residuals above
#: ACTIVE_BOUND_COSINE), or (b) it was nearer to the end than BOUND_TOLERANCE times its size.
TAKE_BOUND, ACTIVE_BOUND_COSINE, BOUND_TOLERANCE = 1e-10, 1e-6, 1e-6
#: A relative cost below EXACT, or a change of residuals below ROUNDING, is a rounding error.
EXACT, ROUNDING = 1e-20, 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best point, its sum of squares, and a mask of its values at an end of their domain."""

    point: Floats
    cost: float
    at_end: Mask


def search(problem: FitProblem) -> Solution | None:
    """Return the least-squares solution; None if predictions are missing at all starting points.

    Starting points are a Halton sequence around typical values, with and without the given start
    values. At each starting point, the linear values are solved for. SciPy's trust-region method
    starts from the best points in each part of each range, so that not all searches end in the same
    local minimum. Finally, values near an end of their domain are moved there if that costs
    nothing.
    """
    steps = sum(1 for _ in walk(problem.nodes))
    sample = problem.subsample(
        max(MIN_ROUGH_ROWS, min(MAX_ROUGH_ROWS, MAX_ROUGH_STEPS // max(steps, 1)))
    )
    rough = [_refine(sample, point, rough=True) for point in starting_points(sample)]
    if not rough:
        return None
    rough.sort(key=itemgetter(1))
    best = min((_refine(problem, point) for point, _ in rough[:REFINED]), key=itemgetter(1))
    if not math.isfinite(best[1]):
        return None
    best = min(best, _refine(problem, best[0], own_units=True), key=itemgetter(1))
    return _move_to_bounds(problem, *best)


def _refine(
    problem: FitProblem,
    point: Floats,
    *,
    moving: Mask | None = None,
    own_units: bool = False,
    rough: bool = False,
) -> tuple[Floats, float]:
    """Return the local minimum that a search from a point reaches, and its sum of squares.

    The search varies the logarithms of values, or values in units of their typical size.
    ``moving`` is the mask of values to vary. With ``own_units``, the units are the sizes of
    the values at the point, for more digits. With ``rough``, the search stops early.
    """
    from scipy.optimize import least_squares

    moves = np.ones(len(point), dtype=bool) if moving is None else moving
    cost = float(problem.costs(point[None, :])[0])
    if not moves.any() or not math.isfinite(cost):
        return point, cost
    free = [c for c, moved in zip(problem.parameters, moves, strict=True) if moved]
    logs = np.array([c.is_log for c in free])
    units = np.array([1.0 if c.is_log else c.typical_size for c in free])
    if own_units:
        units = np.where(logs, units, step_sizes(problem, point)[moves])
    least, most = np.array([c.low for c in free]), np.array([c.high for c in free])
    size = problem.measured_norm

    def to_values(place: Floats) -> Floats:  # clipped to the bounds
        with np.errstate(over="ignore"):
            value = np.where(logs, np.exp(np.where(logs, place, 0.0)), place * units)
        return np.asarray(np.clip(value, least, most))

    def to_places(value: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.where(logs, np.log(np.where(logs, value, 1.0)), value / units)

    def full_point(place: Floats) -> Floats:
        result = point.copy()
        result[moves] = to_values(place)
        return result

    def residuals(place: Floats) -> Floats:
        return np.asarray(problem.residuals(full_point(place)[None, :])[0] / size)

    def scaled_jacobian(place: Floats) -> Floats:
        value = np.abs(to_values(place))
        steps = np.zeros(len(point))
        steps[moves] = STEP * np.where(logs, value, np.maximum(value, units))
        factor = np.where(logs, value, units)
        return problem.jacobian(full_point(place), steps)[:, moves] * factor / size

    low, high = to_places(least), to_places(most)
    begin = np.clip(to_places(point[moves]), np.nextafter(low, high), np.nextafter(high, low))
    if not np.isfinite(residuals(begin)).all():
        return point, cost
    with np.errstate(all="ignore"):
        result = least_squares(
            residuals,
            begin,
            jac=scaled_jacobian,
            bounds=(low, high),
            x_scale="jac",
            ftol=1e-6 if rough else 1e-15,
            xtol=1e-6 if rough else 1e-13,
            gtol=None,
            max_nfev=30 if rough else 200,
        )
    end = full_point(result.x)
    end_cost = float(problem.costs(end[None, :])[0])
    return (end, end_cost) if end_cost <= cost else (point, cost)


def _move_to_bounds(problem: FitProblem, point: Floats, cost: float) -> Solution:
    at_end = np.zeros(len(point), dtype=bool)
    # the cost, to second order, of changing a value by 1 and refitting all others: 1 / (JᵀJ)⁻¹ᵢᵢ
    # with the Jacobian J; it is 0 for values that the rows do not determine
    slopes, lengths = normalize_columns(jacobian_at(problem, point))
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    sizes = np.maximum(sizes, FLAT_TOLERANCE * sizes[0] or 1.0)
    spread = np.square(directions.T / sizes).sum(axis=1)
    costs = np.square(lengths) / np.where(spread > 0, spread, 1.0)
    for place, parameter in enumerate(problem.parameters):
        for end in parameter.attainable_bounds:
            distance = abs(point[place] - end)
            is_inexact = cost > EXACT * problem.measured_norm**2
            if is_inexact and distance**2 * costs[place] > TRY_BOUND * cost:
                continue
            if distance > NEAR_BOUND * max(parameter.typical_size, abs(end)):
                continue
            moved, fixed = point.copy(), at_end.copy()
            moved[place], fixed[place] = end, True
            moved, moved_cost = _refine(problem, moved, moving=~fixed)
            if moved_cost > cost * (1 + TAKE_BOUND):
                continue
            tolerance = BOUND_TOLERANCE * step_sizes(problem, moved)[place] / NEAR_ZERO
            if distance <= tolerance or _is_bound_active(problem, moved, place):
                point, at_end, cost = moved, fixed, min(moved_cost, cost)
                break
    return Solution(point=point, cost=float(problem.costs(point[None, :])[0]), at_end=at_end)


def normalize_columns(slopes: Floats) -> tuple[Floats, Floats]:
    """Return slopes with columns scaled to norm 1, and the former norms; zero columns stay."""
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    return slopes / lengths, lengths


def _is_bound_active(problem: FitProblem, point: Floats, place: int) -> bool:
    """True if the sum of squares grows when a value leaves the end of its domain."""
    steps, none = STEP * step_sizes(problem, point), np.zeros(len(point))
    inward = point[place] <= problem.parameters[place].low
    slope = problem.jacobian(point, *((steps, none) if inward else (none, steps)))[:, place]
    residuals = problem.residuals(point[None, :])[0]
    lengths = float(np.linalg.norm(slope) * np.linalg.norm(residuals))
    growth = float(slope @ residuals) * (1 if inward else -1)
    return growth > ACTIVE_BOUND_COSINE * lengths


def jacobian_at(problem: FitProblem, point: Floats) -> Floats:
    """Return the derivatives of scaled residuals at a point, with steps that suit its values."""
    return problem.jacobian(point, STEP * step_sizes(problem, point))


def step_sizes(problem: FitProblem, point: Floats) -> Floats:
    """Return a scale for each value, to which the steps of derivatives are proportional.

    The scale is the magnitude of the value, but at least NEAR_ZERO × d. A change of the value by d
    changes predictions by as much as their norm.
    """
    units = np.array([c.typical_size for c in problem.parameters])
    units = np.where([c.is_log for c in problem.parameters], np.abs(point), units)
    change = units * np.sqrt(np.square(problem.jacobian(point, STEP * units)).sum(axis=0))
    matters = change > ROUNDING * problem.measured_norm
    natural = units * problem.measured_norm / np.where(matters, change, problem.measured_norm)
    return np.asarray(np.maximum(np.abs(point), NEAR_ZERO * natural))


def left_out_residuals(problem: FitProblem, solution: Solution, method: str) -> Floats:
    """Return the scaled residuals of each row if it is left out of the fit, shaped as measured.

    ``method`` is ``"refit"``, a search from the best point for each row, or ``"hat"``: with the
    derivatives J of all residuals and J_i of a row, the row's residuals r_i are multiplied by (I -
    J_i (JᵀJ)⁻¹ J_iᵀ)⁻¹, which is exact if predictions are linear. The result is NaN for a row if
    the other rows alone do not determine the free quantities.
    """
    shape = problem.measurements.shape
    slopes = jacobian_at(problem, solution.point)[:, ~solution.at_end]
    basis = np.linalg.qr(normalize_columns(slopes)[0])[0][: problem.scale.size]
    by_row = basis.reshape(*shape, -1).transpose(1, 0, 2)
    residuals = problem.residuals(solution.point[None, :])[0, : problem.scale.size].reshape(shape)
    rest = np.eye(shape[0]) - by_row @ by_row.transpose(0, 2, 1)
    known = np.linalg.svd(rest, compute_uv=False)[:, -1] >= FLAT_TOLERANCE
    result = np.full(shape, math.nan)
    if method == "hat":
        result[:, known] = np.linalg.solve(rest[known], residuals.T[known][..., None])[..., 0].T
        return result
    for row in np.flatnonzero(known):
        scale = problem.scale.copy()
        scale[:, int(row)] = 0
        others, _ = _refine(replace(problem, scale=scale), solution.point, own_units=True)
        rest = problem.residuals(others[None, :])[0, : problem.scale.size]
        result[:, row] = rest.reshape(shape)[:, row]
    return result
