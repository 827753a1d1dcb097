"""CSV of Nsight Compute, nvprof and rocprof: launches in rows, or a metric a row.

What the application itself printed, and lines such as ``==PROF==``, may stand before and between.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from dse.measured.numerals import Cell, base_unit, is_missing, numbers_of
from dse.measured.profiles.layouts import Layout, layout_of
from dse.measured.records import Records
from symbolic.errors import DseError

__all__ = ["from_launches"]

#: What tells of the process rather than of the launch.
_UNTOLD = re.compile(
    r"ID|Process ID|Process Name|Host Name|Context|Stream|Section Name|Rule .*|Metric Description|"
    r"Estimated Speedup.*|(obj|wave_size)_\d+|obj|sig|queue-\w+|pid|tid|DispatchNs|CompleteNs|"
    r"Correlation_I[dD]|Queue_Id|Process_Id|Thread_Id|Kernel_Id"
)
_WITH_UNIT = re.compile(r"(?:\w+ \()?([-+]?[\d.,]+(?:e[-+]?\d+)?)\)?\s*([%A-Za-z/]*)")
#: A value with those of its instances behind it.
_INSTANCES = re.compile(r"([-+\d.,]+) \(.*;.*\)")
#: What nvprof numbers launches and devices by, behind their names.
_NUMBER = re.compile(r" (?:\[\d+\]|\(\d+\))$")
_LABELS = {"Kernel Name", "Kernel", "Name", "Kernel_Name", "KernelName", "Device", "CC", "Type"}
_COUNTS = {"inst", "sector", "request", "byte", "cycle", "block", "thread", "warp", "sample"}


def from_launches(text: str, name: str) -> Records | None:
    """The records of a profiler's CSV; None where no line is a header of one.

    Raises
    ------
    DseError
        Numbers that may be read in two ways, lines that are not whole, a kind that holds no
        launches; with the line.
    """
    listed = text.replace("\r\n", "\n").split("\n")
    first = next((k for k, line in enumerate(listed) if layout_of(_fields(line))), None)
    if first is None:
        return None
    found: list[tuple[Layout, list[str], list[tuple[int, list[str]]]]] = []
    for number, fields in _lines(listed, first, name):
        layout = layout_of(fields)
        if layout is not None and layout.refused:
            if found:
                break
            raise DseError(f"{name}, line {number}: this is {layout.refused}")
        if layout is not None:
            found.append((layout, [field.strip() for field in fields], []))
        else:
            found[-1][2].append((number, fields))
    gathered = _Launches(name)
    for layout, names, lines in found:
        if layout.kind == found[0][0].kind:
            gathered.add(layout, names, lines)
    return gathered.records(found[0][0].kind)


def _fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _lines(listed: list[str], first: int, name: str) -> Iterator[tuple[int, list[str]]]:
    """Lines from a header on, as fields with their numbers; what the profiler says is left out."""
    place = first

    def feed() -> Iterator[str]:
        nonlocal place
        for place in range(first, len(listed)):
            if not listed[place].startswith("==") and listed[place].strip():
                yield listed[place] + "\n"

    reader = csv.reader(feed(), strict=True)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DseError(f"{name}, line {place + 1}: {error}: the file is cut off") from None
        if fields is None:
            return
        yield place + 1, fields


class _Launches:
    """Rows by launch; cells as texts until the separators of all of them are known."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[Any, dict[str, tuple[Cell, str]]] = {}
        self.units: dict[str, str] = {}
        self.cut = 0

    def add(self, layout: Layout, names: list[str], lines: list[tuple[int, list[str]]]) -> None:
        below = dict.fromkeys(names, "")
        for at, (number, fields) in enumerate(lines):
            least = names.index(layout.value) + 1 if layout.value else len(names)
            if len(fields) < 3:
                continue  # what the application printed
            if not least <= len(fields) <= len(names):
                raise DseError(
                    f"{self.name}, line {number}: {len(fields)} fields where the header has "
                    f"{len(names)}: the file is cut off, or not as it was printed"
                )
            row = dict(zip(names, fields, strict=False))
            if (
                layout.units_below
                and at == 0
                and not (row.get("ID") or row.get("Name") or row.get("Kernel"))
            ):
                below = row
            elif layout.name:
                self._metric(layout, number, row)
            elif self._is_kernel(row):
                launch = self.rows.setdefault((number,), {})
                for column, told in row.items():
                    self._put(
                        launch, column, Cell(number, told, below[column] in _COUNTS), below[column]
                    )

    def _is_kernel(self, row: dict[str, str]) -> bool:
        """Whether nvprof tells of a kernel, rather than of a copy or a call."""
        return not row.get("Name", "").startswith("[CUDA") and row.get("Type") != "API calls"

    def _metric(self, layout: Layout, number: int, row: dict[str, str]) -> None:
        launch = self.rows.setdefault(tuple(row.get(key, "") for key in layout.key), {})
        special = {layout.name, layout.unit, layout.value, "Min", "Max", "Avg", "Total"}
        for column, told in row.items():
            if column not in special and column not in launch:
                self._put(launch, column, Cell(number, told), "")
        metric, unit = row[layout.name].strip(), row.get(layout.unit, "")
        if not metric:
            return  # a rule of Nsight Compute
        told, known = row[layout.value], unit in _COUNTS and not metric.lower().startswith("avg")
        if metric in launch and launch[metric][0].text.startswith("("):
            del launch[metric]  # the same as three sizes
        if metric in launch and (launch[metric][0].text, launch[metric][1]) != (told, unit):
            here = base_unit(unit)[1] == self.units.get(metric) and launch[metric][0].text == told
            metric = metric if here else f"{metric} ({row.get('Section Name', number)})"
        self._put(launch, metric, Cell(number, told, known and "avg" not in metric), unit)

    def _put(self, launch: dict[str, tuple[Cell, str]], name: str, cell: Cell, unit: str) -> None:
        if _UNTOLD.fullmatch(name) or not name:
            return
        if name in _LABELS:
            launch[name] = (cell, unit)
            return
        listed = _INSTANCES.fullmatch(cell.text.strip())
        cell = cell._replace(text=listed[1]) if listed else cell
        printed = _WITH_UNIT.fullmatch(cell.text.strip())
        if printed and printed[2] not in ("", "e"):
            cell, unit = cell._replace(text=printed[1]), printed[2]
        elif printed and "(" in cell.text:
            cell = cell._replace(text=printed[1])
        base = base_unit(unit)[1]
        if not is_missing(cell.text) and self.units.setdefault(name, base) != base:
            raise DseError(
                f"{self.name}, line {cell.line}: {name} is in {unit!r} here and in "
                f"{self.units[name]!r} before"
            )
        launch[name] = (cell, unit)

    def records(self, kind: str) -> Records:
        if not self.rows:
            raise DseError(f"{self.name} is CSV of {kind} with a header and no launches below it")
        names = dict.fromkeys(name for launch in self.rows.values() for name in launch)
        cells = (
            cell
            for launch in self.rows.values()
            for n, (cell, _) in launch.items()
            if n not in _LABELS
        )
        read = numbers_of(cells, self.name)
        columns: dict[str, list[Any]] = {}
        rounded: dict[str, None] = {}
        for name in names:
            values: list[Any] = []
            texts = 0
            for launch in self.rows.values():
                cell, unit = launch.get(name, (Cell(0, ""), ""))
                value = None if name in _LABELS or is_missing(cell.text) else read(cell)
                if value is None and not is_missing(cell.text):
                    texts += 1
                    text = cell.text.strip()
                    values.append(_NUMBER.sub("", text) if kind == "nvprof" else text)
                    last = cell
                else:
                    factor = base_unit(unit, binary=kind == "nvprof")[0]
                    if value is not None and factor != 1:
                        if factor == 1000 and base_unit(unit)[1] == "B":
                            rounded[name] = None
                        value = value * factor.numerator / factor.denominator
                    values.append(value)
            if texts and any(isinstance(value, float) for value in values):
                raise DseError(
                    f"{self.name}, line {last.line}: {name} is {last.text!r}, expected a number "
                    "as in other lines"
                )
            if any(value is not None for value in values):
                columns[name] = ["" if v is None else v for v in values] if texts else values
        notes = [
            f"{n} is printed in thousands of bytes, rounded: print --print-units base"
            for n in rounded
        ]
        units = {name: unit for name, unit in self.units.items() if name in columns and unit}
        return Records(kind=kind, axes=(), columns=columns, units=units, notes=tuple(notes))
