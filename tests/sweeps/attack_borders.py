"""Borders between the values of axes, against dense brute force."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
from symbolic.errors import DseError
from tests.sweeps.attack_checks import Truth, holds, same

Floats = NDArray[np.float64]
#: Borders nearer to each other than this share are one; so far may one lie from its short number.
NEAR = 3e-11


def _case(truth: Truth, query: dict[str, Any]) -> Floats:
    """1 where the condition asked of holds, 0 where it does not, -1 where another is broken."""
    return np.where(truth.feasible_mask(query), truth.evaluate(query["quantity"]), -1.0)


class _Way:
    """The case of every configuration of a study with one quantity at another value."""

    def __init__(self, truth: Truth, query: dict[str, Any], name: str) -> None:
        self.truth, self.query, self.name = truth, query, name

    def evaluate(self, values: Floats) -> Floats:
        moved = Truth(self.truth.one, {self.name: lambda _: values})
        return _case(moved, self.query)


def check_borders(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    """Raise Wrong where a border, or the case beyond it, differs from brute force."""
    _check_neighbours(dse.borders(study, query["quantity"], where=query["where"]), query, truth)
    if "k" in study.grid().graph.definitions:  # no axis: over its domain
        with contextlib.suppress(DseError):  # nothing asked depends on it
            result = dse.borders(study, query["quantity"], where=query["where"], along="k")
            _check_neighbours(result, query, truth)


def _check_neighbours(answer: Any, query: dict[str, Any], truth: Truth) -> None:
    here = _case(truth, query)

    def spread(array: Any) -> Any:
        dims = [axis for axis in truth.axes if axis in array.dims]
        sizes = [n if a in dims else 1 for a, n in zip(truth.axes, truth.sizes, strict=True)]
        values = array.transpose(*dims).values.reshape(sizes)
        return np.broadcast_to(values, truth.sizes).reshape(-1)

    same(spread(answer.condition), here, "the case at each configuration")
    tabled = {name for dims, _ in truth.one.tables.values() for name in dims}
    for along in answer.along.values.tolist():
        if along in tabled:
            continue  # only the values of the axis count
        way = _Way(truth, query, along)
        for side, sign in (("below", -1.0), ("above", 1.0)):
            row = answer.sel(along=along, side=side)
            border, beyond = spread(row.border), spread(row.beyond)
            what = f"along {along}, {side}"
            same(np.isnan(border), beyond == -2, f"{what}: no border, nothing beyond")
            if not answer.attrs["undecided"]:  # as where rounding alone decides
                _check_beyond(way, sign, border, beyond, what)
                _same_until(way, sign, here, border, what)


def _check_beyond(way: _Way, sign: float, border: Floats, beyond: Floats, what: str) -> None:
    """The case that is told stands there."""
    seen = np.isnan(border)
    values = np.unique(way.truth.known[way.name])
    place = np.searchsorted(values, border)
    ends = [values[np.clip(place - k, 0, values.size - 1)] for k in (0, 1)]
    steps = [np.maximum(share * np.abs(border), 5e-324) for share in (1e-16, 1e-12, NEAR / 3, NEAR)]
    for x in (border, *(border + sign * step for step in steps), *ends):
        near = np.abs(x - border) <= np.maximum(NEAR * np.abs(border), 5e-324)
        seen |= near & (way.evaluate(x) == beyond)
    wrong = np.flatnonzero(~seen)[:3]
    holds(seen.all(), f"{what}: not {beyond[wrong]} beyond {border[wrong]}")


def _same_until(way: _Way, sign: float, here: Floats, border: Floats, what: str) -> None:
    """Up to the next border nothing changes, but for what is no wider than an equality."""
    start = way.truth.known[way.name]
    values = np.unique(start)
    if way.name == "k":
        far = (abs(values[0]) or 1.0) * 2.0**64
        values = np.array([-far, far])
    limit = np.where(np.isnan(border), values[-1] if sign > 0 else values[0], border)
    rng = np.random.default_rng(start.size)
    first = way.evaluate(start + sign * NEAR * np.abs(start))
    alone = (first != here) & (way.evaluate(start - sign * NEAR * np.abs(start)) != here)
    expected = np.where(alone, first, here)
    for number in range(12):
        if number % 3:
            x = start + rng.random(start.size) ** rng.choice([1, 8, 40]) * (limit - start)
        else:
            x = rng.choice(values, start.size)
        room = NEAR * np.maximum(np.abs(start), np.abs(limit))
        inside = ((x - start) * sign > room) & ((limit - x) * sign > room)
        wrong = inside & (way.evaluate(x) != expected)
        if wrong.any():  # but for a value alone
            sides = [way.evaluate(x + step * np.abs(x)) == expected for step in (-NEAR, NEAR)]
            wrong &= ~(sides[0] & sides[1])
        bad = np.flatnonzero(wrong)[:3]
        holds(
            not wrong.any(),
            f"{what}: from {start[bad]} to {border[bad]} not {expected[bad]} at {x[bad]}",
        )
