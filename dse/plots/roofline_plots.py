"""The roofline figure: kernels below the roofs and ceilings of machines (Williams 2009)."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.evaluation import evaluate
from dse.plots.axes import add_legend, axes_of, fold, set_title, split_axes, use_log_scale
from dse.plots.data import MAX_SERIES
from dse.plots.style import STYLES, distinct_styles, font_scale, style_of
from symbolic.answer import value_text
from symbolic.errors import DseError, GraphError
from symbolic.library import load_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Suffixes of files to analyze; other files contain answers of ``dse analyze`` or a profile.
_ANALYZED = (".cu", ".cuh", ".cubin", ".ptx", ".toml", "")
#: A relative excess over a roof up to this value counts as a rounding error.
_TOLERANCE = 1e-3
#: Factor by which an axis extends beyond the points at both ends.
_MARGIN = 3.0
#: Two ceilings share a label if their ratio is below this limit.
_NEAR = 1.25
_UNITS = ("FLOP/s", "OP/s")  # of floating-point and of integer operations
_PREDICTED = "predicted by the model alone; dse analyze adds the measured error"
_PANEL_WIDTH, _PANEL_HEIGHT, _LEGEND_LINE = 7.4, 4.8, 0.16


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel on a machine, with its time in seconds and quantities of the model ``roofline``.

    ``times`` are the time and both ends of its interval, which are equal for a measured time.
    """

    name: str
    machine: str
    times: tuple[float, float, float]
    values: Mapping[str, float]

    @property
    def rates(self) -> tuple[float, ...]:
        """Operations per second, for the time and for both ends of its interval."""
        return tuple(self.values["work_flops"] / time for time in self.times)

    @property
    def missing(self) -> str:
        """The name of the count without which the point cannot be drawn; empty if there is none."""
        missing = "" if self.values["arithmetic_intensity"] < math.inf else "bytes of DRAM"
        return missing if self.values["work_flops"] > 0 else "floating-point operations"

    @property
    def fault(self) -> str:
        """A sentence on how far the point is above the lowest roof; empty if the point is below."""
        rate, roof = self.rates[0], self.values["attainable_flops"]
        if self.missing or rate <= roof * (1 + _TOLERANCE):
            return ""
        rates = " of ".join(value_text(each, "FLOP/s") for each in (rate, roof))
        return (
            f"{self.name} on {self.machine} is {rate / roof:.3g} times above the lowest roof "
            f"({rates}): its time, its work or the machine is wrong"
        )


