"""Least squares: from many beginnings to the best values, their errors, and each row left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.fitting.beginnings import beginnings
from dse.fitting.columns import Floats
from dse.fitting.problem import Problem

#: How many of the rough searches are made precise, and the most rows on which these are made.
REFINED, COMPARED = 2, 2048
#: A step of a numerical derivative, as a share of the value: the cube root of the precision.
STEP = float(np.finfo(float).eps) ** (1 / 3)
#: What a value near 0 is measured by, as a share of what changes the residuals by their own size.
TINY = 1e-3
#: Directions whose singular value is below this share of the largest change no prediction.
FLAT = 1e-7
#: A value is tried at the end of its domain where it is as near as this share of its unit and that
#: costs, by the derivatives, at most this share of the squares. The end is taken where it costs no
#: more than a share, and either the squares press on it (this cosine between slope and residuals)
#: or the value stood there but for this share of its size.
NEAR_END, TRY_END, TAKE_END, PRESSED, THERE = 0.03, 1e-4, 1e-10, 1e-6, 1e-6
#: Squares below this share of what was measured are rounding, and such changes of the residuals.
EXACT, ROUNDING = 1e-20, 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best point, its sum of squares, and which of its values stand at an end."""

    point: Floats
    cost: float
    at_end: NDArray[np.bool_]


def search(problem: Problem) -> Found | None:
    """The point of least squares; None where no beginning gives numbers.

    Beginnings are a Halton sequence over the region near typical values, the given starts, and
    both mixed; what predictions are linear in is solved for at each. The best in each part of the
    range of each quantity are followed to their minimum by SciPy's trust region, so that one valley
    does not draw them all; values that come near an end of their domain are tried there.
    """
    few = problem.thinned(COMPARED)
    found = sorted((_polish(few, point, rough=True) for point in beginnings(few)), key=_cost)
    if not found:
        return None
    best = min((_polish(problem, point) for point, _ in found[:REFINED]), key=_cost)
    if not math.isfinite(best[1]):
        return None
    best = min(best, _polish(problem, best[0], own_units=True), key=_cost)
    return _at_ends(problem, *best)


