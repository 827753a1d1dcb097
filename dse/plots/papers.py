"""The figures of the papers: a row of data for each, drawn by the kinds of figures that exist."""

from __future__ import annotations

import inspect
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.plots.bars import bars
from dse.plots.curves import lines
from dse.plots.energy import sms
from dse.plots.frame import axes_of, new_figure
from dse.plots.laws import law, lockstep
from dse.plots.levels import levels
from dse.plots.looks import LOOKS, variants
from dse.plots.maps import categories, heatmap
from dse.plots.passes import zigzag
from dse.plots.scatter import points
from dse.plots.shares import power_shares
from dse.plots.sharing import efficiency
from dse.plots.temperature import temperature
from dse.plots.threads import runtime
from dse.plots.timelines import timeline
from dse.plots.transits import transit
from dse.plots.warps import mwp
from dse.study.data import StudyData
from sweeps.grid.goals import texts_of
from symbolic.errors import UnknownNameError, nearest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Paper", "Row", "paper", "paper_figure", "papers", "spans"]

_DATA = Path(__file__).parents[1] / "data" / "figures"
_DRAWN = (
    *(bars, categories, efficiency, heatmap, levels, lines, lockstep, mwp, points),
    *(power_shares, runtime, sms, temperature, timeline, transit, zigzag),
)
_KINDS: Mapping[str, Callable[..., Any]] = {"masses": law} | {
    draw.__name__: draw for draw in _DRAWN
}
#: Of a panel, in inches.
_SIZE = (6.4, 4.6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A figure of a paper: what draws it, or why nothing does.

    ``see`` says what to see, ``theirs`` what of it is the paper's, ``ours`` what the model's.
    ``study`` is the study, ``given`` what else the kind takes; ``panels`` say what each of several
    has instead; ``printed`` are marks at values that the text prints.
    """

    number: str
    shows: str
    why: str = ""
    kind: str = ""
    see: str = ""
    theirs: str = ""
    ours: str = ""
    study: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    ax: Mapping[str, Any] = field(default_factory=dict)
    panels: Sequence[Mapping[str, Any]] = ({},)
    columns: int = 2
    size: Sequence[float] = _SIZE
    printed: Sequence[Mapping[str, Any]] = ()

    @property
    def caption(self) -> str:
        """What the figure shows, what to see, and whose numbers these are."""
        whose = (f"{who}: {text}." for who, text in self.whose.items() if text)
        return " ".join([f"{self.shows}.", *([f"{self.see}."] if self.see else []), *whose])

    @property
    def whose(self) -> dict[str, str]:
        """The paper's numbers, and the model's."""
        return {"The paper's": self.theirs, "The model's": self.ours}


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper and its figures by their numbers."""

    key: str
    title: str
    cited: str
    aliases: Sequence[str]
    figures: Mapping[str, Row]

    def figure(self, number: int | str) -> Row:
        """The row of a figure by its number."""
        text = str(number).strip()
        if text not in self.figures:
            raise UnknownNameError(
                f"{self.key} has no figure {number!r}; it has "
                f"{', '.join(spans(list(self.figures)))}"
            )
        return self.figures[text]


@cache
def papers() -> Mapping[str, Paper]:
    """The papers whose figures are known, by their keys."""
    return {path.stem: _read(path) for path in sorted(_DATA.glob("*.toml"))}


def paper(name: str) -> Paper:
    """A paper by its key, or by another name of it."""
    known = papers()
    names = {alias: key for key, one in known.items() for alias in (key, *one.aliases)}
    if name.lower() not in names:
        raise UnknownNameError(
            f"{name!r} is no paper{nearest(name.lower(), list(names))}; there are "
            + ", ".join(f"{key} ({', '.join(one.aliases)})" for key, one in known.items())
        )
    return known[names[name.lower()]]


def _read(path: Path) -> Paper:
    """A paper of a file; a row ``like`` another has what it does not say itself from that."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    why = data.pop("why", {})
    found: dict[str, dict[str, Any]] = {}
    for row in data.pop("figure"):
        row = _over(found[row.pop("like")], row) if "like" in row else row
        row["why"] = why.get(row.get("why", ""), row.get("why", ""))
        found |= {number: {**row, "number": number} for number in _numbers(row["number"])}
    figures = {number: Row(**found[number]) for number in sorted(found, key=int)}
    return Paper(key=path.stem, **data, figures=figures)


def _numbers(text: str) -> Iterator[str]:
    """``"1-3, 10"`` one by one."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


def spans(numbers: Sequence[str]) -> Iterator[str]:
    """Numbers as people write them.

    >>> list(spans(["1", "2", "3", "5"]))
    ['1-3', '5']
    """
    values = [int(number) for number in numbers]
    starts = [k for k, v in enumerate(values) if k == 0 or values[k - 1] != v - 1]
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        first, last = values[start], values[stop - 1]
        yield str(first) if first == last else f"{first}-{last}"


def _over(base: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what another says instead, table by table; a range of an axis is one thing."""
    both = [name for name in base.keys() & row.keys() if _tables(base[name], row[name])]
    return {**base, **row, **{name: _over(base[name], row[name]) for name in both}}


def _tables(*values: Any) -> bool:
    return all(isinstance(value, dict) and "start" not in value for value in values)


def paper_figure(name: str, number: int | str, *, caption: bool = True) -> Figure:
    """A figure of a paper, as the model draws it, with the numbers that the text prints.

    Parameters
    ----------
    name : str
        The paper, such as ``"hong2012"`` or ``"transit"``.
    number : int or str
        Of the figure.
    caption : bool
        Whether what it shows, and whose numbers these are, stands below.

    Raises
    ------
    UnknownNameError
        An unknown paper or number, or a figure that is not drawn, with the reason.
    """
    found = paper(name)
    row = found.figure(number)
    if row.why:
        raise UnknownNameError(
            f"{found.cited}, Fig. {row.number} ({row.shows}) is not drawn: {row.why}"
        )
    columns = min(row.columns, len(row.panels))
    rows = -(-len(row.panels) // columns)
    wide, high = columns * row.size[0], rows * row.size[1]
    text = f"{found.cited}, Fig. {row.number}. {row.caption}"
    told = textwrap.wrap(text, int(wide * 15.5))
    figure = new_figure(wide, high + (0.2 + 0.16 * len(told) if caption else 0))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for k, panel in enumerate(row.panels):
        marks = [mark for mark in row.printed if mark.get("panel", 0) == k]
        _panel(axes[k], row, panel, marks)
    for ax in axes[len(row.panels) :]:
        ax.remove()
    if caption:
        figure.supxlabel("\n".join(told), x=0.01, ha="left", fontsize=8)
    return figure


def _panel(
    ax: Axes, row: Row, panel: Mapping[str, Any], marks: Sequence[Mapping[str, Any]]
) -> None:
    """One panel: the marks of what is printed, then what the model yields."""
    study, given, more = (
        _over(getattr(row, name), panel.get(name, {})) for name in ("study", "given", "ax")
    )
    axes, values = study.get("axes", {}), study.get("set", {})
    study["set"] = {name: value for name, value in values.items() if name not in axes}
    axes_of(ax)
    looks = variants(LOOKS["published"], len(marks))
    for mark, look in zip(marks, looks, strict=True):
        _mark(ax, mark, look)
    draw = _KINDS[row.kind]
    if "source" in inspect.signature(draw).parameters:
        drawn = {"outputs": texts_of(given["quantity"], "quantity")} if "quantity" in given else {}
        draw(StudyData(**{**drawn, **study}), ax=ax, **given)
    else:
        entries = {name: study[name] for name in ("model", "machine", "workload") if name in study}
        draw(ax=ax, **entries, **study["set"], **given)
    ax.set(**more)
    if "title" in panel:
        ax.set_title(panel["title"], fontsize=10)


def _mark(ax: Axes, mark: Mapping[str, Any], look: Any) -> None:
    """What the text prints: points, or a line across where it prints one side alone."""
    label = f"printed: {mark['label']}"
    if "y" not in mark:
        ax.axvline(mark["x"], **look.of_line(), label=label)
    elif "x" not in mark:
        ax.axhline(mark["y"], **look.of_line(), label=label)
    else:
        ax.plot(mark["x"], mark["y"], **look.of_mark(7), label=label)
