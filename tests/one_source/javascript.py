"""Compare every shipped model in a browser with NumPy.

Each model as a whole, under random labels of its switches, at random points of its inputs:

    python -m tests.one_source.javascript 100000
"""

from __future__ import annotations

import itertools
import math
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symbolic.graph import Graph
from symbolic.intervals import Interval, enclose
from symbolic.javascript import Program, program
from symbolic.library import iterate_models
from symbolic.model import Model
from symbolic.ops import Node, interpret_arrays, references, walk
from symbolic.primitives import PRIMITIVES
from tests.browser import Browser, browser
from tests.one_source.enclosing import some

Floats = NDArray[np.float64]

#: How far two worlds may differ: in plain arithmetic not at all.
PLAIN, LIBRARY = 0.0, 1e-10


#: What calls a library.
CALLS = {name for name, row in PRIMITIVES.items() if row.calls_library}


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A model under all labels of its switches."""

    model: Model
    graphs: dict[tuple[str, ...], Graph]
    program: Program


def subjects(*only: str) -> list[Subject]:
    """Every shipped model, or those named, with all that it computes as numbers."""
    result = []
    for model in iterate_models():
        if only and model.name not in only:
            continue
        names = list(dict.fromkeys(switch for eq in model.equations for switch in eq.when))
        labels = [model.quantities[name].labels or () for name in names]
        graphs = {
            key: model.graph(**dict(zip(names, key, strict=True)))
            for key in itertools.product(*labels)
        }
        if model.name == "spmv":  # by a law, mean and nonzeros need each other in the other order
            place = names.index("row_lengths")
            graphs = {key: graph for key, graph in graphs.items() if key[place] == "quantiles"}
        outputs = {
            name: None
            for graph in graphs.values()
            for name, definition in graph.definitions.items()
            if not definition.is_leaf
            and not any(model.quantities[n].is_label for n in references(graph.flat(name)))
        }
        if outputs:
            made = program(graphs, list(outputs))
            result.append(Subject(model=model, graphs=graphs, program=made))
    return result


def points(subject: Subject, count: int, seed: int) -> dict[str, Floats]:
    """Random values of every input: mostly typical, some at an end of the domain or far out."""
    rows = subject.model.quantities
    columns = {}
    for name in subject.program.inputs:
        rng = np.random.default_rng(zlib.crc32(f"{subject.model.name} {name} {seed}".encode()))
        columns[name] = some(rows[name], rng, count)
    return columns


def distance(root: Node, known: Mapping[str, Floats], got: Floats, wanted: Floats) -> Floats:
    """Return the relative difference of two backends, 0 where libraries may differ so far."""
    with np.errstate(all="ignore"):
        off = np.abs(got - wanted) / np.maximum(np.abs(wanted), np.finfo(float).tiny)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    off = np.where(same, 0.0, np.where(np.isnan(off), math.inf, off))
    if calls(root) and (off > LIBRARY).any():
        # each call is within a few ulp, and what is computed of it as far as that carries
        boxes = {need: Interval(known[need], known[need]) for need in references(root)}
        (reach,) = enclose([root], boxes)
        off = np.where((reach.lo <= got) & (got <= reach.hi), 0.0, off)
    return off


def calls(root: Node) -> bool:
    """True if a function of a library is called."""
    return any(
        step.op in PRIMITIVES and PRIMITIVES[step.op].calls_library for step in walk((root,))
    )


def check(subject: Subject, page: Browser, count: int, seed: int = 0) -> tuple[int, float]:
    """Compare; how many values, and how far the worst is off.

    Raises ``AssertionError`` where a value differs.
    """
    made, values = subject.program, points(subject, count, seed)
    order = list(values)
    keys = np.random.default_rng(seed).integers(0, len(made.keys), count)
    compared, worst = 0, 0.0
    for number, key in enumerate(made.keys):
        here = keys == number
        if not here.any():
            continue
        graph = subject.graphs[key]
        known = {name: column[here] for name, column in values.items()}
        choice = str([which[number] for which in made.choices.values()])
        columns = [known[name] for name in order] or [np.zeros(int(here.sum()))]
        result = page.compute(made.source, columns, len(made.outputs), choice)
        computed = [name for name in made.outputs if name in graph.definitions]
        roots = [graph.flat(name) for name in computed]
        for name, root, expected in zip(
            computed, roots, interpret_arrays(roots, known), strict=True
        ):
            got = result[:, made.outputs.index(name)]
            wanted = np.broadcast_to(np.asarray(expected, dtype=float), got.shape)
            off = distance(root, known, got, wanted)
            wrong = off > (LIBRARY if calls(root) else PLAIN)
            compared += got.size
            if wrong.any():
                place = int(np.argmax(wrong))
                at = {n: float(column[place]) for n, column in known.items()}
                raise AssertionError(
                    f"{name} of {subject.model.name} under {key}: {got[place]!r} in JavaScript, "
                    f"{wanted[place]!r} in NumPy, at {at}"
                )
            worst = max(worst, float(off.max()))
    return compared, worst


def main(arguments: Sequence[str]) -> None:
    """Compare the given number of points for each model."""
    count = int(arguments[0]) if arguments else 1_000
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    began, total, furthest = time.monotonic(), 0, 0.0
    with browser() as page:
        for subject in subjects():
            compared, worst = check(subject, page, count, seed)
            total, furthest = total + compared, max(furthest, worst)
            print(f"{subject.model.name:20} {compared:>12,} values, worst {worst:.2e}")
    print(f"{total:,} values, the worst {furthest:.2e} apart ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main(sys.argv[1:])