def _cost(found: tuple[Floats, float]) -> float:
    return found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The coordinates of a search: logarithms, or shares of a unit."""

    logs: NDArray[np.bool_]
    units: Floats
    low: Floats
    high: Floats

    def value(self, place: Floats) -> Floats:
        """The point that stands at a place, never beyond its bounds."""
        with np.errstate(over="ignore"):
            value = np.where(self.logs, np.exp(np.where(self.logs, place, 0.0)), place * self.units)
        clipped: Floats = np.clip(value, self.low, self.high)
        return clipped

    def place(self, value: Floats) -> Floats:
        """The way back."""
        with np.errstate(all="ignore"):
            logs = np.log(np.where(self.logs, value, 1.0))
            place: Floats = np.where(self.logs, logs, value / self.units)
        return place


def _polish(
    problem: Problem,
    point: Floats,
    *,
    moving: NDArray[np.bool_] | None = None,
    own_units: bool = False,
    rough: bool = False,
) -> tuple[Floats, float]:
    """The minimum that a search from a point reaches, and its sum of squares.

    ``moving`` says which values move, all by default. ``own_units`` measures plain coordinates in
    sizes that suit the point, for the last digits; ``rough`` asks for few digits.
    """
    from scipy.optimize import least_squares

    moves = np.ones(len(point), dtype=bool) if moving is None else moving
    cost = float(problem.costs(point[None, :])[0])
    if not moves.any() or not math.isfinite(cost):
        return point, cost
    free = [c for c, moved in zip(problem.free, moves, strict=True) if moved]
    logs = np.array([c.log for c in free])
    units = np.array([1.0 if c.log else c.unit for c in free])
    if own_units:
        units = np.where(logs, units, units_at(problem, point)[moves])
    frame = _Frame(
        logs=logs,
        units=units,
        low=np.array([c.low for c in free]),
        high=np.array([c.high for c in free]),
    )
    size = problem.size

    def whole(place: Floats) -> Floats:
        found = point.copy()
        found[moves] = frame.value(place)
        return found

    def residuals(place: Floats) -> Floats:
        found: Floats = problem.residuals(whole(place)[None, :])[0] / size
        return found

    def slopes(place: Floats) -> Floats:
        value = np.abs(frame.value(place))
        steps = np.zeros(len(point))
        steps[moves] = STEP * np.where(logs, value, np.maximum(value, units))
        factor = np.where(logs, value, units)
        return problem.slopes(whole(place), steps)[:, moves] * factor / size

    low, high = frame.place(frame.low), frame.place(frame.high)
    begin = np.clip(frame.place(point[moves]), np.nextafter(low, high), np.nextafter(high, low))
    if not np.isfinite(residuals(begin)).all():
        return point, cost
    with np.errstate(all="ignore"):
        done = least_squares(
            residuals,
            begin,
            jac=slopes,
            bounds=(low, high),
            x_scale="jac",
            ftol=1e-6 if rough else 1e-15,
            xtol=1e-6 if rough else 1e-13,
            gtol=None,
            max_nfev=30 if rough else 200,
        )
    end = whole(done.x)
    reached = float(problem.costs(end[None, :])[0])
    return (end, reached) if reached <= cost else (point, cost)


def _at_ends(problem: Problem, point: Floats, cost: float) -> Found:
    """The same with values moved to ends of their domain where that costs nothing."""
    held = np.zeros(len(point), dtype=bool)
    costs = _costs_of_ends(problem, point)
    for place, coordinate in enumerate(problem.free):
        for end in coordinate.ends:
            away = abs(point[place] - end)
            dear = away**2 * costs[place] > TRY_END * cost and cost > EXACT * problem.size**2
            if dear or away > NEAR_END * max(coordinate.unit, abs(end)):
                continue
            moved, at = point.copy(), held.copy()
            moved[place], at[place] = end, True
            moved, price = _polish(problem, moved, moving=~at)
            if price > cost * (1 + TAKE_END):
                continue
            there = away <= THERE * units_at(problem, moved)[place] / TINY
            if there or _presses(problem, moved, place):
                point, held, cost = moved, at, min(price, cost)
                break
    return Found(point=point, cost=float(problem.costs(point[None, :])[0]), at_end=held)


def _presses(problem: Problem, point: Floats, place: int) -> bool:
    """Whether the squares grow as a value leaves the end of its domain at which it stands."""
    steps, none = STEP * units_at(problem, point), np.zeros(len(point))
    inward = point[place] <= problem.free[place].low
    slope = problem.slopes(point, *((steps, none) if inward else (none, steps)))[:, place]
    residuals = problem.residuals(point[None, :])[0]
    lengths = float(np.linalg.norm(slope) * np.linalg.norm(residuals))
    growth = float(slope @ residuals) * (1 if inward else -1)
    return growth > PRESSED * lengths


def _costs_of_ends(problem: Problem, point: Floats) -> Floats:
    """What a unit step of each value costs, all others free to follow, were all linear.

    1 / (JᵀJ)⁻¹ᵢᵢ; 0 for what the rows do not determine.
    """
    slopes = derivatives(problem, point)
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    _, sizes, directions = np.linalg.svd(slopes / lengths, full_matrices=False)
    sizes = np.maximum(sizes, FLAT * sizes[0] or 1.0)
    spread = np.square(directions.T / sizes).sum(axis=1)
    return np.square(lengths) / np.where(spread > 0, spread, 1.0)


def derivatives(problem: Problem, point: Floats) -> Floats:
    """Derivatives of the scaled residuals at a point, in steps that suit each quantity."""
    return problem.slopes(point, STEP * units_at(problem, point))


def units_at(problem: Problem, point: Floats) -> Floats:
    """The sizes of values; of one near 0, a share of what changes residuals as much as they are."""
    units = np.array([c.unit for c in problem.free])
    units = np.where([c.log for c in problem.free], np.abs(point), units)
    change = units * np.sqrt(np.square(problem.slopes(point, STEP * units)).sum(axis=0))
    felt = change > ROUNDING * problem.size
    natural = units * problem.size / np.where(felt, change, problem.size)
    return np.asarray(np.maximum(np.abs(point), TINY * natural))


def left_out(problem: Problem, found: Found, how: str) -> Floats:
    """Scaled residuals of each row, predicted by a fit to all others; shape as measured.

    ``how`` is ``"refit"``, a search from the best point for each row, or ``"hat"``: with the
    derivatives J of all residuals and those of a row J_i, its residuals r_i become
    (I - J_i (JᵀJ)⁻¹ J_iᵀ)⁻¹ r_i, which is the same where predictions are linear. NaN for a row
    without which the others do not determine what is free.
    """
    shape = problem.measured.shape
    slopes = derivatives(problem, found.point)[:, ~found.at_end]
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    basis = np.linalg.qr(slopes / np.where(lengths > 0, lengths, 1.0))[0]
    own = basis.reshape(*shape, -1).transpose(1, 0, 2)  # of each row
    residuals = problem.residuals(found.point[None, :])[0].reshape(shape)
    shrunk = np.eye(shape[0]) - own @ own.transpose(0, 2, 1)
    known = np.linalg.svd(shrunk, compute_uv=False)[:, -1] >= FLAT
    result = np.full(shape, math.nan)
    if how == "hat":
        result[:, known] = np.linalg.solve(shrunk[known], residuals.T[known][..., None])[..., 0].T
        return result
    for row in np.flatnonzero(known):
        others, _ = _polish(problem.without(int(row)), found.point, own_units=True)
        result[:, row] = problem.residuals(others[None, :])[0].reshape(shape)[:, row]
    return result
