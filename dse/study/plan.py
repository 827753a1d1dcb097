"""Describe a run before it is started, and warn of unusual numbers in a study."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.study.random import statistic_axes
from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.answer import Answer, Report, Table, count_text, value_text
from symbolic.ops import reference
from symbolic.units import dimension, to_si

if TYPE_CHECKING:
    from dse.study.study import StudyData
    from symbolic.quantity import Quantity

#: A number without a unit is reported if it leaves the typical range by more than this factor.
_UNUSUAL_FACTOR = 1000
#: Units that the user may have meant by a number without a unit, the likeliest first.
_COMMON_UNITS = ("MHz", "GHz", "GB/s", "TB/s", "MB/s", "ms", "us", "KiB", "mW", "kW", "mJ")
#: A limit without a unit causes a warning if its quantity has one of these SI units.
_NEVER_BARE_UNITS = ("s", "Hz", "B/s")
_LIMIT = re.compile(
    r"(?P<name>[a-z]\w*)\s*(?:[<>]=?|==)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
)


def unitless_limits(conditions: Iterable[str], rows: Mapping[str, Quantity]) -> tuple[str, ...]:
    """Return a warning for each constraint whose limit has no unit, as in ``time <= 400``.

    >>> from symbolic.quantities import TABLE
    >>> unitless_limits(["time <= 400 and power <= 150", "time <= 4 ms"], TABLE)
    ("time <= 400 is a limit of 400 s: write it with its unit, such as '400 s' or '400 ms'",)
    >>> unitless_limits(["time <= 1.2.3"], TABLE)  # no number: the parser reports it
    ()
    """
    result = []
    for text in conditions:
        for part in re.split(r"\b(?:and|or)\b", text):
            limit = _LIMIT.fullmatch(part.strip())
            row = rows.get(limit["name"]) if limit else None
            if limit is None or row is None or row.unit not in _NEVER_BARE_UNITS:
                continue
            number = limit["number"]
            if float(number):
                near = next(u for u in _COMMON_UNITS if dimension(u) == dimension(row.unit))
                result.append(
                    f"{part.strip()} is a limit of {number} {row.unit}: write it with its unit, "
                    f"such as '{number} {row.unit}' or '{number} {near}'"
                )
    return tuple(result)


def unusual_numbers(study: StudyData) -> tuple[str, ...]:
    """Return a warning, with a guess at the unit, for each unitless number that is unusual."""
    rows = study.grid().model.quantities
    numbers = [(name, number) for name, number in _unitless_numbers(study) if name in rows]
    texts = [unusual_number(rows[name], number) for name, number in numbers]
    return tuple(dict.fromkeys(filter(None, [*texts, *unitless_limits(study.where, rows)])))


def _unitless_numbers(study: StudyData) -> Iterator[tuple[str, float]]:
    """Yield (name, number) for the smallest and the largest unitless number of each quantity."""
    for name, value in [*study.set.items(), *study.axes.items()]:
        numbers = [number for number in _numbers(value) if math.isfinite(number)]
        if numbers:
            yield from ((name, end) for end in (min(numbers), max(numbers)))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("start", "stop", "values"):
                yield from _numbers(part)
            elif key in ("linspace", "geomspace") and isinstance(part, (list, tuple)):
                yield from _numbers(part[:2])
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, str):
        try:
            yield float(value)
        except ValueError:
            return
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def unusual_number(row: Quantity, number: float) -> str:
    """Return a warning that guesses the unit if a number is far from usual; otherwise return ""."""
    if not row.unit or row.typical is None or row.unit == "cycle":
        return ""
    low, high = row.typical
    if not low > 0 or not number > 0 or low / _UNUSUAL_FACTOR <= number <= high * _UNUSUAL_FACTOR:
        return ""
    kind = dimension(row.unit)
    meant = next(
        (u for u in _COMMON_UNITS if dimension(u) == kind and low <= to_si(number, u)[0] <= high),
        None,
    )
    usual = f"{value_text(low, row.unit)} to {value_text(high, row.unit)}"
    hint = f": is '{number:g} {meant}' meant?" if meant else ""
    return f"{row.name} = {number:g} is {number:g} {row.unit}, where {usual} is usual{hint}"


_FREE_CLOCK = (
    "core_clock is swept, but neither memory latency nor power depends on it, so a faster clock "
    "costs nothing: give mem_latency_nominal and nominal_clock instead of mem_latency_dram, or add "
    "a power model with a clock_power_exponent above 0"
)


def _has_free_clock(grid: Grid, key: tuple[str, ...]) -> bool:
    """True if outputs depend on a swept clock, but neither latency nor power depends on it."""
    graph, leaves = grid.graphs[key], grid.leaves[key]
    behind = graph.ancestors(["core_clock"]) if "core_clock" in graph.definitions else set()
    axes = {axis for name in behind & leaves.keys() for axis in leaves[name].axes}
    if not axes - {"machine"}:  # only the machines differ in their clocks
        return False
    following = {n for n in graph.ancestors(graph.outputs) if "core_clock" in graph.ancestors([n])}
    if not following or following & {"mem_latency", "mem_latency_dram"}:
        return False
    exponent = leaves.get("clock_power_exponent")
    flat = exponent is not None and not exponent.array.any()
    return flat or all(grid.model.quantities[name].unit != "W" for name in following)


def idle_axes(grid: Grid, objectives: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the axes on which no output, no constraint and none of ``objectives`` depends."""
    names = (*grid.outputs, *objectives)
    used = {axis for name in (*names, FEASIBLE) for axis in grid.dims(name)}
    used |= statistic_axes(grid, [reference(name) for name in names])
    return tuple(axis for axis in grid.axes if axis not in used)


