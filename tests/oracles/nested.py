"""A slow, obvious twin of a sweep: nested loops over plain floats, one equation call at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symbolic.equation import Equation
from symbolic.model import Model

#: Axes whose labels only supply values: a value that all labels share does not vary along them.
CATALOGUE = ("machine", "workload")


class MissingError(Exception):
    """A quantity that nothing gives."""


@dataclass(frozen=True)
class Formula:
    """A value that follows from other quantities; ``text`` is what the study is given."""

    text: str
    names: tuple[str, ...]
    function: Callable[..., float]


@dataclass(frozen=True)
class Table:
    """A value for each place of some axes, by their indices."""

    axes: tuple[str, ...]
    values: Mapping[tuple[int, ...], float]


Value = float | str | Formula | Table


@dataclass(frozen=True)
class Condition:
    """A rule or constraint as a function of quantities."""

    names: tuple[str, ...]
    holds: Callable[..., bool]
    is_rule: bool = False


def rule(text: str) -> Condition:
    """A rule of a model, whose text is Python too."""
    code = compile(text, "<rule>", "eval")
    names = code.co_names

    def holds(*values: float) -> bool:
        return bool(eval(code, {"__builtins__": {}}, dict(zip(names, values, strict=True))))

    return Condition(names=names, holds=holds, is_rule=True)


@dataclass(frozen=True, kw_only=True)
class Loops:
    """A study as plain data: what each step of each axis gives, and what is given throughout."""

    model: Model = field(repr=False)
    axes: Mapping[str, Sequence[Mapping[str, Value]]]
    given: Mapping[str, Value] = field(default_factory=dict)
    where: Sequence[Condition] = ()

    # --- points
    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(steps) for name, steps in self.axes.items()}

    def indices(self, dims: Sequence[str]) -> Iterator[dict[str, int]]:
        """Every place of some axes, in order; all other axes stand at their first."""
        for index in itertools.product(*(range(self.sizes[dim]) for dim in dims)):
            yield {**dict.fromkeys(self.axes, 0), **dict(zip(dims, index, strict=True))}

    def _value_at(self, name: str, point: Mapping[str, int]) -> Value | None:
        for axis, steps in self.axes.items():
            if name in steps[point[axis]]:
                return steps[point[axis]][name]
        return self.given.get(name)

    def _switch(self, name: str, point: Mapping[str, int]) -> str:
        result = self._value_at(name, point)
        row = self.model.quantities[name]
        label = str(row.default if result is None else result)
        if label != "auto":
            return label
        *_, without, within = row.labels or ()
        settled = all(self._value_at(need, point) is not None for need in row.settled_by)
        return within if settled else without

    def equation(self, name: str, point: Mapping[str, int]) -> Equation | None:
        """The equation of a quantity under the switches of a point."""
        result = [
            eq
            for eq in self.model.variants(name)
            if all(self._switch(switch, point) == label for switch, label in eq.when.items())
        ]
        assert len(result) <= 1
        return result[0] if result else None

    def _how(self, name: str, point: Mapping[str, int]) -> tuple[Any, tuple[str, ...]]:
        """A number, label or table; or a function and the quantities it needs."""
        value = self._value_at(name, point)
        if isinstance(value, Formula):
            return value.function, value.names
        if value is not None:
            return value, ()
        result = self.equation(name, point)
        if result is not None:
            return result.function, result.inputs
        default = self.model.quantities[name].default
        if isinstance(default, str) and not self.model.quantities[name].is_label:
            return (lambda same: same), (default,)
        if default is None or isinstance(default, str):
            raise MissingError(name)
        return float(default), ()

    def value(
        self, name: str, point: Mapping[str, int], known: dict[str, Any] | None = None
    ) -> Any:
        """A quantity at a point, unmarked; ``known`` keeps what is computed on the way."""
        known = {} if known is None else known
        if name not in known:
            how, needs = self._how(name, point)
            if callable(how):
                result = how(*(self.value(need, point, known) for need in needs))
                known[name] = float(result)
            elif isinstance(how, Table):
                known[name] = how.values[tuple(point[axis] for axis in how.axes)]
            else:
                known[name] = how
        return known[name]

    # --- what depends on what
    def _inputs_behind(self, name: str, point: Mapping[str, int], seen: set[str]) -> set[str]:
        if name not in seen:
            seen.add(name)
            for need in self._how(name, point)[1]:
                self._inputs_behind(need, point, seen)
        return seen

    def _axes_of(self, name: str, point: Mapping[str, int]) -> set[str]:
        result = set()
        value = self._value_at(name, point)
        for axis, steps in self.axes.items():
            if not any(name in step for step in steps):
                continue
            values = [step.get(name) for step in steps]
            numbers = all(isinstance(value, (int, float)) for value in values)
            if axis in CATALOGUE and numbers and len(set(values)) == 1:
                continue
            result.add(axis)
        if isinstance(value, Table):
            result |= set(value.axes)
        if value is None:
            for variant in self.model.variants(name):
                result |= set(variant.when) & set(self.axes)
        return result

    def dims(self, *names: str) -> tuple[str, ...]:
        """The axes on which quantities depend, whatever the point."""
        result: set[str] = set()
        for point in self.indices(tuple(self.axes)):
            for name in names:
                for behind in self._inputs_behind(name, point, set()):
                    result |= self._axes_of(behind, point)
        return tuple(axis for axis in self.axes if axis in result)

    # --- conditions
    def _switches(self, point: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(
            point[axis]
            for axis in self.axes
            if axis in self.model.quantities and self.model.quantities[axis].is_switch
        )

    def _is_known(self, condition: Condition, point: Mapping[str, int]) -> bool:
        try:
            for name in condition.names:
                self._inputs_behind(name, point, set())
        except MissingError:
            return False
        return True

    @cached_property
    def conditions(self) -> list[tuple[Condition, set[tuple[int, ...]], tuple[str, ...]]]:
        """Rules and constraints, the switches under which they apply, the axes they depend on."""
        points = list(self.indices(tuple(self.axes)))
        keys = {self._switches(point) for point in points}
        listed = []
        for condition in [*map(rule, self.model.rules), *self.where]:
            unknown = {self._switches(p) for p in points if not self._is_known(condition, p)}
            applies = keys - unknown
            if not applies:
                assert condition.is_rule
                continue
            result: set[str] = set()
            for point in points:
                if self._switches(point) in applies:
                    for name in condition.names:
                        for behind in self._inputs_behind(name, point, set()):
                            result |= self._axes_of(behind, point)
            if unknown:
                switch = self.model.quantities
                result |= {a for a in self.axes if a in switch and switch[a].is_switch}
            dims = tuple(axis for axis in self.axes if axis in result)
            listed.append((condition, applies, dims))
        return listed

    def _holds(self, condition: Condition, applies: Any, point: Mapping[str, int]) -> bool:
        if self._switches(point) not in applies:
            return True
        known: dict[str, Any] = {}
        return condition.holds(*(self.value(name, point, known) for name in condition.names))

    def feasible(self, point: Mapping[str, int]) -> bool:
        """True if every rule and constraint holds."""
        return all(self._holds(c, applies, point) for c, applies, _ in self.conditions)

    def run(
        self, outputs: Sequence[str], *, expand: bool = False
    ) -> dict[str, tuple[tuple[str, ...], dict[tuple[int, ...], float]]]:
        """Every output over its axes, and ``feasible`` where a condition applies."""
        result: dict[str, tuple[tuple[str, ...], dict[tuple[int, ...], float]]] = {}
        for name in outputs:
            dims = tuple(self.axes) if expand else self.dims(name)
            rules = [(c, a) for c, a, d in self.conditions if c.is_rule and set(d) <= set(dims)]
            blank = -1.0 if any(eq.flags for eq in self.model.variants(name)) else math.nan
            values = {}
            for point in self.indices(dims):
                holds = all(self._holds(c, applies, point) for c, applies in rules)
                place = tuple(point[dim] for dim in dims)
                values[place] = self.value(name, point) if holds else blank
            result[name] = (dims, values)
        if self.conditions:
            wanted = {dim for _, _, dims in self.conditions for dim in dims}
            dims = tuple(axis for axis in self.axes if expand or axis in wanted)
            values = {
                tuple(point[dim] for dim in dims): float(self.feasible(point))
                for point in self.indices(dims)
            }
            result["feasible"] = (dims, values)
        return result
