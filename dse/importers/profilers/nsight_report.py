"""Read reports of Nsight Compute (``.ncu-rep``) with NVIDIA's package ``ncu-report``."""

from typing import Any

from dse.importers.formats import MeasuredFile
from dse.importers.profilers.profiler_csv import base_unit
from dse.importers.records import Records, rows_to_columns
from symbolic.errors import DseError

_SECTORS = "memory_l2_theoretical_sectors_global"
_RUNS = ("inst_executed", "smsp__inst_executed", "sass__inst_executed")
#: Name of a metric that is in nanoseconds, even if the report does not give its unit.
_TIME = "__time_duration."


def from_report(file: MeasuredFile) -> Records:
    """Read a report; each launch is a row with all metrics, converted to base units."""
    path = file.path
    try:
        import ncu_report
    except ImportError:
        raise DseError(
            f"{str(path)!r} is a report of Nsight Compute: reading it needs NVIDIA's package "
            "ncu-report (pip install ncu-report); or convert it (ncu --import FILE --page raw "
            "--csv) and import that"
        ) from None
    if not _is_whole(path.read_bytes()):
        raise DseError(f"{str(path)!r} is a report of Nsight Compute that is cut off")
    try:
        context = ncu_report.load_report(str(path))
        actions = [
            context.range_by_idx(k).action_by_idx(j)
            for k in range(context.num_ranges())
            for j in range(context.range_by_idx(k).num_actions())
        ]
        rows = [_row(action) for action in actions]
    except Exception as error:  # the binary package may raise anything for damaged files
        raise DseError(f"{str(path)!r} is no whole report of Nsight Compute: {error}") from error
    if not rows:
        raise DseError(f"{str(path)!r} is a report of Nsight Compute without launches, or cut off")
    units = {name: unit for _, result in rows for name, unit in result.items()}
    columns = rows_to_columns([values for values, _ in rows])
    return Records(kind="ncu", axes=(), columns=columns, units=units)


def _is_whole(raw: bytes) -> bool:
    """True if the last block of a report is complete; NVIDIA's package also reads a cut report.

    A block consists of the size of its header (four bytes), the header and the payload. Field 5 of
    the header is the size of the payload. Packed reports return True; the package checks them.
    """
    if raw[:4] != b"NVR\0":
        return True
    at = 8 + int.from_bytes(raw[4:8], "little")
    while 0 < at < len(raw):
        start, at = at + 4, at + 4 + int.from_bytes(raw[at : at + 4], "little")
        payload = _protobuf_field(raw[start:at], 5)
        at = at + payload if payload is not None else -1
    return at == len(raw)


def _protobuf_field(message: bytes, field: int) -> int | None:
    """Return an integer field of a protocol buffer; 0 if it is missing, None if it is cut off."""
    at, result = 0, 0
    while at < len(message):
        key, at = _read_varint(message, at)
        value = 0
        if key & 7 in (0, 2):
            value, at = _read_varint(message, at)
        else:
            at += 8 if key & 7 == 1 else 4
        if key & 7 == 2:
            at += value
        elif key >> 3 == field:
            result = value
    return result if at == len(message) else None


def _read_varint(message: bytes, start: int) -> tuple[int, int]:
    value = shift = 0
    while start < len(message):
        value |= (message[start] & 127) << shift
        shift, start = shift + 7, start + 1
        if message[start - 1] < 128 or shift > 70:
            break
    return value, start


def _row(action: Any) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {"Kernel Name": action.name()}
    units: dict[str, str] = {}
    for name in action.metric_names():
        if name.startswith(("breakdown:", "group:")):
            continue  # these entries only list the names of metrics
        metric = action.metric_by_name(name)
        value = metric.value() if metric.has_value() else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            factor, unit = base_unit(metric.unit() or ("nsecond" if _TIME in name else ""))
            values[name] = float(value) * factor.numerator / factor.denominator
            units[name] = unit
        elif isinstance(value, str):
            values[name] = value
    return values | _requests(action), units


def _instances(action: Any, name: str) -> dict[Any, Any]:
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    keys = metric.correlation_ids()
    return {keys.value(k): metric.value(k) for k in range(metric.num_instances())}


def _requests(action: Any) -> dict[str, float]:
    """Count global requests (coalesced and uncoalesced) and barriers from the instructions."""
    result: dict[str, float] = {}
    actual, ideal = (_instances(action, name) for name in (_SECTORS, f"{_SECTORS}_ideal"))
    runs = next(filter(None, (_instances(action, name) for name in _RUNS)), {})
    if actual and ideal and runs:
        moved = [place for place in actual if actual[place] > 0]
        uncoalesced = [place for place in moved if actual[place] > ideal.get(place, 0)]
        requests = float(sum(runs.get(place, 0) for place in uncoalesced))
        result["uncoalesced requests"] = requests
        result["uncoalesced sectors"] = float(sum(actual[place] for place in uncoalesced))
        result["coalesced requests"] = float(sum(runs.get(place, 0) for place in moved)) - requests
    opcodes = _instances(action, "sass__inst_executed_per_opcode")
    if opcodes:
        result["executed BAR"] = float(opcodes.get("BAR", 0))
    return result