def idle_axes_notes(grid: Grid, objectives: Iterable[str] = ()) -> list[str]:
    """Return a note that names the idle axes; an empty list if there are none."""
    axes = idle_axes(grid, objectives)
    return [f"no output depends on: {', '.join(axes)}"] if axes else []


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOutput:
    """One output of a planned run: its name, the axes on which it depends, and its size."""

    name: str
    axes: tuple[str, ...]
    points: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Report):
    """The plan of a run: its size, outputs, defaults and warnings, as ``dse plan`` prints them."""

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
        columns = ("output", "values", "size", "over")
        texts = {"assumed": self.assumptions, "note": self.notes, "warning": self.warnings}
        return Answer(
            kind="Plan",
            title=f"{self.model}: {count_text(self.points, 'point')} ({sizes})",
            facts={name: text for name, text in facts.items() if text},
            tables=[Table(columns=columns, rows=outputs, is_open=True)],
            notes=[f"{kind}: {text}" for kind, each in texts.items() for text in each],
        )


def bytes_text(size: float) -> str:
    """Return a size in bytes as text with a binary prefix.

    >>> bytes_text(48 * 1024)
    '48.0 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if size < 1024 or unit == "EiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError


def make_plan(study: StudyData, *, expand: bool = False) -> Plan:
    """Return the plan of a run; see :func:`dse.plan`."""
    from json import loads

    from sweeps.nest.run import NUMPY_POINTS, output_groups, plan_rows, tile_count

    study.check_outputs()
    grid = study.grid()
    outputs = tuple(PlannedOutput(**row) for row in plan_rows(grid, expand=expand))
    count = nests = 0
    for group in output_groups(grid, expand=expand):
        switched = math.prod(grid.axes[a].size for a in group.dims if a in grid.switch_axes)
        plain = grid.shape(a for a in group.dims if a not in grid.switch_axes)
        count += switched * tile_count(plain)
        nests += switched if math.prod(plain) > NUMPY_POINTS else 0
    order = {name: place for place, name in enumerate([*grid.outputs, "feasible"])}
    attributes = study.attributes()
    is_free = any(_has_free_clock(grid, key) for key in grid.graphs)
    return Plan(
        model=study.model,
        axes={axis.name: axis.size for axis in grid.axes.values()},
        points=grid.points,
        outputs=tuple(sorted(outputs, key=lambda output: order[output.name])),
        tiles=count,
        nests=nests,
        bytes=sum(output.bytes for output in outputs),
        conditions=tuple(condition.text for condition in grid.conditions),
        idle_axes=() if expand else idle_axes(grid),
        defaults=loads(attributes["defaults"]),
        assumptions=tuple(loads(attributes["assumptions"])),
        warnings=(*unusual_numbers(study), *((_FREE_CLOCK,) if is_free else ())),
        notes=(*loads(attributes.get("validity", "[]")), *study.notes),
    )