def roofline(
    sources: Any,
    *,
    machines: str | Sequence[str] | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    row: Mapping[str, Any],
    ax: Axes | None = None,
) -> Axes:
    """Draw kernels below the roofs of machines, a panel for each; return the first Axes.

    ``row`` has the ``levels`` of memory and the ``ceilings`` of pipes, as quantities of the model.
    """
    from matplotlib.ticker import EngFormatter

    names = [machines] if isinstance(machines, str) else list(machines or ())
    values = dict(set or {})
    listed = sources if isinstance(sources, (list, tuple)) else [sources]
    points = [point for each in listed for point in _points(each, names, values, row)]
    answered = dict.fromkeys(point.machine for point in points)
    if points and (absent := [name for name in names if name not in answered]):
        raise DseError(
            f"no source has an answer for {', '.join(absent)}, only for {', '.join(answered)}: "
            "analyze the kernel on it too"
        )
    names = names or list(answered)
    if not names:
        raise DseError("no machine is given: name one or more with machines= (--machine)")
    kernels = list(dict.fromkeys(point.name for point in points))
    if len(kernels) > MAX_SERIES:
        raise DseError(f"{len(kernels)} kernels are too many (at most {MAX_SERIES})")
    looks = dict(zip(kernels, distinct_styles(kernels), strict=True))
    roofs = {name: _roofs(name, values, row) for name in names}
    shown = [point for point in points if not point.missing]
    places = [point.values.get(each["intensity"]) for point in shown for each in row["levels"]]
    places += [max(own["peaks"])[0] / speed for own in roofs.values() for speed, _ in own["levels"]]
    finite = [place for place in places if place and place < math.inf]
    ends = min(finite) / _MARGIN, max(finite) * _MARGIN
    rows = len(kernels) + (len(row["levels"]) + 3) * (font_scale() > 1)  # in one column
    high = _PANEL_HEIGHT + _LEGEND_LINE * (rows + bool(points))
    across = len(names) if len(names) < 4 else math.ceil(len(names) ** 0.5)
    if font_scale() > 1 and len(names) > 1:  # one below the other: side by side, text would shrink
        across, high = 1, 0.8 * high
    down = -(-len(names) // across)
    panels = split_axes(axes_of(ax, _PANEL_WIDTH * across, high * down), down, across, len(names))
    for name, panel in zip(names, panels, strict=True):
        axes_of(panel)
        _draw_roofs(panel, roofs[name], ends)
        own = [point for point in shown if point.machine == name]
        for point in own:
            _draw_point(panel, point, looks[point.name], row)
        set_title(panel, _title(name, [point for point in points if point.machine == name]), 70)
        panel.set(xlabel="operations per byte [FLOP/B]", ylabel="operations per second [FLOP/s]")
        panel.yaxis.set_major_formatter(EngFormatter(sep=" "))
        use_log_scale(panel, "xy")
        _explain_marks(panel, own, row)
        note = fold(_PREDICTED, 80) if any(p.times[1] < p.times[2] for p in own) else None
        add_legend(panel, title=note, at_bottom=True, ncols=2)
    limits = [panel.get_ylim() for panel in panels]
    for name, panel in zip(names, panels, strict=True):
        panel.set(xlim=ends, ylim=(min(limits)[0], max(top for _, top in limits)))
        _name_points(panel, [point for point in shown if point.machine == name])
    return panels[0]


def _title(machine: str, points: Sequence[RooflinePoint]) -> str:
    notes = [point.fault for point in points if point.fault]
    for what in dict.fromkeys(point.missing for point in points if point.missing):
        names = ", ".join(point.name for point in points if point.missing == what)
        notes.append(f"not shown, without {what}: {names}")
    return f"{machine}: {'; '.join(notes)}" if notes else machine


def faults_of(ax: Axes) -> list[str]:
    """Return the notes in the titles of a figure: kernels above a roof, and kernels not shown."""
    titles = [" ".join(panel.get_title().split()) for panel in ax.figure.axes]
    return [title for title in titles if ": " in title]


def _points(
    source: Any, machines: Sequence[str], values: Mapping[str, Any], row: Mapping[str, Any]
) -> Iterator[RooflinePoint]:
    """Yield the points of the kernels in a source; analyze the source if it has no results."""
    from dse.analysis import Analysis, analyze

    is_path = isinstance(source, (str, PathLike))
    path = Path(fspath(source)) if is_path else Path()
    name, answers = path.stem, None
    if is_path and path.suffix.lower() in _ANALYZED:
        if not machines:
            raise DseError(f"{path}: name the machines with machines= (--machine)")
        answers = analyze(source, machines, set=values, moves=False).to_dict()
    elif is_path and path.suffix.lower() == ".json":
        answers = json.loads(path.read_text(encoding="utf-8"))
        answers = answers if isinstance(answers, list) and "roofline" in answers[0] else None
    elif isinstance(source, Analysis):
        name, answers = source.subject.removesuffix(".cu"), source.to_dict()
    if answers is None:
        yield from _measured_points(source, machines, values, row)
    else:
        yield from _answer_points(name, answers)


def _answer_points(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[RooflinePoint]:
    best = {each["machine"]: each for each in reversed(rows) if not each["status"]}
    if not best:
        raise DseError(f"{name} has no answer: {rows[0]['status']}")
    for machine, each in reversed(best.items()):
        if not each["roofline"]:
            raise DseError(
                f"{name} on {machine}: {each['model']} gives no bytes of DRAM, which a roofline "
                "needs: give dram_bytes by set (--set dram_bytes=1GB)"
            )
        times = each["time"], each["time_low"], each["time_high"]
        yield RooflinePoint(name=name, machine=machine, times=times, values=each["roofline"])


def _measured_points(
    source: Any, machines: Sequence[str], values: Mapping[str, Any], row: Mapping[str, Any]
) -> Iterator[RooflinePoint]:
    """Yield a point for each row of a profile of one machine."""
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
    wanted = ["work_flops", "arithmetic_intensity", "bandwidth_flops", "time"]
    wanted += [level["intensity"] for level in row["levels"][1:] if level["bytes"] in columns]
    ds = evaluate(model, machine=machines[0], outputs=wanted, **{**columns, **values})
    rows = {name: np.broadcast_to(ds[name].values, (table.rows,)) for name in wanted}
    peak = max(_roofs(machines[0], values, row)["peaks"])[0]
    for at, name in enumerate(table.columns.get("kernel", range(1, table.rows + 1))):
        own = {key: float(column[at]) for key, column in rows.items()}
        own["attainable_flops"] = min(own["bandwidth_flops"], peak)
        times = (own["time"],) * 3
        yield RooflinePoint(name=str(name), machine=machines[0], times=times, values=own)


def _roofs(
    machine: str, values: Mapping[str, Any], row: Mapping[str, Any]
) -> dict[str, list[tuple[float, Any]]]:
    """Return the roofs of a machine: (bandwidth, row) in "levels", and (peak, name) in "peaks"."""
    model = load_model("roofline")
    used = {name: value for name, value in values.items() if name in model.quantities}

    def find(name: str) -> float:
        try:
            return float(evaluate(model, machine=machine, outputs=[name], **used)[name])
        except GraphError:
            return 0.0  # the machine file lacks the value

    levels = [(find(level["bandwidth"]), level) for level in row["levels"]]
    peaks = sorted((find(name), text) for name, text in row["ceilings"].items())
    result: dict[str, list[tuple[float, Any]]] = {
        "levels": [level for level in levels if level[0]],
        "peaks": [peak for peak in peaks if peak[0]],
    }
    if not (levels[0][0] and result["peaks"]):
        raise DseError(
            f"{machine} has no roofs: a roofline needs mem_bandwidth and cores_per_sm of a GPU; "
            "give them by set (--set cores_per_sm=128)"
        )
    return result


def _draw_roofs(ax: Axes, roofs: Mapping[str, Any], ends: tuple[float, float]) -> None:
    top, fastest = roofs["peaks"][-1][0], max(speed for speed, _ in roofs["levels"])
    for speed, level in roofs["levels"]:
        across = np.array([ends[0], min(ends[1], top / speed)])
        look = style_of(level["look"]).line_options(lw=1.6)
        label = f"{level['name']}, {value_text(speed, 'B/s')}"
        ax.plot(across, speed * across, label=label, **look)
    style: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points"}
    style |= {"xytext": (0, -4 * font_scale()), "va": "bottom", "color": "0.3", "fontsize": "small"}
    text, highest = "", 0.0
    for peak, name in [*roofs["peaks"], (math.inf, "")]:
        if text and peak > _NEAR * highest:  # at the right of the frame no roof crosses the text
            ax.annotate(text, (1.01, highest), **style)
            text = ""
        if peak < math.inf:
            ax.plot([peak / fastest, ends[1]], [peak, peak], color="0.45", lw=1.0, ls="-")
            text += "\n" * bool(text) + f"{name} {value_text(peak, _UNITS['INT' in name])}"
            highest = peak


def _small_mark(level: Mapping[str, Any], color: str) -> dict[str, Any]:
    style = {"ls": "", "ms": 5.5, "mew": 1.0, "color": color, "markerfacecoloralt": "white"}
    return style | {"fillstyle": level["fill"]}


def _draw_point(ax: Axes, point: RooflinePoint, look: Any, row: Mapping[str, Any]) -> None:
    rate, place = point.rates[0], point.values["arithmetic_intensity"]
    bar = [min(each, point.values["attainable_flops"]) for each in point.rates[:0:-1]]
    ax.plot([place, place], bar, color=look.color, lw=1.4, zorder=5)
    for level in row["levels"][1:]:
        if 0 < (other := point.values.get(level["intensity"], 0.0)) < math.inf:
            ax.plot([other], [rate], marker=look.marker, zorder=5, **_small_mark(level, look.color))
    style, text = look.mark_options(8), f"{point.name}: {value_text(point.times[0], 's')}"
    if point.fault:
        style |= {"marker": "X", "ms": 11, "mfc": STYLES["optimum"].color}
        text += ", above a roof"
    ax.plot([place], [rate], label=text, **style)


def _name_points(ax: Axes, points: Sequence[RooflinePoint]) -> None:
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    at = [(point.values["arithmetic_intensity"], point.rates[0]) for point in points]
    marks: Any = ax.transData.transform(at) if at else []
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in marks]
    taken += [text.get_window_extent() for text in ax.texts]
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small", "zorder": 7}
    style["path_effects"] = [withStroke(linewidth=2.5, foreground="white")]
    for point, place in zip(points, at, strict=True):
        for up, side in itertools.product((-10, 3, -20, 13, -30, 23, -40, 33), (1, -1)):
            note = ax.annotate(
                point.name, place, (7 * side, up), ha="left" if side > 0 else "right", **style
            )
            box = note.get_window_extent()
            is_inside = ax.bbox.x0 < box.x0 and box.x1 < ax.bbox.x1
            if is_inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            note.remove()  # without a name; the legend explains the mark


def _explain_marks(ax: Axes, points: Sequence[RooflinePoint], row: Mapping[str, Any]) -> None:
    known = {name for point in points for name in point.values}
    others = [level for level in row["levels"][1:] if level["intensity"] in known]
    if any(point.times[1] < point.times[2] for point in points):
        text = "interval of the time, below the lowest roof"
        ax.plot([], [], color="0.3", lw=1.4, marker="|", label=text)
    for level in others:
        label = f"at the bytes of {level['name']}"
        ax.plot([], [], label=label, marker="o", **_small_mark(level, "0.3"))
