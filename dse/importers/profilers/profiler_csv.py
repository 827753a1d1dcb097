"""Read CSV files of Nsight Compute, nvprof and rocprof; a row is a launch or one metric.

Before and between the rows there may be output of the application, and lines like ``==PROF==``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dse.delimited import table_errors
from dse.importers.formats import MeasuredFile, column_number_reader
from dse.importers.records import Records
from stochastic.delimited import Cell, is_missing, is_numeric, iterate_records
from stochastic.delimited import parse_number as parse_number
from symbolic.errors import DseError

_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("hz", "hertz"), "Hz"),
    **dict.fromkeys(("inst", "sector", "request", "register", "cycle", "block", "thread"), ""),
    **dict.fromkeys(("warp", "sample", "sm", "op", "pass", "wavefront", "instruction", "way"), ""),
}
_PREFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "K": 3, "G": 9, "T": 12}


def base_unit(unit: str, binary: bool = False) -> tuple[Fraction, str]:
    """Convert a profiler's unit to a factor and a unit of this library; keep unknown units.

    With ``binary``, a KB is 1024 bytes, as in nvprof, whose traces print 1028 bytes as 1.003906 KB.

    >>> base_unit("usecond"), base_unit("Gbyte/second"), base_unit("Kbyte/block")
    ((Fraction(1, 1000000), 's'), (Fraction(1000000000, 1), 'B/s'), (Fraction(1000, 1), 'B'))
    >>> base_unit("cycle/nsecond"), base_unit("inst"), base_unit("%")
    ((Fraction(1000000000, 1), 'Hz'), (Fraction(1, 1), ''), (Fraction(1, 1), '%'))
    """
    unit = unit.strip().replace("\u00b5", "u").replace("\u03bc", "u")
    above, _, below = unit.partition("/")
    first, second = _unit_part(above), _unit_part(below) if below else (Fraction(1), "")
    if binary and first and first[1] == "B":
        first = Fraction(1024) ** round(math.log10(first[0]) / 3), "B"
    if first is None or second is None:
        return Fraction(1), unit
    named = f"{first[1] or '1'}/{second[1]}" if second[1] else first[1]
    return first[0] / second[0], {"1/s": "Hz"}.get(named, named)


def _unit_part(unit: str) -> tuple[Fraction, str] | None:
    for prefix, power in _PREFIXES.items():
        rest = unit.removeprefix(prefix).lower()
        rest = rest if rest in _UNITS else rest.removesuffix("s")
        if unit.startswith(prefix) and rest in _UNITS and (not prefix or _UNITS[rest]):
            return Fraction(10) ** power, _UNITS[rest]
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvLayout:
    """A layout of CSV files: the columns that identify it, and the roles of some columns.

    If a row is one metric, ``name``, ``unit`` and ``value`` are the columns of the metric, and
    ``key`` lists the columns that identify the launch.
    """

    kind: str
    columns: frozenset[str]
    name: str = ""
    unit: str = ""
    value: str = ""
    key: tuple[str, ...] = ()
    units_below: bool = False
    refusal: str = ""


def _make_layout(kind: str, columns: str, **more: Any) -> CsvLayout:
    return CsvLayout(kind=kind, columns=frozenset(columns.split("|")), **more)


_IMPORT = ", which holds no counters: import pmc_perf.csv or the counters"
_NCU_METRIC = {"name": "Metric Name", "unit": "Metric Unit"}
_PER_KERNEL = {"value": "Avg", "key": ("Device", "Kernel")}
_LAYOUTS = (
    _make_layout(
        "ncu", "Kernel Name|Invocations|Metric Name",
        refusal="a summary of Nsight Compute over launches (--print-summary): print it without",
    ),
    _make_layout(
        "ncu", "ID|Kernel Name|Metric Name|Metric Unit|Metric Value",
        value="Metric Value", key=("Process ID", "ID"), **_NCU_METRIC,
    ),
    _make_layout("ncu", "ID|Kernel Name|Process ID", units_below=True),
    _make_layout("nvprof", "Kernel|Invocations|Metric Name|Avg", name="Metric Name", **_PER_KERNEL),
    _make_layout("nvprof", "Kernel|Invocations|Event Name|Avg", name="Event Name", **_PER_KERNEL),
    _make_layout("nvprof", "Start|Duration|Grid X|Registers Per Thread|Name", units_below=True),
    _make_layout("nvprof", "Time(%)|Calls|Avg|Name", units_below=True),
    _make_layout("nvprof", "Device|Context|Stream|Kernel", units_below=True),
    _make_layout(
        "rocprof", "Dispatch_Id|Kernel_Name|Counter_Name|Counter_Value",
        name="Counter_Name", value="Counter_Value", key=("Process_Id", "Dispatch_Id"),
    ),
    _make_layout("rocprof", "Kernel_Name|Grid_Size|Workgroup_Size"),
    _make_layout("rocprof", "KernelName|grd|wgr"),
    *(
        _make_layout("", has, refusal=refused) for has, refused in (
            ("Start|Duration|Name", "nvprof's trace of API calls: print --print-gpu-trace"),
            ("workload_name|gpu_model|gpu_arch", f"rocprof-compute on a machine{_IMPORT}"),
            ("device|HBMBw|FP32Flops", f"rocprof-compute's roofline of a machine{_IMPORT}"),
            ("Dispatch_ID|Kernel_Name|GPU_ID", f"rocprof-compute's list of dispatches{_IMPORT}"),
            ("Name|Calls|TotalDurationNs", f"rocprof's statistics of kernels{_IMPORT}"),
            ("Time (%)|Total Time (ns)|Instances", "Nsight Systems' summary: profile with ncu"),
        )
    ),
)  # fmt: skip

#: Names of columns; the header of each layout contains at least one of them.
HINTS = tuple({max(layout.columns, key=lambda name: (len(name), name)) for layout in _LAYOUTS})


def find_layout(fields: Sequence[str]) -> CsvLayout | None:
    """Return the first layout whose columns are all in the header, or None."""
    names = {field.strip() for field in fields}
    return next((layout for layout in _LAYOUTS if layout.columns <= names), None)


#: Columns that are not read, because they describe the process and not the launch.
_IGNORED_COLUMNS = re.compile(
    r"ID|Process ID|Process Name|Host Name|Context|Stream|Section Name|Rule .*|Metric Description|"
    r"Estimated Speedup.*|(obj|wave_size)_\d+|obj|sig|queue-\w+|pid|tid|DispatchNs|CompleteNs|"
    r"Correlation_I[dD]|Queue_Id|Process_Id|Thread_Id|Kernel_Id"
)
_WITH_UNIT = re.compile(r"(?:\w+ \()?([-+]?[\d.,]+(?:e[-+]?\d+)?)\)?\s*([%A-Za-z\u00b5\u03bc/]*)")
#: A value that is followed by the values of the metric's instances in parentheses.
_INSTANCES = re.compile(r"([-+\d.,]+) \(.*;.*\)")
#: Numbers of launches or devices that nvprof appends to names.
_NUMBER = re.compile(r" (?:\[\d+\]|\(\d+\))$")
_LABELS = {"Kernel Name", "Kernel", "Name", "Kernel_Name", "KernelName", "Device", "CC", "Type"}
#: Names that versions of rocprof use for the lanes of a wavefront and the number of wavefronts.
_WAVE_SIZES, _WAVES = ("Wave_Size", "wave_size"), ("SQ_WAVES", "SQ_WAVES_sum")
#: Start of the names of copies and page faults, which nvprof lists between the kernels.
_NO_KERNEL = re.compile(r"\[(CUDA|Unified Memory) ")
#: Message of nvprof after which the header may follow on the same line.
_GLUED = re.compile(r"^==\d+== [\w ]+ result:(?=\S)", re.MULTILINE)
#: Columns of labels that may be numbers; such a number has a decimal point in every locale.
_VERSIONS = {"CC", "Device"}
#: Patterns of lines that are not CSV, with the profiler that prints them and its option for CSV.
_PRINTED = {r"^==PROF== ": ("Nsight Compute", "--csv"), r"^==\d+== NVPROF is ": ("nvprof", "--csv")}
_COUNTS = {"inst", "sector", "request", "byte", "cycle", "block", "thread", "warp", "sample"}


def from_profiler_csv(file: MeasuredFile) -> Records | None:
    """Read the CSV file of a profiler; return None if no line is a known header."""
    name, text = str(file.path), _GLUED.sub("", file.text)
    listed = io.StringIO(text, newline="")
    lines = ((k, mark, line) for k, line in enumerate(listed, 1) for mark in ",;\t")
    header = next(((k, mark) for k, mark, line in lines if _line_layout(line, mark)), None)
    if header is None:
        for pattern, (tool, option) in _PRINTED.items():
            if re.search(pattern, text, re.MULTILINE):
                raise DseError(f"{name!r} is output of {tool} without CSV: run it with {option}")
        return None
    first, mark = header

    def skip(line: str, place: int) -> bool:
        return place < first or line.startswith("==")

    result: list[tuple[CsvLayout, list[str], list[tuple[int, list[str]]]]] = []
    with table_errors():
        for number, fields, _ in iterate_records(text, mark, name, skip):
            layout = find_layout(fields)
            if layout is not None and layout.refusal:
                if result:
                    break
                raise DseError(f"{name}, line {number}: this is {layout.refusal}")
            if layout is not None:
                result.append((layout, [field.strip() for field in fields], []))
            else:
                result[-1][2].append((number, fields))
    launches = _LaunchTable(name)
    for layout, names, rows in result:
        if layout.kind == result[0][0].kind:
            launches.add(layout, names, rows)
    return launches.records(result[0][0].kind, text)


def _line_layout(line: str, mark: str) -> CsvLayout | None:
    if mark not in line or not any(hint in line for hint in HINTS):
        return None
    try:
        return find_layout(next(csv.reader([line], delimiter=mark), []))
    except csv.Error:
        return None


#: The cells of a launch: for each column, the cell and its unit.
Launch = dict[str, tuple[Cell, str]]


class _LaunchTable:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[Any, Launch] = {}
        self.units: dict[str, str] = {}
        self.other_events = 0

    def add(self, layout: CsvLayout, names: list[str], lines: list[tuple[int, list[str]]]) -> None:
        below = dict.fromkeys(names, "")
        while names and not names[-1]:
            names.pop()  # the header ends with a separator
        twice = [(names.index(n), k) for k, n in enumerate(names) if n and names.index(n) < k]
        for at, (number, fields) in enumerate(lines):
            least = names.index(layout.value) + 1 if layout.value else len(names)
            if len(fields) < 3:
                continue  # a line that the application printed
            if any(map(_NO_KERNEL.match, fields)):
                self.other_events += 1  # such lines may lack fields
                continue
            if not any(map(str.strip, fields[len(names) :])):
                del fields[len(names) :]
            if not least <= len(fields) <= len(names):
                raise DseError(
                    f"{self.name}, line {number}: {len(fields)} fields where the header has "
                    f"{len(names)}: the file is cut off or was changed"
                )
            for one, other in twice:
                if fields[one : one + 1] != fields[other : other + 1]:
                    raise DseError(
                        f"{self.name}, line {number}: columns {one + 1} and {other + 1} are both "
                        f"{names[one]!r} and differ: rename one"
                    )
            row = dict(zip(names, fields, strict=False))
            is_launch = row.get("ID") or row.get("Name") or row.get("Kernel")
            if layout.units_below and at == 0 and not is_launch:
                below = row
            elif layout.name:
                self._add_metric(layout, number, row)
            elif row.get("Type") != "API calls":
                launch = self.rows.setdefault((number,), {})
                for column, text in row.items():
                    unit = below[column]
                    self._set_cell(launch, column, Cell(number, text, unit in _COUNTS), unit)

    def _add_metric(self, layout: CsvLayout, number: int, row: dict[str, str]) -> None:
        launch = self.rows.setdefault(tuple(row.get(key, "") for key in layout.key), {})
        special = {layout.name, layout.unit, layout.value, "Min", "Max", "Avg", "Total"}
        for column, text in row.items():
            if column not in special and column not in launch:
                self._set_cell(launch, column, Cell(number, text), "")
        metric, unit = row[layout.name].strip(), row.get(layout.unit, "")
        if not metric:
            return  # the row is a rule of Nsight Compute, not a metric
        value = row[layout.value]
        is_count = unit in _COUNTS and not metric.lower().startswith("avg")
        if metric in launch and launch[metric][0].text.startswith("("):
            del launch[metric]  # an earlier row has this metric as (x, y, z)
        if metric in launch and (launch[metric][0].text, launch[metric][1]) != (value, unit):
            same = base_unit(unit)[1] == self.units.get(metric) and launch[metric][0].text == value
            metric = metric if same else f"{metric} ({row.get('Section Name', number)})"
        self._set_cell(launch, metric, Cell(number, value, is_count and "avg" not in metric), unit)

    def _set_cell(self, launch: Launch, name: str, cell: Cell, unit: str) -> None:
        if _IGNORED_COLUMNS.fullmatch(name) or not name:
            return
        if name in _LABELS:
            launch[name] = (cell, unit)
            return
        listed = _INSTANCES.fullmatch(cell.text.strip())
        cell = cell._replace(text=listed[1]) if listed else cell
        printed = _WITH_UNIT.fullmatch(cell.text.strip())
        cell_unit = printed[2] if printed and printed[2] != "e" else ""
        if printed and (cell_unit or "(" in cell.text):
            cell, unit = cell._replace(text=printed[1]), cell_unit or unit
        base = base_unit(unit)[1]
        if not is_missing(cell.text) and self.units.setdefault(name, base) != base:
            raise DseError(
                f"{self.name}, line {cell.line}: {name} is in {unit!r} here and in "
                f"{self.units[name]!r} before"
            )
        launch[name] = (cell, unit)

    def records(self, kind: str, content: str) -> Records:
        if not self.rows:
            raise DseError(f"{self.name} is CSV of {kind} with a header and no launches below it")
        launches = [*self.rows.values()]
        names = dict.fromkeys(name for launch in launches for name in launch)
        cells = (one[0] for row in launches for n, one in row.items() if n not in _LABELS)
        read = column_number_reader(cells, self.name)
        columns: dict[str, list[Any]] = {}
        rounded: dict[str, None] = {}
        for name in names:
            values: list[Any] = []
            texts = 0
            for launch in launches:
                cell, unit = launch.get(name, (Cell(0, ""), ""))
                text = cell.text.strip()
                missing = not text or (name not in _LABELS and is_missing(text))
                value = None if missing or name in _LABELS else read(cell)
                if missing or (value is not None and not math.isfinite(value)):
                    values.append(None)
                elif value is None:
                    texts, last = texts + 1, cell
                    values.append(_NUMBER.sub("", text) if kind == "nvprof" else text)
                else:
                    factor = base_unit(unit, binary=kind == "nvprof")[0]
                    if factor == 1000 and base_unit(unit)[1] == "B":
                        rounded[name] = None
                    if factor != 1:
                        value = value * factor.numerator / factor.denominator
                    values.append(value)
            if texts and any(isinstance(value, (int, float)) for value in values):
                raise DseError(
                    f"{self.name}, line {last.line}: {name} is {last.text!r}, expected a number "
                    "as in other lines"
                )
            if name in _VERSIONS and all(map(is_numeric, filter(None, values))):
                values, texts = [parse_number(value or "") for value in values], 0
            if any(value is not None for value in values):
                columns[name] = ["" if v is None else v for v in values] if texts else values
        notes = [f"{n} is rounded to thousands of bytes: print --print-units base" for n in rounded]
        if self.other_events:
            events = f"{self.other_events} copies and memory events"
            notes.append(f"left out, as they are no kernels: {events}")
        assumed = _with_wave_size(columns, content) if kind == "rocprof" else []
        units = {name: unit for name, unit in self.units.items() if name in columns and unit}
        return Records(
            kind=kind,
            axes=(),
            columns=columns,
            units=units,
            notes=tuple(notes),
            assumptions=tuple(assumed),
        )


def _with_wave_size(columns: dict[str, list[Any]], text: str) -> list[str]:
    """Add a column with the lanes of a wavefront if there is none; return the assumptions."""
    name = next((n for n in _WAVE_SIZES if n in columns), _WAVE_SIZES[0])
    rows = len(next(iter(columns.values())))
    sizes = [size if size else None for size in columns.get(name, [None] * rows)]
    if None not in sizes or any(waves in columns for waves in _WAVES):
        return []
    known = set(re.findall(r"\bgfx([0-9a-f]{3,4})\b", text))
    narrow = bool(known) and all(len(one) == 4 for one in known)  # 4 digits: gfx10xx or later
    assumed = 32 if narrow else 64
    columns[name] = [size or assumed for size in sizes]
    where = "gfx10 and later (RDNA)" if narrow else "CDNA and gfx9; RDNA has 32"
    return [
        f"warp_size is not in the file: assumed {assumed}, as of {where} (--set warp_size=N gives "
        "another)"
    ]
