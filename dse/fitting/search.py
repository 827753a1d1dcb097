"""Least squares: a model on measured rows, the best values of what is free, each row left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.parameters import Floats, FreeParameter
from stochastic import sizes
from symbolic.intervals import PartialEvaluation
from symbolic.ops import Node

# --- What a model predicts at many values of its free quantities at once


#: Numbers held at once while many candidates are looked at.
MAX_NUMBERS = sizes.FIT_NUMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresProblem:
    """Find the values at which ``scale`` × (predicted - measured) is smallest in squares.

    ``nodes`` are the measured quantities over the leaves, NaN where a rule is broken; ``leaves``
    those that are not free, of shape (rows,) or (1,). A point has a value for each of ``free``, of
    which those of one name stand together in the order of the labels; ``labels`` numbers the label
    of each row. ``measured`` and ``scale`` are of shape (measured quantities, rows). Let the
    measured values, scaled, be of length 1, so that no squares leave the range of numbers.
    """

    nodes: tuple[Node, ...]
    leaves: Mapping[str, Floats]
    parameters: tuple[FreeParameter, ...]
    labels: NDArray[np.int64]
    measurements: Floats
    scale: Floats
    _partial: list[PartialEvaluation] = field(default_factory=list, repr=False, compare=False)

    @property
    def positions(self) -> dict[str, list[int]]:
        """Where in a point the values of each quantity stand."""
        result: dict[str, list[int]] = {}
        for place, coordinate in enumerate(self.parameters):
            result.setdefault(coordinate.name, []).append(place)
        return result

    @property
    def measured_norm(self) -> float:
        """The length of what was measured, scaled; 1 where that is 0."""
        return math.sqrt(float(np.square(self.measurements * self.scale).sum())) or 1.0

    def predict(self, points: Floats) -> Floats:
        """What is predicted at points, shape (points, free): (points, measured, rows)."""
        shape = (len(points), self.measurements.shape[1])
        places = self.positions
        if not self._partial:  # what only the rows tell is computed once
            values = {name: leaf[None, :] for name, leaf in self.leaves.items()}
            self._partial.append(PartialEvaluation(self.nodes, places, values))
        moved = {}
        for name, own in places.items():
            shared = self.parameters[own[0]].label is None
            moved[name] = points[:, own] if shared else points[:, own][:, self.labels]
        result = self._partial[0].evaluate(moved)
        return np.stack([np.broadcast_to(np.asarray(f, float), shape) for f in result], axis=1)

    def residuals(self, points: Floats) -> Floats:
        """Scaled residuals at points, shape (points, measured x rows)."""
        return self._apply_scale(self.predict(points) - self.measurements)

    def scaled_predictions(self, points: Floats) -> Floats:
        """Scaled predictions at points: their differences do not drown in what was measured."""
        return self._apply_scale(self.predict(points))

    def _apply_scale(self, values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            values = np.where(self.scale == 0, 0.0, values * self.scale)
        return values.reshape(len(values), -1)

    def costs(self, points: Floats) -> Floats:
        """Sums of squares at points; infinite where anything is not a number."""
        step = max(1, MAX_NUMBERS // max(self.measurements.size, 1))
        with np.errstate(over="ignore"):
            result = [
                np.square(self.residuals(points[low : low + step])).sum(axis=1)
                for low in range(0, len(points), step)
            ]
        costs = np.concatenate(result)
        return np.where(np.isfinite(costs), costs, math.inf)

    def jacobian(self, point: Floats, steps: Floats, back: Floats | None = None) -> Floats:
        """Derivatives of the scaled residuals at a point: shape (residuals, free)."""
        slopes: Floats = self.linearize(point[None, :], steps, back)[1][0]
        return slopes

    def linearize(
        self, points: Floats, steps: Floats, back: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Scaled predictions at points and their derivatives by each free quantity, by differences.

        Steps ahead and ``back`` (the same by default) are those of central differences; one-sided
        at a bound and where the other side is not a number; 0 for what does not move. What has a
        value for each label is moved for all labels at once: rows know but their own. Shapes
        (points, residuals) and (points, residuals, free).
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
            own = np.array(places)
            if self.parameters[places[0]].label is not None:  # of each residual, that of its label
                own = np.tile(own[self.labels], len(self.measurements))
            up, down = result[:, 1 + 2 * number], result[:, 2 + 2 * number]
            each = _finite_difference(here, up, down, points[:, own], ahead[:, own], behind[:, own])
            slopes[:, np.arange(here.shape[1]), own] = each
        return here, slopes

    def without_row(self, row: int) -> LeastSquaresProblem:
        """The same problem in which one row does not count."""
        scale = self.scale.copy()
        scale[:, row] = 0
        return replace(self, scale=scale)

    def subsample(self, limit: int) -> LeastSquaresProblem:
        """The same problem on at most so many of its rows, drawn at random, always the same."""
        total = self.measurements.shape[1]
        if total <= limit:
            return self
        kept = np.sort(np.random.default_rng(0).permutation(total)[:limit])
        return replace(
            self,
            _partial=[],
            leaves={
                n: leaf[kept] if leaf.size == total else leaf for n, leaf in self.leaves.items()
            },
            labels=self.labels[kept],
            measurements=self.measurements[:, kept],
            scale=self.scale[:, kept],
        )


def _finite_difference(
    center: Floats, up: Floats, down: Floats, value: Floats, high: Floats, low: Floats
) -> Floats:
    with np.errstate(all="ignore"):
        both = (up - down) / (high - low)
        right, left = (up - center) / (high - value), (center - down) / (value - low)
    slope = np.where(np.isfinite(both), both, np.where(np.isfinite(right), right, left))
    return np.where(np.isfinite(slope), slope, 0.0)


# --- Where a search begins: many points about typical values, each solved for what is linear


#: Points for each quantity that is not solved for, the most in all, and those that are enough where
#: every one is; how often what is linear is solved for.
POINTS_EACH, MAX_POINTS, MIN_POINTS, LINEAR_PASSES = 96, 384, 16, 2
#: Parts of the range of each quantity of which the best points are kept; and the best of all.
RANGE_PARTS, BEST_POINTS = 8, 4
#: Points at which predictions are tried for being linear, and the step, as a share of a unit,
#: within which they may be so in one regime.
TRIALS, NEARBY_STEP = 4, 1e-3
#: What a second difference may be of the values that it is the difference of.
NOISE = 1e-9


def starting_points(problem: LeastSquaresProblem) -> Floats:
    """Points at which to begin, those of the given starts first.

    Kept are the best of all, and the best of each part of the range of each quantity that is not
    solved for.
    """
    trials = _draw_points(problem, TRIALS)[0]
    linear = np.all([_linear_mask(problem, trial, 1.0) for trial in trials], axis=0)
    nearby = np.any([_linear_mask(problem, trial, NEARBY_STEP) for trial in trials], axis=0)
    sought = sum(not linear[places[0]] for places in problem.positions.values())
    points, shares = _draw_points(problem, min(POINTS_EACH * sought, MAX_POINTS) or MIN_POINTS)
    for which in (linear, nearby) * LINEAR_PASSES:
        points = _solve_linear(problem, points, which) if which.any() else points
    costs = problem.costs(points)
    order = np.argsort(costs, kind="stable")
    kept = dict.fromkeys([0, *order[:BEST_POINTS].tolist()])
    for number, places in enumerate(problem.positions.values()):
        if not linear[places[0]]:
            parts = np.minimum((shares[order, number] * RANGE_PARTS).astype(int), RANGE_PARTS - 1)
            firsts = [np.flatnonzero(parts == part)[:1] for part in range(RANGE_PARTS)]
            kept |= dict.fromkeys(order[np.concatenate(firsts)].tolist())
    return points[[place for place in kept if math.isfinite(costs[place])]]


def _draw_points(problem: LeastSquaresProblem, count: int) -> tuple[Floats, Floats]:
    """So many points, twice as many where starts are given; and their shares of the ranges.

    All labels have the same values. The first has the given starts, and the middle of all other
    ranges.
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
    """The first points of the Halton sequence, from its second on: evenly spread shares.

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


def _solve_linear(
    problem: LeastSquaresProblem, points: Floats, linear: NDArray[np.bool_]
) -> Floats:
    """The points, with the values that predictions are linear in moved to where they fit best.

    A point stays as it is where that is better: linear may hold in one regime alone.
    """
    steps = NEARBY_STEP * np.where(linear, [c.typical_size for c in problem.parameters], 0.0)
    low, high = [c.low for c in problem.parameters], [c.high for c in problem.parameters]
    moved, blocks = points.copy(), _linear_blocks(problem, linear)
    measured = (problem.measurements * problem.scale).reshape(-1)
    count = max(
        1, MAX_NUMBERS // max(problem.measurements.size * (2 * len(problem.parameters) + 1), 1)
    )
    for first in range(0, len(points), count):
        predicted, slopes = problem.linearize(points[first : first + count], steps)
        wanted = measured - predicted
        known = np.isfinite(wanted).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
        here = first + np.flatnonzero(known)
        for rows, places in blocks:
            own = slopes[known][:, rows][:, :, places]
            moved[here[:, None], places] += _least_squares_steps(own, wanted[known][:, rows])
    moved = np.clip(moved, low, high)
    better = problem.costs(moved) < problem.costs(points)
    return np.where(better[:, None], moved, points)


def _linear_blocks(
    problem: LeastSquaresProblem, linear: NDArray[np.bool_]
) -> list[tuple[Any, list[int]]]:
    """Residuals and linear values that belong together: those of a label, where none is shared."""
    places = np.flatnonzero(linear).tolist()
    if any(problem.parameters[place].label is None for place in places):
        return [(slice(None), places)]
    labels = np.tile(problem.labels, len(problem.measurements))
    own: dict[int, list[int]] = {}
    for several in problem.positions.values():
        for order, place in enumerate(several):
            if linear[place]:
                own.setdefault(order, []).append(place)
    return [(labels == order, mine) for order, mine in own.items()]


def _least_squares_steps(slopes: Floats, wanted: Floats) -> Floats:
    """The steps that least squares ask for at each of some points, in columns of equal length."""
    lengths = np.sqrt(np.square(slopes).sum(axis=1))
    lengths = np.where(lengths > 0, lengths, 1.0)
    rounding = float(np.finfo(float).eps) * max(slopes.shape[1:])
    inverse = np.linalg.pinv(slopes / lengths[:, None, :], rcond=rounding)
    steps: Floats = (inverse @ wanted[..., None])[..., 0] / lengths
    return steps


def _linear_mask(problem: LeastSquaresProblem, point: Floats, step: float) -> NDArray[np.bool_]:
    """Which values the predictions depend on linearly from a point on, each by itself."""
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


#: How many of the rough searches are made precise, and the most rows on which these are made.
REFINED, MAX_ROUGH_ROWS = 2, 2048
#: A step of a numerical derivative, as a share of the value: the cube root of the precision.
STEP = float(np.finfo(float).eps) ** (1 / 3)
#: What a value near 0 is measured by, as a share of what changes the residuals by their own size.
NEAR_ZERO = 1e-3
#: Directions whose singular value is below this share of the largest change no prediction.
FLAT_TOLERANCE = 1e-7
#: A value is tried at the end of its domain where it is as near as this share of its unit and that
#: costs, by the derivatives, at most this share of the squares. The end is taken where it costs no
#: more than a share, and either the squares press on it (this cosine between slope and residuals)
#: or the value stood there but for this share of its size.
NEAR_BOUND, TRY_BOUND, TAKE_BOUND, ACTIVE_BOUND_COSINE, BOUND_TOLERANCE = (
    0.03,
    1e-4,
    1e-10,
    1e-6,
    1e-6,
)
#: Squares below this share of what was measured are rounding, and such changes of the residuals.
EXACT, ROUNDING = 1e-20, 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best point, its sum of squares, and which of its values stand at an end."""

    point: Floats
    cost: float
    at_end: NDArray[np.bool_]


