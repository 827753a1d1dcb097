"""One configuration, every intermediate: value, unit, equation, source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dse.places import places_of
from dse.wording import value_text
from symbolic.errors import UnknownNameError, nearest
from symbolic.ops import interpret_arrays
from symbolic.quantities import label_of
from symbolic.statistic import StatisticName, statistics_of
from symbolic.visible import Card, Fold, Visible

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Visible):
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

    def _card(self) -> Card:
        units = {step.name: step.unit for step in self.steps}
        point = {n: value_text(value, units.get(n, "")) for n, value in self.point.items()}
        steps = [
            [step.name, value_text(step.value, step.unit), step.meaning, step.how, step.source]
            for step in self.steps
        ]
        held = [[text, "holds" if holds else "BROKEN"] for text, holds in self.conditions.items()]
        return Card(
            kind="Explanation",
            line=f"at {', '.join(f'{n} = {v}' for n, v in point.items()) or 'one point'}",
            folds=[
                Fold(title="conditions", rows=held, opened=not all(self.conditions.values())),
                Fold(
                    title=f"{len(steps):,} quantities, in the order of computation",
                    header=("quantity", "value", "meaning", "how", "source"),
                    rows=steps,
                    opened=len(steps) <= _FEW,
                ),
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        units = {step.name: f" {step.unit}" for step in self.steps if step.unit}
        here = [f"{name} = {value}{units.get(name, '')}" for name, value in self.point.items()]
        lines = ["at " + (", ".join(here) or "one point")]
        width = max(len(step.name) for step in self.steps)
        for step in self.steps:
            value = step.value if isinstance(step.value, str) else f"{step.value:.10g}"
            unit = f" {step.unit}" if step.unit else ""
            lines.append(f"  {step.name:{width}} = {value}{unit}   [{step.how}; {step.source}]")
        for text, holds in self.conditions.items():
            lines.append(f"  {text}: {'holds' if holds else 'BROKEN'}")
        return "\n".join(lines)


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
