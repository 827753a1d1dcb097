"""Draw the figures of the papers; ``data/figures`` says which kind of plot draws each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.plots.axes import axes_of, fold, new_figure, set_title
from dse.plots.kinds import KINDS
from dse.plots.style import STYLES, Style, style_variants
from dse.study.study import StudyData
from sweeps.grid.goals import texts_of
from symbolic.errors import UnknownNameError, nearest_hint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DATA = Path(__file__).parents[1] / "data" / "figures"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """A figure of a paper: the kind of plot that draws it, or in ``why`` the reason why none does.

    ``see`` is a hint for the reader, ``theirs`` names the data from the paper, ``ours`` the data
    from the model. ``given`` are options of the kind, which each panel in ``panels`` can override.
    ``printed`` are values that the text of the paper prints; they are marked in the figure.
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
    size: Sequence[float] = (6.4, 4.6)  # width and height of a panel in inches
    printed: Sequence[Mapping[str, Any]] = ()

    @property
    def caption(self) -> str:
        """The caption: the content, a hint, and the data from the paper and from the model."""
        whose = {"The paper's: ": self.theirs, "The model's: ": self.ours}
        texts = [self.shows, self.see, *(who + text for who, text in whose.items() if text)]
        return " ".join(f"{text}." for text in texts if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper and its figures by number."""

    key: str
    title: str
    cited: str
    aliases: Sequence[str]
    figures: Mapping[str, PaperFigure]

    def figure(self, number: int | str) -> PaperFigure:
        """Return the row of a figure by its number."""
        text = str(number).strip()
        if text not in self.figures:
            known = ", ".join(number_ranges(list(self.figures)))
            raise UnknownNameError(f"{self.key} has no figure {number!r}; it has {known}")
        return self.figures[text]


@cache
def read_papers() -> Mapping[str, Paper]:
    """Return a mapping from keys to the papers whose figures are described in ``data/figures``."""
    return {path.stem: _read_paper(path) for path in sorted(_DATA.glob("*.toml"))}


def find_paper(name: str) -> Paper:
    """Return a paper by its key or alias."""
    known = read_papers()
    names = {alias: key for key, paper in known.items() for alias in (key, *paper.aliases)}
    if name.lower() not in names:
        texts = [f"{key} ({', '.join(paper.aliases)})" for key, paper in known.items()]
        hint = nearest_hint(name.lower(), list(names))
        raise UnknownNameError(f"{name!r} is no paper{hint}; known are {', '.join(texts)}")
    return known[names[name.lower()]]


def _read_paper(path: Path) -> Paper:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    why = data.pop("why", {})
    rows: dict[str, dict[str, Any]] = {}
    for row in data.pop("figure"):
        row = _merge_tables(rows[row.pop("like")], row) if "like" in row else row
        row["why"] = why.get(row.get("why", ""), row.get("why", ""))
        rows |= {number: {**row, "number": number} for number in _expand_numbers(row["number"])}
    figures = {number: PaperFigure(**rows[number]) for number in sorted(rows, key=int)}
    return Paper(key=path.stem, **data, figures=figures)


def _expand_numbers(text: str) -> Iterator[str]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


def number_ranges(numbers: Sequence[str]) -> Iterator[str]:
    """Yield numbers as texts, and runs of consecutive numbers as ranges.

    >>> list(number_ranges(["1", "2", "3", "5"]))
    ['1-3', '5']
    """
    values = [int(number) for number in numbers]
    starts = [k for k, v in enumerate(values) if k == 0 or values[k - 1] != v - 1]
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        first, last = values[start], values[stop - 1]
        yield str(first) if first == last else f"{first}-{last}"


def _merge_tables(base: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Update ``base`` recursively by ``row``, but replace a table with the key ``start`` whole."""

    def is_table(value: Any) -> bool:
        return isinstance(value, dict) and "start" not in value

    both = [n for n in base.keys() & row.keys() if is_table(base[n]) and is_table(row[n])]
    return {**base, **row, **{name: _merge_tables(base[name], row[name]) for name in both}}


def paper_figure(name: str, number: int | str, *, caption: bool = True) -> Figure:
    """Draw a figure of a paper from the model, and mark the numbers that the text prints.

    Parameters:
        name (str): The paper, such as ``"hong2012"`` or ``"transit"``.
        number (int or str): Number of the figure.
        caption (bool): Write the caption below the figure.

    Raises:
        UnknownNameError: The paper or number is unknown, or the figure is not drawn; the message
            has the reason.
    """
    paper = find_paper(name)
    row = paper.figure(number)
    heading = f"{paper.cited}, Fig. {row.number}"
    if row.why:
        raise UnknownNameError(f"{heading} ({row.shows}) is not drawn: {row.why}")
    columns = min(row.columns, len(row.panels))
    rows = -(-len(row.panels) // columns)
    wide, high = columns * row.size[0], rows * row.size[1]
    text = fold(f"{heading}. {row.caption}", int(wide * 15.5))
    figure = new_figure(wide, high + (0.2 + 0.16 * len(text.splitlines()) if caption else 0))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for k, panel in enumerate(row.panels):
        marks = [mark for mark in row.printed if mark.get("panel", 0) == k]
        _draw_panel(axes[k], row, panel, marks)
    for ax in axes[len(row.panels) :]:
        ax.remove()
    if caption:
        figure.supxlabel(text, x=0.01, ha="left", fontsize="small")
    return figure


def _draw_panel(
    ax: Axes, row: PaperFigure, panel: Mapping[str, Any], marks: Sequence[Mapping[str, Any]]
) -> None:
    study, options, style = (
        _merge_tables(getattr(row, name), panel.get(name, {})) for name in ("study", "given", "ax")
    )
    axes, values = study.get("axes", {}), study.get("set", {})
    study["set"] = {name: value for name, value in values.items() if name not in axes}
    axes_of(ax)
    for mark, look in zip(marks, style_variants(STYLES["published"], len(marks)), strict=True):
        _draw_mark(ax, mark, look)
    kind = KINDS[row.kind]
    if kind.is_of_study:
        names = texts_of(options["quantity"], "quantity") if "quantity" in options else None
        kind.function(StudyData(**{"outputs": names, **study}), ax=ax, **options)
    else:
        entries = {name: study[name] for name in ("model", "machine", "workload") if name in study}
        kind.function(ax=ax, **entries, **study["set"], **options)
    ax.set(**style)
    if "title" in panel:
        set_title(ax, panel["title"])


def _draw_mark(ax: Axes, mark: Mapping[str, Any], style: Style) -> None:
    label = f"printed: {mark['label']}"
    if "y" not in mark:
        ax.axvline(mark["x"], **style.line_options(), label=label)
    elif "x" not in mark:
        ax.axhline(mark["y"], **style.line_options(), label=label)
    else:
        ax.plot(mark["x"], mark["y"], **style.mark_options(7), label=label)
