"""The roofline figure: kernels below the roofs and ceilings of machines (Williams 2009)."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.evaluation import evaluate
from dse.plots.axes import add_legend, axes_of, set_title, use_log_scale
from dse.plots.data import MAX_SERIES
from dse.plots.style import STYLES, distinct_styles, style_of
from symbolic.answer import value_text
from symbolic.errors import DseError, GraphError
from symbolic.library import load_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Endings of files that ``dse analyze`` reads; any other file is a profile or the answers of one.
_ANALYZED = (".cu", ".cuh", ".cubin", ".ptx", ".toml", "")
#: Relative tolerance of a roof: printed bandwidths are rounded.
_TOLERANCE = 1e-3
#: Decades of the intensity beyond the kernels and the corners of the roofs.
_MARGIN = 3.0
_PANEL_WIDTH, _PANEL_HEIGHT = 6.4, 4.8  # inches
_CEILING_GAP = 1.25  # ceilings nearer than this factor share a label


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel on a machine: its time [s], and quantities of the model ``roofline``.

    ``low`` and ``high`` are the ends of the interval of the time; both are the time if measured.
    """

    name: str
    machine: str
    time: float
    low: float
    high: float
    values: Mapping[str, float]

    @property
    def is_shown(self) -> bool:
        """True if it has operations, and bytes of DRAM."""
        place = self.values.get("arithmetic_intensity", math.inf)
        return self.values["work_flops"] > 0 and 0 < place < math.inf

    def rate(self, time: float) -> float:
        """Return the operations per second in a time."""
        return self.values["work_flops"] / time

    @property
    def fault(self) -> str:
        """The sentence that says why it is not shown, or is above a roof; empty if neither."""
        roof = self.values.get("attainable_flops", math.inf)
        if not self.is_shown:
            what = "bytes of DRAM" if self.values["work_flops"] > 0 else "floating-point operations"
            return f"{self.name} is not shown, as it has no {what}"
        factor = self.rate(self.time) / roof
        if factor <= 1 + _TOLERANCE:
            return ""
        rates = [_scaled(rate) for rate in (self.rate(self.time), roof)]
        return (
            f"{self.name} on {self.machine} is {factor:.3g} times above the lowest roof "
            f"({rates[0]} of {rates[1]}): its time, its work or the machine is wrong"
        )


def roofline(
    sources: Any = (),
    *,
    machines: str | Sequence[str] | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    row: Mapping[str, Any],
    ax: Axes | None = None,
) -> Axes:
    """Draw kernels below the roofs of machines, a panel for each; return the first Axes.

    ``row``: ``levels`` of memory and ``ceilings`` of pipes, as quantities of the model.
    """
    from matplotlib.ticker import EngFormatter

    names = [machines] if isinstance(machines, str) else list(machines or ())
    several = isinstance(sources, (list, tuple))
    points = [
        point
        for source in (sources if several else [sources])
        for point in _points(source, names, dict(set or {}), row)
    ]
    names = names or list(dict.fromkeys(point.machine for point in points))
    if not names:
        raise DseError("no machine is given: name one or more with machines= (--machine)")
    kernels = list(dict.fromkeys(point.name for point in points))
    if len(kernels) > MAX_SERIES:
        raise DseError(f"{len(kernels)} kernels are too many (at most {MAX_SERIES})")
    first = axes_of(ax, _PANEL_WIDTH * len(names), _PANEL_HEIGHT + 0.16 * len(kernels))
    panels = [first]
    if len(names) > 1:
        place = first.get_subplotspec()
        if place is None:
            raise DseError("ax belongs to no grid of subplots: leave it out, or name one machine")
        figure, grid = first.figure, place.subgridspec(1, len(names))
        first.remove()
        panels = [figure.add_subplot(grid[0, column]) for column in range(len(names))]
    roofs = {name: _roofs(name, dict(set or {}), row) for name in names}
    limits = _limits(points, roofs, row)
    looks = dict(zip(kernels, distinct_styles(kernels), strict=True))
    for name, panel in zip(names, panels, strict=True):
        panel.grid(visible=True, color="0.88", lw=0.7)
        panel.set(xlim=limits[0], ylim=limits[1])
        _draw_roofs(panel, roofs[name], limits, row)
        own = [point for point in points if point.machine == name]
        shown = [point for point in own if point.is_shown]
        for point in shown:
            _draw_point(panel, point, looks[point.name], row)
        _explain_marks(panel, shown, row)
        faults = "; ".join(filter(None, (point.fault for point in own)))
        set_title(panel, f"{name}: {faults}" if faults else name, 70)
        panel.set_xlabel("operations per byte [1/B]")
        panel.set_ylabel("operations per second [1/s]")
        panel.yaxis.set_major_formatter(EngFormatter(sep=" "))
        use_log_scale(panel, "xy")
        add_legend(panel, at_bottom=True, ncols=2)
    return panels[0]