def search(problem: LeastSquaresProblem) -> Solution | None:
    """The point of least squares; None where no beginning gives numbers.

    Beginnings are a Halton sequence over the region near typical values, the given starts, and
    both mixed; what predictions are linear in is solved for at each. The best in each part of the
    range of each quantity are followed to their minimum by SciPy's trust region, so that one valley
    does not draw them all; values that come near an end of their domain are tried there.
    """
    few = problem.subsample(MAX_ROUGH_ROWS)
    result = sorted(
        (_refine(few, point, rough=True) for point in starting_points(few)), key=itemgetter(1)
    )
    if not result:
        return None
    best = min((_refine(problem, point) for point, _ in result[:REFINED]), key=itemgetter(1))
    if not math.isfinite(best[1]):
        return None
    best = min(best, _refine(problem, best[0], own_units=True), key=itemgetter(1))
    return _move_to_bounds(problem, *best)


def _refine(
    problem: LeastSquaresProblem,
    point: Floats,
    *,
    moving: NDArray[np.bool_] | None = None,
    own_units: bool = False,
    rough: bool = False,
) -> tuple[Floats, float]:
    """The minimum that a search from a point reaches, and its sum of squares.

    Places are logarithms of values, or shares of a unit. ``moving`` says which values move, all by
    default. ``own_units`` measures plain coordinates in sizes that suit the point, for the last
    digits; ``rough`` asks for few digits.
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

    def value_of(place: Floats) -> Floats:  # within its bounds
        with np.errstate(over="ignore"):
            value = np.where(logs, np.exp(np.where(logs, place, 0.0)), place * units)
        clipped: Floats = np.clip(value, least, most)
        return clipped

    def place_of(value: Floats) -> Floats:
        with np.errstate(all="ignore"):
            place: Floats = np.where(logs, np.log(np.where(logs, value, 1.0)), value / units)
        return place

    def full_point(place: Floats) -> Floats:
        result = point.copy()
        result[moves] = value_of(place)
        return result

    def residuals(place: Floats) -> Floats:
        result: Floats = problem.residuals(full_point(place)[None, :])[0] / size
        return result

    def scaled_jacobian(place: Floats) -> Floats:
        value = np.abs(value_of(place))
        steps = np.zeros(len(point))
        steps[moves] = STEP * np.where(logs, value, np.maximum(value, units))
        factor = np.where(logs, value, units)
        return problem.jacobian(full_point(place), steps)[:, moves] * factor / size

    low, high = place_of(least), place_of(most)
    begin = np.clip(place_of(point[moves]), np.nextafter(low, high), np.nextafter(high, low))
    if not np.isfinite(residuals(begin)).all():
        return point, cost
    with np.errstate(all="ignore"):
        done = least_squares(
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
    end = full_point(done.x)
    reached = float(problem.costs(end[None, :])[0])
    return (end, reached) if reached <= cost else (point, cost)


def _move_to_bounds(problem: LeastSquaresProblem, point: Floats, cost: float) -> Solution:
    """The same with values moved to ends of their domain where that costs nothing."""
    held = np.zeros(len(point), dtype=bool)
    costs = _unit_step_costs(problem, point)
    for place, coordinate in enumerate(problem.parameters):
        for end in coordinate.attainable_bounds:
            away = abs(point[place] - end)
            dear = (
                away**2 * costs[place] > TRY_BOUND * cost
                and cost > EXACT * problem.measured_norm**2
            )
            if dear or away > NEAR_BOUND * max(coordinate.typical_size, abs(end)):
                continue
            moved, at = point.copy(), held.copy()
            moved[place], at[place] = end, True
            moved, price = _refine(problem, moved, moving=~at)
            if price > cost * (1 + TAKE_BOUND):
                continue
            there = away <= BOUND_TOLERANCE * step_sizes(problem, moved)[place] / NEAR_ZERO
            if there or _is_bound_active(problem, moved, place):
                point, held, cost = moved, at, min(price, cost)
                break
    return Solution(point=point, cost=float(problem.costs(point[None, :])[0]), at_end=held)


def normalize_columns(slopes: Floats) -> tuple[Floats, Floats]:
    """Return slopes with columns of length 1, and the lengths; a column of zeros stays."""
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    return slopes / lengths, lengths


def _is_bound_active(problem: LeastSquaresProblem, point: Floats, place: int) -> bool:
    """Whether the squares grow as a value leaves the end of its domain at which it stands."""
    steps, none = STEP * step_sizes(problem, point), np.zeros(len(point))
    inward = point[place] <= problem.parameters[place].low
    slope = problem.jacobian(point, *((steps, none) if inward else (none, steps)))[:, place]
    residuals = problem.residuals(point[None, :])[0]
    lengths = float(np.linalg.norm(slope) * np.linalg.norm(residuals))
    growth = float(slope @ residuals) * (1 if inward else -1)
    return growth > ACTIVE_BOUND_COSINE * lengths


def _unit_step_costs(problem: LeastSquaresProblem, point: Floats) -> Floats:
    """What a unit step of each value costs, all others free to follow, were all linear.

    1 / (JᵀJ)⁻¹ᵢᵢ; 0 for what the rows do not determine.
    """
    slopes, lengths = normalize_columns(jacobian_at(problem, point))
    _, sizes, directions = np.linalg.svd(slopes, full_matrices=False)
    sizes = np.maximum(sizes, FLAT_TOLERANCE * sizes[0] or 1.0)
    spread = np.square(directions.T / sizes).sum(axis=1)
    return np.square(lengths) / np.where(spread > 0, spread, 1.0)


def jacobian_at(problem: LeastSquaresProblem, point: Floats) -> Floats:
    """Derivatives of the scaled residuals at a point, in steps that suit each quantity."""
    return problem.jacobian(point, STEP * step_sizes(problem, point))


def step_sizes(problem: LeastSquaresProblem, point: Floats) -> Floats:
    """The sizes of values; of one near 0, a share of what changes residuals as much as they are."""
    units = np.array([c.typical_size for c in problem.parameters])
    units = np.where([c.is_log for c in problem.parameters], np.abs(point), units)
    change = units * np.sqrt(np.square(problem.jacobian(point, STEP * units)).sum(axis=0))
    felt = change > ROUNDING * problem.measured_norm
    natural = units * problem.measured_norm / np.where(felt, change, problem.measured_norm)
    return np.asarray(np.maximum(np.abs(point), NEAR_ZERO * natural))


def left_out_residuals(problem: LeastSquaresProblem, solution: Solution, method: str) -> Floats:
    """Scaled residuals of each row, predicted by a fit to all others; shape as measured.

    ``how`` is ``"refit"``, a search from the best point for each row, or ``"hat"``: with the
    derivatives J of all residuals and those of a row J_i, its residuals r_i become
    (I - J_i (JᵀJ)⁻¹ J_iᵀ)⁻¹ r_i, which is the same where predictions are linear. NaN for a row
    without which the others do not determine what is free.
    """
    shape = problem.measurements.shape
    basis = np.linalg.qr(
        normalize_columns(jacobian_at(problem, solution.point)[:, ~solution.at_end])[0]
    )[0]
    own = basis.reshape(*shape, -1).transpose(1, 0, 2)  # of each row
    residuals = problem.residuals(solution.point[None, :])[0].reshape(shape)
    shrunk = np.eye(shape[0]) - own @ own.transpose(0, 2, 1)
    known = np.linalg.svd(shrunk, compute_uv=False)[:, -1] >= FLAT_TOLERANCE
    result = np.full(shape, math.nan)
    if method == "hat":
        result[:, known] = np.linalg.solve(shrunk[known], residuals.T[known][..., None])[..., 0].T
        return result
    for row in np.flatnonzero(known):
        others, _ = _refine(problem.without_row(int(row)), solution.point, own_units=True)
        result[:, row] = problem.residuals(others[None, :])[0].reshape(shape)[:, row]
    return result
