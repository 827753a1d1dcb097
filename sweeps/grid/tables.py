"""Table equations: evaluated before the grid, once for each distinct combination of inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from sweeps.grid.failing import reason_of
from sweeps.grid.laws import read_label
from sweeps.grid.leaf import Leaf
from sweeps.runtime.stopping import halt
from sweeps.runtime.threads import in_threads, workers
from symbolic.equation import Equation
from symbolic.errors import DseError
from symbolic.graph import Graph
from symbolic.ops import interpret_arrays, references

__all__ = ["run_tables"]

#: Seconds after which what is left is shared among threads, and pieces for each of these.
_PATIENCE, _PIECES = 0.1, sizes.TABLE_PIECES

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
    columns = np.broadcast_arrays(*map(np.asarray, interpret_arrays(roots, values)))
    shape = columns[0].shape if columns and axes else ()
    known: dict[Inputs, int] = {}
    rows = zip(*(c.reshape(-1).tolist() for c in columns), strict=True) if columns else [()]
    places = [known.setdefault(row, len(known)) for row in rows]
    upstream = {leaves[n].failed[k] for n in names for k in leaves[n].failed}
    asked = [row for row in known if not (upstream and any(x is None or x != x for x in row))]
    results = dict(zip(asked, _each(equations, asked), strict=True))
    missing = _Failed(next(iter(sorted(upstream)), ""))
    listed = [results.get(row) or [missing] * len(equations) for row in known]
    own = tuple(axis for axis in order if axis in switched)
    found = {}
    for number, eq in enumerate(equations):
        kind = object if graph.model.quantity(eq.name).is_label else np.float64
        told = [result[number] for result in listed]
        blank = None if kind is object else math.nan
        column = np.array([blank if isinstance(v, _Failed) else v for v in told], dtype=kind)
        failed = {
            place: f"{eq.name}: {why}" if why not in upstream else why
            for place, row in enumerate(places)
            if isinstance(why := told[row], _Failed)
        }
        if len(failed) == len(places):
            _refuse(equations, asked, results)
        array = column[places].reshape(shape)
        found[eq.name] = Leaf(axes=axes, array=array, switched=own, failed=failed)
    return found


class _Failed(str):
    """Why there is no value."""


def _refuse(
    equations: Sequence[Equation], rows: Sequence[Inputs], results: Mapping[Inputs, list[Any]]
) -> None:
    """Raise where an equation has failed at every input."""
    for number, eq in enumerate(equations):
        if rows and all(isinstance(results[row][number], _Failed) for row in rows):
            why = results[rows[0]][number]
            raise DseError(f"{eq.name} {_at_inputs(eq, rows[0])}: {why}")


def _each(equations: Sequence[Equation], inputs: Sequence[Inputs]) -> list[list[Any]]:
    """The equations at each of the inputs; by threads where that takes long."""
    began = time.monotonic()
    found: list[list[Any]] = []
    while len(found) < len(inputs) and time.monotonic() - began < _PATIENCE:
        found.append(_at(equations, inputs[len(found)]))
    rest = inputs[len(found) :]
    if not rest:
        return found
    size = math.ceil(len(rest) / (_PIECES * workers()))
    pieces = [rest[first : first + size] for first in range(0, len(rest), size)]
    done = in_threads(lambda piece: [_at(equations, row) for row in pieces[piece]], len(pieces))
    return found + [result for piece in done for result in piece]


def _at(equations: Sequence[Equation], row: Inputs) -> list[Any]:
    halt()
    return [_value(eq, row) for eq in equations]


def _value(eq: Equation, row: Inputs) -> Any:
    try:
        value = eq(*row)
        return read_label(eq.name, value) if isinstance(value, str) else float(value)
    except DseError:
        raise
    except LawError as error:
        raise DseError(f"{eq.name} {_at_inputs(eq, row)}: {error}") from error
    except Exception as error:
        return _Failed(reason_of(error))


def _at_inputs(eq: Equation, row: Inputs) -> str:
    told = ", ".join(f"{name} = {value}" for name, value in zip(eq.inputs, row, strict=True))
    return f"at {told}" if told else "without inputs"
