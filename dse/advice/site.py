"""One configuration with its inputs free to move: what :mod:`dse.advice` looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.advice.words import Suggestion
from dse.inputs import read_parts
from dse.study.data import StudyData
from sweeps.build import build_grid
from sweeps.check import check
from sweeps.grid import FEASIBLE, Grid, Leaf
from symbolic.advice import extreme_terms, guides
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.library import load_model
from symbolic.model import Guide, Model
from symbolic.ops import (
    Node,
    both,
    constant,
    either,
    equal,
    interpret_arrays,
    maximum,
    minimum,
    negate,
)
from symbolic.quantities import Quantity

__all__ = ["Site", "extreme", "open_site"]

Floats = NDArray[np.float64]

#: Terms closer than this are a tie.
TIE = 1e-12
#: Terms that move together differ by no more than this.
ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A grid of one point, and the guide to it.

    ``terms`` are the quantities whose smallest (largest, if ``largest``) is the guide's ``limits``,
    with their labels; ``binding`` those that bind here; ``told`` says whether they alone tell the
    state, and ``stated`` whether an equation tells it at all.
    """

    grid: Grid
    guide: Guide
    flag: int
    terms: Mapping[str, str]
    binding: tuple[str, ...]
    told: bool
    stated: bool
    largest: bool = False

    # --- values
    def at(self, names: Sequence[str], moved: Mapping[str, Floats] | None = None) -> list[Floats]:
        """Quantities, or ``feasible``, with some inputs moved to each of several values."""
        graph = self.grid.graph
        roots = [self.grid.feasible_node(()) if n == FEASIBLE else graph.flat(n) for n in names]
        values: dict[str, Any] = {**self.leaves(), **(moved or {})}
        size = max((len(array) for array in (moved or {}).values()), default=1)
        found = interpret_arrays(roots, values)
        return [np.broadcast_to(value, (size,)) for value in found]

    def holds(self, condition: Node, moved: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """A condition over the leaves, with some inputs moved to each of several values."""
        values: dict[str, Any] = {**self.leaves(), **moved}
        found = interpret_arrays([condition], values)[0]
        return np.broadcast_to(found, next(iter(moved.values())).shape)

    def leaves(self) -> dict[str, NDArray[Any]]:
        """The inputs as they stand."""
        return {name: leaf.array.reshape(1) for name, leaf in self.grid.leaves[()].items()}

    def allowed(self) -> Node:
        """Whether a place can be had, over the leaves."""
        goal = self.grid.graph.flat(self.guide.goal)
        return constant(both(self.grid.feasible_node(()), goal > -math.inf, goal < math.inf))

    def changed(self, told: bool) -> Node:
        """Whether another term binds than here, or the state differs; terms may tell it alone."""
        graph = self.grid.graph
        found: list[Any] = []
        if self.stated and not told:
            found = [negate(equal(graph.flat(self.guide.state), float(self.flag)))]
        rest = [graph.flat(name) for name in self.terms if name not in self.binding]
        if rest:
            held = [graph.flat(name) for name in self.binding]
            if self.largest:
                found.append(maximum(*rest) > maximum(*held) * (1 + ROUNDING))
            else:
                found.append(minimum(*rest) < minimum(*held) * (1 - ROUNDING))
        return constant(either(*found) if found else False)

    def value(self, name: str) -> float:
        """A quantity here."""
        return float(self.at([name])[0][0])

    def label(self, flag: float) -> str:
        """What a value of the state means."""
        if not self.stated:
            return tuple(self.terms.values())[int(flag)]
        return self.grid.flags(self.guide.state)[int(flag)]

    def limiters(self) -> tuple[str, ...]:
        """The smallest, or largest, terms, by label."""
        return extreme(self.term_values(), self.largest)

    def term_values(self) -> dict[str, float]:
        """What competes to be the smallest, or largest, by label; of one label the first to be."""
        values: dict[str, float] = {}
        first = max if self.largest else min
        for name, label in self.terms.items():
            value = self.value(name)
            values[label] = first(value, values.get(label, value))
        return values

    def shown(self) -> dict[str, float]:
        """The goal and what tells the state."""
        return {name: self.value(name) for name in (self.guide.goal, *self.guide.show)}

    def suggestions(self) -> Iterator[Suggestion]:
        """What inputs should be by equations that the model yields."""
        definitions = self.grid.graph.definitions
        for name, of in self.guide.suggests.items():
            equation = definitions[name].equation if name in definitions else None
            if equation is None or of not in definitions:
                continue
            row, value, gain = self.row(name), self.value(name), None
            if math.isnan(value):
                continue
            if row.unit == self.row(of).unit and self._free(of):
                gain = self.gain({of: np.array([value])})
            yield Suggestion(
                quantity=name,
                meaning=row.meaning,
                unit=row.unit,
                value=value,
                of=of,
                of_unit=self.row(of).unit,
                now=self.value(of),
                gain=gain,
                source=equation.source,
            )

    def gain(self, moved: Mapping[str, Floats]) -> float:
        """The factor by which the goal improves at a place."""
        here, there = self.value(self.guide.goal), float(self.at([self.guide.goal], moved)[0][0])
        better, worse = (there, here) if self.guide.maximize else (here, there)
        return 1.0 if better == worse else better / worse if worse else math.inf

    def notes(self) -> tuple[str, ...]:
        """What is to be said under the switches."""
        switches = [f"{name}={label}" for name, label in self.grid.graph.switches.items()]
        return tuple(f"{s}: {self.guide.notes[s]}" for s in switches if s in self.guide.notes)

    # --- what may move
    def candidates(self) -> Iterator[tuple[str, ...]]:
        """The inputs to move, those together that the guide moves together."""
        graph, seen = self.grid.graph, set()
        moving = graph.ancestors([self.guide.goal])
        for names in self.guide.moves(self.label(self.flag)):
            if any(name not in moving for name in names):
                continue
            if len(names) > 1:
                if all(self._free(name) for name in names):
                    yield names
                continue
            behind = names if self._free(names[0]) else sorted(graph.ancestors(names))
            for name in behind:
                if name not in seen and self._free(name):
                    seen.add(name)
                    yield (name,)

    def _free(self, name: str) -> bool:
        """Whether a quantity is a number that can be moved."""
        graph = self.grid.graph
        if graph.definitions[name].kind not in ("given", "default") or name in self.guide.fixed:
            return False
        row = self.row(name)
        tables = [d.name for d in graph.definitions.values() if d.kind == "table"]
        return not row.is_label and row.domain.low >= 0 and name not in graph.ancestors(tables)

    def row(self, name: str) -> Quantity:
        """The row of a quantity."""
        return self.grid.model.quantity(name)


def open_site(
    what: str | Model | StudyData,
    entries: Mapping[str, str | None],
    prefer: str | None,
    point: Mapping[str, Any],
) -> Site:
    """Read a configuration; see :func:`dse.advise`."""
    wanted: Sequence[str] = ()
    where, folder = wanted, None
    given = dict(point)
    if isinstance(what, StudyData):
        if prefer is not None:
            raise DseError("prefer is part of a study: give it to dse.Study")
        named = {kind: name for kind, name in entries.items() if name is not None}
        entries, given = _of_study(what, {**point, **named})
        model, where, folder = what.space().model, tuple(what.where), what.folder
        wanted = what.outputs or ()
    else:
        model = load_model(what, prefer=prefer)
    guide = _guide(model, wanted)
    parts = read_parts(model, (), entries=entries, given=given, folder=folder)

    def build(values: Mapping[str, Any], outputs: Sequence[str]) -> Grid:
        return build_grid(
            model,
            values=values,
            labels=parts.named,
            switches=parts.switches,
            outputs=outputs,
            constraints=where,
        )

    outputs = list(dict.fromkeys([guide.goal, guide.state, guide.limits, *guide.show]))
    for name in guide.suggests:
        with suppress(DseError):  # what only a suggestion needs may be missing
            build(parts.values, [name])
            outputs.append(name)
    grid = build(parts.values, outputs)
    check(grid)
    pinned = {}  # inputs that stand at the value of another one, unless given
    labels = [""] if isinstance(guide.helps, str) else list(guide.helps)
    for name in dict.fromkeys(n for label in labels for move in guide.moves(label) for n in move):
        definition = grid.graph.definitions.get(name)
        if definition is not None and definition.kind == "formula" and name not in parts.values:
            pinned[name] = float(grid.at({}, [name])[name])
    grid = build({**parts.values, **pinned}, outputs) if pinned else grid
    return _site(grid, guide)


def _site(grid: Grid, guide: Guide) -> Site:
    definition, stated = grid.graph.definitions[guide.state], guide.state != guide.limits
    flags = grid.flags(guide.state)
    if definition.equation is None or (stated and not flags):
        raise DseError(f"{guide.state} is given: leave it to its equation to be advised")
    known = {
        quantity: label
        for family in grid.model.regime_families
        if family.of == guide.limits
        for label, quantity in family.terms.items()
    }
    largest = grid.graph.definitions[guide.limits].node.op == "maximum"
    names = extreme_terms(grid.graph, guide.limits, "maximum" if largest else "minimum")
    terms = {name: known.get(name, name) for name in names}
    values = {name: float(value) for name, value in grid.at({}, names).items()}
    binding = extreme(values, largest)
    if stated:
        flag = int(float(grid.at({}, [guide.state])[guide.state]))
        bound = guide.tied.get(flags[flag], (flags[flag],))
        binding = tuple(n for n in names if terms[n] in bound) or binding
    else:
        flag = names.index(binding[0])
    return Site(
        grid=grid,
        guide=guide,
        flag=flag,
        terms=terms,
        binding=binding,
        told=not stated or set(terms.values()) <= set(flags.values()),
        stated=stated,
        largest=largest,
    )


def extreme(values: Mapping[str, float], largest: bool) -> tuple[str, ...]:
    """The names of the smallest values, or of the largest: several at a tie."""
    sign = -1.0 if largest else 1.0
    least = min(sign * value for value in values.values())
    return tuple(n for n, value in values.items() if sign * value <= least + TIE * abs(least))


def _guide(model: Model, wanted: Sequence[str]) -> Guide:
    found = guides(model)
    if not found:
        raise DseError(
            f"there is no advice on the model {model.name}: a model is advised on where one of its "
            "outputs is the minimum(...) or maximum(...) of others, each with a name, or where a "
            "dse.Guide named ADVICE stands beside its equations, as in transit and mwp_cwp"
        )
    return next((guide for guide in found if guide.state in wanted), found[0])


def _of_study(
    study: StudyData, point: Mapping[str, Any]
) -> tuple[dict[str, str | None], dict[str, Any]]:
    """A configuration of a study as the entries and values of one point."""
    grid, parts = study.grid(), study._parts
    for name in point:
        if name not in grid.axes:
            raise UnknownNameError(
                f"{name!r} is no axis of the study{nearest(name, grid.axes)}; its axes are: "
                f"{', '.join(grid.axes) or 'none'}"
            )
    quantities = parts.model.quantities
    places = {
        name: axis.position(point[name], quantities) if name in point else 0
        for name, axis in grid.axes.items()
    }
    entries = {"machine": study.machine, "workload": study.workload}
    given: dict[str, Any] = dict(study.set)
    for name, value in given.items():
        leaf = parts.values.get(name)
        if hasattr(value, "dims") and isinstance(leaf, Leaf):
            given[name] = float(leaf.array[tuple(places[axis] for axis in leaf.axes)])
    for name, axis in grid.axes.items():
        place = places[name]
        if name in entries:
            entries[name] = axis.labels[place]
        elif axis.kind == "zip":
            given |= {column: float(array[place]) for column, array in axis.columns.items()}
        else:
            given[name] = axis.labels[place] if axis.labels else float(axis.values[place])
    return entries, given
