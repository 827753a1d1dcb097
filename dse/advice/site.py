"""One configuration whose inputs can be moved, as :mod:`dse.advice` explores it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.advice.report import Suggestion
from sweeps.bounds.checks import outside_domain
from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.advice import LAUNCH, has_cases
from symbolic.expression import parse_condition
from symbolic.graph import Definition
from symbolic.intervals import PartialEvaluation
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
    reference,
    references,
    substitute,
)
from symbolic.quantities import Domain, Quantity
from symbolic.quantity import LEVERS

Floats = NDArray[np.float64]
#: For each moved input, the values at which it is evaluated.
Inputs: TypeAlias = Mapping[str, Floats]

#: Terms whose relative difference is below this tolerance count as equal.
TIE_TOLERANCE = 1e-12
#: Another term binds if it passes the binding terms by more than this relative difference.
ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A grid of one point, with its guide.

    ``pins`` are the values of inputs that other inputs determine until ``rebuild`` fixes them.
    ``guide.limits`` is the minimum of ``terms`` (the maximum if ``largest``), which have labels;
    ``binding`` are the terms equal to ``guide.limits``. ``flag`` is the state. An equation gives it
    if ``has_state``, the terms alone if ``state_from_terms``. Counts of the workload hold only for
    the present values of the quantities ``counted_for``. ``is_machine``: a machine is named.
    """

    grid: Grid
    guide: Guide
    flag: int
    terms: Mapping[str, str]
    binding: tuple[str, ...]
    state_from_terms: bool
    has_state: bool
    levers: str
    pins: Mapping[str, float]
    rebuild: Callable[[Mapping[str, float]], Grid]
    largest: bool = False
    counted_for: frozenset[str] = frozenset()
    is_machine: bool = False
    _cache: dict[Any, PartialEvaluation] = field(default_factory=dict, repr=False, compare=False)

    def with_free_inputs(self, names: Iterable[str]) -> Site:
        """Return a site in which the inputs ``names`` no longer follow other inputs."""
        pins = {name: self.pins[name] for name in names if name in self.pins}
        return replace(self, grid=self.rebuild(pins), pins={}, _cache={}) if pins else self

    def evaluate(self, names: Sequence[str], inputs: Inputs = MappingProxyType({})) -> list[Floats]:
        """Return quantities (or ``feasible``) at several values of the moved inputs."""
        graph = self.grid.graph
        roots = [self.grid.feasible_node(()) if n == FEASIBLE else graph.flat(n) for n in names]
        size = max(map(len, inputs.values()), default=1)
        return [np.broadcast_to(value, (size,)) for value in self._evaluate_nodes(roots, inputs)]

    def holds(self, condition: Node, inputs: Inputs) -> NDArray[np.bool_]:
        """Evaluate a condition over the leaves for several values of the moved inputs."""
        result = self._evaluate_nodes([condition], inputs)[0]
        return np.broadcast_to(result, next(iter(inputs.values())).shape)

    def _evaluate_nodes(self, roots: Iterable[Node], inputs: Inputs) -> list[Any]:
        key = (*roots, *inputs)
        if key not in self._cache:
            self._cache[key] = PartialEvaluation(roots, inputs.keys(), self.leaves())
        return self._cache[key].evaluate(inputs)

    def leaves(self) -> dict[str, NDArray[Any]]:
        """Return the leaves of the grid with their values."""
        return {name: leaf.array.reshape(1) for name, leaf in self.grid.leaves[()].items()}

    def allowed_condition(self) -> Node:
        """Return the condition, over the leaves, under which a place is allowed."""
        goal = self.grid.graph.flat(self.guide.goal)
        inside = [negate(outside_domain(*formula)) for formula in self.formulas().values()]
        finite = both(goal > -math.inf, goal < math.inf)
        rules = [self.grid.feasible_node(()), *self.guide_conditions().values()]
        return constant(both(*rules, finite, *inside))

    def guide_conditions(self) -> dict[str, Node]:
        """Return those conditions of the guide, over the leaves, that are known and hold here."""
        graph = self.grid.graph
        result: dict[str, Node] = {}
        if self.guide.same_work and graph.ancestors([self.guide.goal]).issuperset(LAUNCH):
            blocks, threads = (graph.flat(name) for name in LAUNCH)
            most = self.value(LAUNCH[0]) * self.value(LAUNCH[1])
            least = most - self.value(LAUNCH[1])
            same = both(blocks * threads > least, (blocks - 1) * threads < most)
            result["the launch has the same number of threads"] = constant(same)
        for text in self.guide.conditions:
            node = parse_condition(text, self.grid.model.quantities)
            names = references(node)
            if graph.definitions.keys() >= set(names):
                node = substitute(node, {name: graph.flat(name) for name in names})
                if np.all(interpret_arrays([node], self.leaves())[0]):
                    result[text] = node
        return result

    def formulas(self) -> dict[str, tuple[Node, Domain]]:
        """Return each formula in terms of the leaves, with its domain."""
        graph = self.grid.graph
        names = (name for name, d in graph.definitions.items() if d.kind == "formula")
        return {name: (graph.flat(name), self.row(name).domain) for name in names}

    def change_condition(self, state_from_terms: bool) -> Node:
        """Return the condition under which the state changes or another term binds."""
        graph = self.grid.graph
        result: list[Any] = []
        if self.has_state and not state_from_terms:
            result = [negate(equal(graph.flat(self.guide.state), float(self.flag)))]
        rest = [graph.flat(name) for name in self.terms if name not in self.binding]
        if rest:
            binding = [graph.flat(name) for name in self.binding]
            if self.largest:
                result.append(maximum(*rest) > maximum(*binding) * (1 + ROUNDING))
            else:
                result.append(minimum(*rest) < minimum(*binding) * (1 - ROUNDING))
        return constant(either(*result) if result else False)

    def value(self, name: str) -> float:
        """Return the value of a quantity."""
        return float(self.evaluate([name])[0][0])

    def label(self, flag: float) -> str:
        """Return the label of the state with the number ``flag``."""
        if not self.has_state:
            return tuple(self.terms.values())[int(flag)]
        return self.grid.flag_meanings(self.guide.state)[int(flag)]

    def term_values(self) -> dict[str, float]:
        """Return, for each label, the smallest (or largest) value of its terms."""
        values: dict[str, float] = {}
        first = max if self.largest else min
        for name, label in self.terms.items():
            value = self.value(name)
            values[label] = first(value, values.get(label, value))
        return values

    def goal_values(self) -> dict[str, float]:
        """Return the values of the goal and of the quantities that the guide shows."""
        return {name: self.value(name) for name in (self.guide.goal, *self.guide.show)}

    def suggestions(self) -> Iterator[Suggestion]:
        """Yield what equations of the model suggest for the inputs."""
        definitions = self.grid.graph.definitions
        for name, of in self.guide.suggests.items():
            equation = definitions[name].equation if name in definitions else None
            if equation is None or of not in definitions:
                continue
            row, value = self.row(name), self.value(name)
            gain, artefact = None, False
            if math.isnan(value):
                continue
            if row.unit == self.row(of).unit and self._is_free(of):
                site, place = self.with_free_inputs([of]), {of: np.array([value])}
                inside = self.row(of).domain.contains(value)
                if not (inside and site.holds(site.allowed_condition(), place)[0]):
                    continue
                gain, artefact = site.gain(place), site.is_artefact(place)
            yield self._suggestion(name, value, of, gain, artefact=artefact)
        for name, what in self.guide.remedies.items():
            if {name, what} <= definitions.keys():
                goal = self.value(self.guide.goal)
                gain = float(self._improvement(self.evaluate([name])[0], goal)[0])
                if gain > 1:
                    label = self.row(what).is_label
                    now = str(self.leaves()[what][0]) if label else self.value(what)
                    yield self._suggestion(what, now, self.guide.goal, gain)

    def _suggestion(
        self,
        name: str,
        value: float | str,
        target: str,
        gain: float | None,
        *,
        artefact: bool = False,
    ) -> Suggestion:
        equation, row = self.grid.graph.definitions[name].equation, self.row(name)
        return Suggestion(
            quantity=name,
            meaning=row.meaning,
            unit=row.unit,
            value=value,
            of=target,
            of_unit=self.row(target).unit,
            now=self.value(target),
            gain=gain,
            artefact=artefact,
            source=equation.source if equation else "",
        )

    def gain(self, inputs: Inputs) -> float:
        """Return the factor by which the goal improves if inputs take new values."""
        return float(self.gains(inputs)[0])

    def gains(self, inputs: Inputs) -> Floats:
        """Return the factor by which the goal improves, for several values of the inputs."""
        here = self.leaves()
        places = {name: np.append(values, here[name]) for name, values in inputs.items()}
        goal = self.evaluate([self.guide.goal], places)[0]
        return self._improvement(goal[:-1], goal[-1])

    def _improvement(self, new: Floats, old: float) -> Floats:
        start = np.broadcast_to(old, new.shape)
        better, worse = (new, start) if self.guide.maximize else (start, new)
        with np.errstate(all="ignore"):
            ratio = np.where(worse == 0, math.inf, better / worse)
        return np.asarray(np.where(better == worse, 1.0, ratio))

    def goals_by_case(self, inputs: Inputs, there: float) -> list[tuple[float, float]]:
        """Return the goal before and after a move to ``inputs``, by the equations of two cases.

        The first pair is for the present case, the second for the case ``there``. The result is
        empty if both cases are the same, or if the goal does not depend on the case.
        """
        graph, guide = self.grid.graph, self.guide
        if there == self.flag or not has_cases(graph, guide):
            return []
        free = Definition(name=guide.state, kind="given", node=reference(guide.state), needs=())
        definitions = {**graph.definitions, guide.state: free}
        goal = replace(graph, definitions=definitions, _flat_nodes={}).flat(guide.goal)
        result = []
        for flag in (float(self.flag), there):
            case = {**self.leaves(), guide.state: np.array([flag])}
            places = (interpret_arrays([goal], {**case, **each})[0] for each in ({}, inputs))
            before, after = (float(np.ravel(place)[0]) for place in places)
            result.append((before, after))
        return result

    def is_artefact(self, inputs: Inputs) -> bool:
        """True if a move gains, but would not gain by the equations of either case alone."""
        there = float(self.evaluate([self.guide.state], inputs)[0][0])
        pairs = self.goals_by_case(inputs, there)
        gains = (self._improvement(np.array([after]), before)[0] for before, after in pairs)
        return bool(pairs and self.gain(inputs) > 1 and max(gains) <= 1)

    def notes(self) -> tuple[str, ...]:
        """Return the notes of the guide that apply to the present labels of the switches."""
        switches = [f"{name}={label}" for name, label in self.grid.graph.switches.items()]
        return tuple(f"{s}: {self.guide.notes[s]}" for s in switches if s in self.guide.notes)

    def candidates(self) -> Iterator[tuple[str, ...]]:
        """Yield the inputs to move; several together if the guide moves them jointly."""
        graph, goal = self.grid.graph, self.guide.goal
        moving = graph.ancestors([goal])
        seen: set[tuple[str, ...]] = set()
        for name in filter(self._is_free, self.pins):
            needs = graph.definitions[name].needs
            one_lever = len({self.row(each).lever for each in (name, *needs)}) == 1
            # an input whose only effect is the default of another input is the same move
            if one_lever and len(needs) == 1 and needs[0] not in graph.ancestors([goal], [name]):
                seen.add(needs)
        for names in self.guide.moves(self.label(self.flag)):
            if any(name not in moving for name in names):
                continue
            alone = len(names) == 1 and not self._is_free(names[0])
            behind = [(n,) for n in sorted(graph.ancestors(names))] if alone else [names]
            for move in behind:
                if move not in seen and all(self._is_free(name) for name in move):
                    seen.add(move)
                    if self.levers in ("all", self.lever(move)):
                        yield move

    def _is_free(self, name: str) -> bool:
        graph = self.grid.graph
        given = graph.definitions[name].kind in ("given", "default") or name in self.pins
        row = self.row(name)
        fixed = name in self.guide.fixed or name in self.counted_for or row.direction == "none"
        if not given or fixed:
            return False
        tables = [d.name for d in graph.definitions.values() if d.kind == "table"]
        return not row.is_label and row.domain.low >= 0 and name not in graph.ancestors(tables)

    def lever(self, names: Iterable[str]) -> str:
        """Return "designer" if the designer sets any of the quantities, otherwise "programmer"."""
        return max((self.row(name).lever for name in names), key=LEVERS.index)

    def row(self, name: str) -> Quantity:
        """Return the row of a quantity in the model's table."""
        return self.grid.model.quantity(name)


def extreme_names(values: Mapping[str, float], largest: bool) -> tuple[str, ...]:
    """Return the names that have the smallest (or largest) value; several names at a tie."""
    sign = -1.0 if largest else 1.0
    least = min(sign * value for value in values.values())
    limit = least + TIE_TOLERANCE * abs(least)
    return tuple(name for name, value in values.items() if sign * value <= limit)
