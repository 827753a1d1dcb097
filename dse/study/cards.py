"""What a notebook shows of a study, and of models compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.cards import some
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.wording import value_text
from symbolic.visible import Card, Fold

if TYPE_CHECKING:
    from sweeps.grid.space import Axis


def study_card(study: StudyData) -> Card:
    """Of a study: its size, its axes, what is set and what comes out."""
    grid = study.grid()
    axes, quantities = list(grid.axes.values()), grid.model.quantities
    sizes = " x ".join(f"{axis.name} {axis.size}" for axis in axes)
    told = f"{study.model}: {grid.points:,} configurations"
    given = {"machine": study.machine, "workload": study.workload}
    outputs = []
    for name in grid.outputs:
        row = quantities.get(name)
        outputs.append([name, row.unit if row else "", row.meaning if row else ""])
    return Card(
        kind="Study",
        line=f"{told} ({sizes})" if sizes else told,
        facts={name: text for name, text in given.items() if text},
        folds=[
            Fold(title="axes", rows=[_axis(a, quantities) for a in axes], opened=True),
            Fold(title="set", rows=[[n, _short(v)] for n, v in study.set.items()]),
            Fold(title="random", rows=[[n, _short(v)] for n, v in study.random.items()]),
            Fold(title="where", rows=[[text] for text in study.where]),
            Fold(title="best", rows=[[n, _short(v)] for n, v in (study.best or {}).items()]),
            Fold(title="outputs", header=("quantity", "unit", "meaning"), rows=outputs),
        ],
    )


def _axis(axis: Axis, quantities: Mapping[str, Any]) -> list[str]:
    """An axis: its name, how many values it has, and which."""
    row = quantities.get(axis.name)
    values = [value_text(v, row.unit if row else "") for v in (axis.coordinate[[0, -1]]).tolist()]
    if axis.labels:
        return [axis.name, f"{axis.size:,}", some(axis.labels)]
    told = values[0] if axis.size == 1 else f"{values[0]} to {values[-1]}"
    return [axis.name, f"{axis.size:,}", told]


def _short(value: Any) -> str:
    """A value that was given, in a few words."""
    if hasattr(value, "dims"):
        return f"array over {', '.join(map(str, value.dims))}"
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def comparison_card(comparison: ComparisonData) -> Card:
    """Of models compared."""
    rows = [[name, study_card(study).line] for name, study in comparison.each.items()]
    return Card(
        kind="Comparison",
        line=f"{', '.join(comparison.each)}: {some(comparison.outputs)}",
        folds=[Fold(title="models", rows=rows, opened=True)],
    )
