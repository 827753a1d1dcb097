"""Table equations: evaluated before the grid, once for each distinct combination of inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.grid import Leaf
from sweeps.laws import read_label
from symbolic.equation import Equation
from symbolic.errors import DseError
from symbolic.graph import Graph
from symbolic.ops import interpret_all, references

__all__ = ["run_tables"]

#: Seconds after which what is left is shared among threads, and pieces for each of these.
_PATIENCE, _PIECES = 0.1, 8

Inputs = tuple[Any, ...]


def run_tables(
    graph: Graph, equations: Sequence[Equation], leaves: Mapping[str, Leaf], order: tuple[str, ...]
) -> dict[str, Leaf]:
    """Table equations over the same inputs; ``leaves`` holds what these are made of.

    All of them are asked at one input before the next, so that they can share what they compute.
    """
    needs = equations[0].inputs
    roots = [graph.flat(need) for need in needs]
    names = references(*roots)
    used = {axis for n in names for axis in leaves[n].axes}
    switched = {axis for n in names for axis in leaves[n].switched}
    axes = tuple(axis for axis in order if axis in used)
    values = {n: np.atleast_1d(leaves[n].over(axes)) for n in names}
    with np.errstate(all="ignore"):
        columns = np.broadcast_arrays(*map(np.asarray, interpret_all(roots, values)))
    shape = columns[0].shape if columns and axes else ()
    known: dict[Inputs, int] = {}
    rows = zip(*(c.reshape(-1).tolist() for c in columns), strict=True) if columns else [()]
    places = [known.setdefault(row, len(known)) for row in rows]
    results = _each(equations, list(known))
    own = tuple(axis for axis in order if axis in switched)
    found = {}
    for number, eq in enumerate(equations):
        kind = object if graph.model.quantity(eq.name).is_label else np.float64
        column = np.array([result[number] for result in results], dtype=kind)
        found[eq.name] = Leaf(axes=axes, array=column[places].reshape(shape), switched=own)
    return found


def _each(equations: Sequence[Equation], inputs: Sequence[Inputs]) -> list[list[Any]]:
    """The equations at each of the inputs; by threads where that takes long."""
    began = time.monotonic()
    found: list[list[Any]] = []
    while len(found) < len(inputs) and time.monotonic() - began < _PATIENCE:
        found.append(_at(equations, inputs[len(found)]))
    rest = inputs[len(found) :]
    if not rest:
        return found
    from sweeps.run import in_threads, workers

    size = math.ceil(len(rest) / (_PIECES * workers()))
    pieces = [rest[first : first + size] for first in range(0, len(rest), size)]
    done = in_threads(lambda piece: [_at(equations, row) for row in pieces[piece]], len(pieces))
    return found + [result for piece in done for result in piece]


def _at(equations: Sequence[Equation], row: Inputs) -> list[Any]:
    return [_value(eq, row) for eq in equations]


def _value(eq: Equation, row: Inputs) -> Any:
    try:
        value = eq(*row)
        return read_label(eq.name, value) if isinstance(value, str) else float(value)
    except DseError:
        raise
    except ValueError as error:
        told = ", ".join(f"{name} = {value}" for name, value in zip(eq.inputs, row, strict=True))
        raise DseError(f"{eq.name} at {told}: {error}") from error