def _explain_marks(ax: Axes, points: Sequence[RooflinePoint], row: Mapping[str, Any]) -> None:
    """Add entries of the legend for the bars and the small marks, if there are any."""
    if any(point.low < point.high for point in points):
        text = "interval of the time, below the lowest roof"
        ax.plot([], [], color="0.3", lw=1.4, marker="|", label=text)
    others = [
        each for each in row["levels"][1:] if any(each["intensity"] in p.values for p in points)
    ]
    if others:
        text = f"at the bytes of {' and '.join(level['name'] for level in others)}"
        ax.plot([], [], ls="", marker="o", ms=4.5, mfc="none", mec="0.3", label=text)


def faults_of(ax: Axes) -> list[str]:
    """Return what the titles of a figure say of kernels above a roof, or not shown."""
    titles = [" ".join(panel.get_title().split()) for panel in ax.figure.axes]
    return [title for title in titles if ": " in title]


# --- the kernels
def _points(
    source: Any, machines: Sequence[str], values: Mapping[str, Any], row: Mapping[str, Any]
) -> Iterator[RooflinePoint]:
    """Yield the kernels of a source: analyzed, or measured."""
    from dse.analysis import Analysis, analyze

    if isinstance(source, (str, PathLike)):
        path = Path(fspath(source))
        if path.suffix.lower() in _ANALYZED:
            if not machines:
                raise DseError(f"{path}: name the machines with machines= (--machine)")
            name = path if path.suffix else str(source)
            result = analyze(name, machines, set=values, moves=False)
            yield from _answer_points(path.stem, result.to_dict())
            return
        elif path.suffix.lower() == ".json":
            data = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(data, list) and data and "roofline" in data[0]:
                yield from _answer_points(path.stem, data)
                return
    if isinstance(source, Analysis):
        yield from _answer_points(source.subject.removesuffix(".cu"), source.to_dict())
    else:
        yield from _measured_points(source, machines, values, row)


