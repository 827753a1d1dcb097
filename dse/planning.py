"""What a run would do, before any work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.cautions import free_clock, odd_numbers
from symbolic.answer import Answer, Report, Table

if TYPE_CHECKING:
    from dse.study.data import StudyData


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOutput:
    """One output: the axes on which it depends, and what it takes to store."""

    name: str
    axes: tuple[str, ...]
    points: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Report):
    """The size of a study; its text is what ``dse plan`` prints."""

    model: str
    axes: Mapping[str, int]
    points: int
    outputs: tuple[PlannedOutput, ...]
    tiles: int
    nests: int
    bytes: int
    conditions: tuple[str, ...]
    idle_axes: tuple[str, ...]
    defaults: Mapping[str, float | str]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def _answer(self) -> Answer:
        sizes = " x ".join(f"{name} {size}" for name, size in self.axes.items()) or "one point"
        outputs = [
            [out.name, f"{out.points:,}", bytes_text(out.bytes), ", ".join(out.axes) or "no axis"]
            for out in self.outputs
        ]
        facts = {
            "work": f"{self.tiles:,} tiles, {self.nests:,} loop nests, {bytes_text(self.bytes)}",
            "feasible where": " and ".join(self.conditions),
            "no output depends on": ", ".join(self.idle_axes),
            "defaults": ", ".join(f"{name} = {value}" for name, value in self.defaults.items()),
        }
        texts = {"assumed": self.assumptions, "note": self.notes, "warning": self.warnings}
        return Answer(
            kind="Plan",
            title=f"{self.model}: {self.points:,} points ({sizes})",
            facts={name: text for name, text in facts.items() if text},
            tables=[Table(columns=("output", "values", "size", "over"), rows=outputs, opened=True)],
            notes=[f"{kind}: {text}" for kind, each in texts.items() for text in each],
        )


def bytes_text(size: float) -> str:
    """A size in bytes for people.

    >>> bytes_text(48 * 1024)
    '48.0 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if size < 1024 or unit == "EiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError


def make_plan(study: StudyData, *, expand: bool = False) -> Plan:
    """See :func:`dse.plan`."""
    from json import loads

    from sweeps.nest.run import SMALL, groups, plan_rows, tiles

    grid = study.grid()
    outputs = tuple(PlannedOutput(**row) for row in plan_rows(grid, expand=expand))
    count = nests = 0
    for group in groups(grid, expand=expand):
        switched = math.prod(grid.axes[a].size for a in group.dims if a in grid.switch_axes)
        plain = grid.shape(a for a in group.dims if a not in grid.switch_axes)
        count += switched * tiles(plain)
        nests += switched if math.prod(plain) > SMALL else 0
    moved = {axis for output in outputs for axis in output.axes}
    order = {name: place for place, name in enumerate([*grid.outputs, "feasible"])}
    attributes = study.attributes()
    return Plan(
        model=study.model,
        axes={axis.name: axis.size for axis in grid.axes.values()},
        points=grid.points,
        outputs=tuple(sorted(outputs, key=lambda output: order[output.name])),
        tiles=count,
        nests=nests,
        bytes=sum(output.bytes for output in outputs),
        conditions=tuple(condition.text for condition in grid.conditions),
        idle_axes=tuple(axis for axis in grid.axes if axis not in moved and not expand),
        defaults=loads(attributes["defaults"]),
        assumptions=tuple(loads(attributes["assumptions"])),
        warnings=(*odd_numbers(study), *free_clock(grid)),
        notes=(*loads(attributes.get("validity", "[]")), *study.notes),
    )
