"""One configuration with its inputs free to move: what :mod:`dse.advice` looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.advice.words import Suggestion
from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.model import Guide
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

__all__ = ["Site", "extreme"]

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


def extreme(values: Mapping[str, float], largest: bool) -> tuple[str, ...]:
    """The names of the smallest values, or of the largest: several at a tie."""
    sign = -1.0 if largest else 1.0
    least = min(sign * value for value in values.values())
    return tuple(n for n, value in values.items() if sign * value <= least + TIE * abs(least))
