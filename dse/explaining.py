"""One configuration, every intermediate: value, unit, equation, source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.places import places_of
from symbolic.answer import Answer, Report, Table, value_text
from symbolic.errors import UnknownNameError, nearest
from symbolic.ops import interpret_arrays
from symbolic.quantities import label_of
from symbolic.statistic import StatisticName, statistics_of

if TYPE_CHECKING:
    from dse.study.data import StudyData

#: So many steps are shown unfolded.
_FEW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One quantity at the configuration: where its value comes from."""

    name: str
    value: float | str
    unit: str
    meaning: str
    how: str
    source: str

    @property
    def text(self) -> str:
        """The value with its unit, to ten digits."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.10g}"
        return f"{value} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Report):
    """The steps in order of computation, and the conditions with whether they hold."""

    point: Mapping[str, Any]
    steps: tuple[Step, ...]
    conditions: Mapping[str, bool]

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        known = [step.name for step in self.steps]
        raise UnknownNameError(f"{name!r} is no step of this explanation{nearest(name, known)}")

    def _answer(self) -> Answer:
        units = {step.name: step.unit for step in self.steps}
        at = [f"{n} = {value_text(v, units.get(n, ''))}" for n, v in self.point.items()]
        holds = [[text, "holds" if ok else "BROKEN"] for text, ok in self.conditions.items()]
        steps = [
            [step.name, step.text, f"{step.meaning} [{step.how}; {step.source}]".strip()]
            for step in self.steps
        ]
        return Answer(
            kind="Explanation",
            title=f"at {', '.join(at) or 'one point'}",
            tables=[
                Table(
                    title=f"{len(steps):,} quantities, in the order of computation",
                    columns=("quantity", "value", "meaning [from; source]"),
                    rows=steps,
                    opened=len(steps) <= _FEW,
                ),
                Table(title="conditions", rows=holds, opened=not all(self.conditions.values())),
            ],
        )


def explained(study: StudyData, point: Mapping[str, Any]) -> Explanation:
    """See :func:`dse.explain`; what is random stands at its most central draw."""
    grid, parts = study.grid(draws=True), study._parts
    said = places_of(grid, point, word="")
    places = {name: said.get(name, axis.unsaid) for name, axis in grid.axes.items()}
    at = {name: grid.axes[name].coordinate[place].item() for name, place in places.items()}
    key = tuple(grid.axes[axis].labels[places[axis]] for axis in grid.switch_axes)
    graph = grid.graphs[key]
    own = {n: d for n, d in graph.definitions.items() if not isinstance(n, StatisticName)}
    values = grid.at(places, list(own))
    steps = []
    for name, definition in own.items():
        value = values[name]
        shown: float | str = value.item() if hasattr(value, "item") else value
        if name != label_of(name):
            name, shown = grid.told(name, value)
        row = grid.model.quantity(name)
        flags = grid.flags(name)
        if flags:
            shown = f"{int(float(shown))} ({flags.get(int(float(shown)), '?')})"
        eq = definition.equation
        source = eq.source if eq is not None else _origin(parts.origins.get(name), at.values())
        steps.append(
            Step(
                name=name,
                value=shown,
                unit=row.unit,
                meaning=row.meaning,
                how=f"equation of {', '.join(definition.needs)}" if eq else definition.kind,
                source=source + (f", with {eq.switches}" if eq is not None and eq.when else ""),
            )
        )
    asked = statistics_of(condition.node for condition in graph.conditions)
    values |= grid.at(places, asked)
    conditions = {}
    for condition in graph.conditions:
        conditions[condition.text] = bool(interpret_arrays((condition.node,), values)[0])
    return Explanation(point=at, steps=tuple(steps), conditions=conditions)


def _origin(said: str | Mapping[str, str] | None, labels: Iterable[Any]) -> str:
    """Where a value is from; of what an axis supplies, at the label that stands here."""
    if isinstance(said, Mapping):
        return next((said[label] for label in labels if label in said), "the model's own")
    return said or "default of the quantity"