def _answer_points(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[RooflinePoint]:
    """Yield the best variant on each machine."""
    best: dict[str, Mapping[str, Any]] = {}
    for each in rows:
        if not each["status"]:
            best.setdefault(each["machine"], each)
    if not best:
        raise DseError(f"{name} has no answer: {rows[0]['status']}")
    for machine, each in best.items():
        if not each["roofline"]:
            raise DseError(
                f"{name} on {machine}: {each['model']} gives no bytes of DRAM, which a roofline "
                "needs: give dram_bytes by set (--set dram_bytes=1GB)"
            )
        times = {"time": each["time"], "low": each["time_low"], "high": each["time_high"]}
        yield RooflinePoint(name=name, machine=machine, values=each["roofline"], **times)


def _measured_points(
    source: Any, machines: Sequence[str], values: Mapping[str, Any], row: Mapping[str, Any]
) -> Iterator[RooflinePoint]:
    """Yield the rows of a profile, all on one machine."""
    from dse.fitting.rows import read_columns, read_table
    from dse.runs.files import open as open_data

    if len(machines) != 1:
        raise DseError(
            f"a profile is of one machine, and {', '.join(machines) or 'none'} is given: name it "
            "with machines= (--machine)"
        )
    is_path = isinstance(source, (str, PathLike))
    table, model = read_table(open_data(source) if is_path else source), load_model("roofline")
    known = {"time", *model.inputs, *model.yields}
    columns = read_columns(table, model, [name for name in table.columns if name in known])
    labels = [str(each) for each in table.columns.get("kernel", range(1, table.rows + 1))]
    wanted = ["work_flops", "arithmetic_intensity", "bandwidth_flops", "time"]
    wanted += [level["intensity"] for level in row["levels"][1:] if level["bytes"] in columns]
    ds = evaluate(model, machine=machines[0], outputs=wanted, **{**columns, **values})
    rows = {name: np.broadcast_to(ds[name].values, (table.rows,)) for name in wanted}
    roofs = _roofs(machines[0], values, row)
    peak = max(roofs[name] for name in row["ceilings"] if name in roofs)
    for at, label in enumerate(labels):
        own = {name: float(column[at]) for name, column in rows.items()}
        own["attainable_flops"] = min(own["bandwidth_flops"], peak)
        times = dict.fromkeys(("time", "low", "high"), own["time"])
        yield RooflinePoint(name=label, machine=machines[0], values=own, **times)


# --- the machines
def _roofs(machine: str, values: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, float]:
    """Return the bandwidths and ceilings of a machine, those that it gives."""
    model, result = load_model("roofline"), {}
    used = {name: value for name, value in values.items() if name in model.quantities}
    for name in (*(level["bandwidth"] for level in row["levels"]), *row["ceilings"]):
        try:
            ds = evaluate(model, machine=machine, outputs=[name], **used)
        except GraphError:
            continue  # nobody published it
        if float(ds[name]) > 0:
            result[name] = float(ds[name])
    if not {"mem_bandwidth", "fp32_ceiling"} <= result.keys():
        raise DseError(
            f"{machine} has no roofs: a roofline needs mem_bandwidth and cores_per_sm of a GPU; "
            "give them by set (--set cores_per_sm=128)"
        )
    return result


def _limits(
    points: Sequence[RooflinePoint],
    roofs: Mapping[str, Mapping[str, float]],
    row: Mapping[str, Any],
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both sides: all kernels, and the corners of the roofs with FP32."""
    bandwidths = [level["bandwidth"] for level in row["levels"]]
    across, up = [], []
    for own in roofs.values():
        peaks = [own[name] for name in row["ceilings"] if name in own]
        across += [own["fp32_ceiling"] / own[name] for name in bandwidths if name in own]
        across.append(max(peaks) / own["mem_bandwidth"])
        up += [max(peaks)]
    for point in (point for point in points if point.is_shown):
        across += [point.values.get(level["intensity"], math.inf) for level in row["levels"]]
        up += [point.rate(time) for time in (point.time, point.low, point.high)]
    across = [each for each in across if 0 < each < math.inf]
    low, high = min(across) / _MARGIN, max(across) * _MARGIN
    lowest = min(own["mem_bandwidth"] for own in roofs.values()) * low
    up = [each for each in up if 0 < each < math.inf]
    return (low, high), (min(*up, lowest * _MARGIN) / 2, max(up) * 2)


def _draw_roofs(ax: Axes, roofs: Mapping[str, float], limits: Any, row: Mapping[str, Any]) -> None:
    """Draw a slope for each level of memory and a level for each pipe, with their names."""
    (low, high), (bottom, _) = limits
    top = max(roofs[name] for name in row["ceilings"] if name in roofs)
    for level in row["levels"]:
        if bandwidth := roofs.get(level["bandwidth"]):
            ends = np.array([max(low, bottom / bandwidth), min(high, top / bandwidth)])
            text = f"{level['name']}, {value_text(bandwidth, 'B/s')}"
            look = style_of(level["look"]).line_options(lw=1.6)
            ax.plot(ends, bandwidth * ends, label=text, **look)
    fastest = max(
        roofs[level["bandwidth"]] for level in row["levels"] if level["bandwidth"] in roofs
    )
    groups: list[list[tuple[float, str]]] = []
    for peak, text in sorted((roofs[n], t) for n, t in row["ceilings"].items() if n in roofs):
        ax.plot([peak / fastest, high], [peak, peak], color="0.45", lw=1.0, ls="-")
        if groups and peak < _CEILING_GAP * groups[-1][0][0]:
            groups[-1].append((peak, text))
        else:
            groups.append([(peak, text)])
    for group in groups:
        text = ", ".join(f"{name} {_scaled(peak)}" for peak, name in group)
        style: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": 7, "color": "0.3"}
        ax.text(high / 1.05, group[-1][0] * 1.02, textwrap.fill(text, 60), **style)


def _scaled(rate: float) -> str:
    """Return operations per second for people."""
    return f"{rate / 1e12:.4g} T/s" if rate >= 1e11 else f"{rate / 1e9:.4g} G/s"


def _draw_point(ax: Axes, point: RooflinePoint, look: Any, row: Mapping[str, Any]) -> None:
    """Draw a kernel with its interval, and small marks at its operations per byte of caches."""
    from matplotlib.patheffects import withStroke

    rate, roof = point.rate(point.time), point.values.get("attainable_flops", math.inf)
    place = point.values["arithmetic_intensity"]
    ends = [min(point.rate(time), roof) for time in (point.high, point.low)]
    ax.plot([place, place], ends, color=look.color, lw=1.4, zorder=5)
    for level in row["levels"][1:]:
        other = point.values.get(level["intensity"], math.inf)
        if 0 < other < math.inf:
            edge: dict[str, Any] = {"mfc": "none", "mec": style_of(level["look"]).color, "mew": 1.0}
            ax.plot([other], [rate], ls="", marker=look.marker, ms=4.5, zorder=5, **edge)
    text = f"{point.name}: {value_text(point.time, 's')}"
    style = look.mark_options(8)
    if point.fault:
        style |= {"marker": "X", "ms": 11, "mfc": STYLES["optimum"].color}
        text += ", above a roof"
    ax.plot([place], [rate], label=text, **style)
    is_at_end = place > ax.get_xlim()[1] / _MARGIN**2
    ax.annotate(
        point.name,
        (place, rate),
        xytext=(-7 if is_at_end else 7, -10),
        ha="right" if is_at_end else "left",
        textcoords="offset points",
        fontsize=8,
        zorder=7,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )
