"""Read the styles of plots from ``data/looks.toml``; a meaning has the same style in all plots."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from symbolic.errors import DseError

#: Colour map for values: perceptually uniform, and monotone in brightness when printed in grey.
UNIFORM = "viridis"


@dataclass(frozen=True, slots=True)
class Style:
    """A colour, and the dashes, marker and hatch that distinguish it when printed in grey."""

    color: str
    line: Any = "-"
    marker: str = "o"
    hatch: str = ""

    def line_options(self, **more: Any) -> dict[str, Any]:
        """Return matplotlib options for a line without markers."""
        return {"color": self.color, "ls": self.line, "lw": 1.8} | more

    def points_options(self, **more: Any) -> dict[str, Any]:
        """Return matplotlib options for a line with markers."""
        edge = {"mec": "black", "mew": 0.6} if self.marker not in "x+" else {"mew": 1.4}
        return self.line_options() | {"marker": self.marker, "ms": 5.5} | edge | more

    def mark_options(self, size: float, **more: Any) -> dict[str, Any]:
        """Return matplotlib options for markers without a line, in front of everything else."""
        mark = {"ls": "", "marker": self.marker, "ms": size, "mfc": self.color}
        return mark | {"mec": "black", "mew": 0.9, "zorder": 6} | more

    def area_options(self, **more: Any) -> dict[str, Any]:
        """Return matplotlib options for a bar or an area."""
        style = {"facecolor": self.color, "hatch": self.hatch, "edgecolor": "black", "lw": 0.6}
        return style | more


_FILE = Path(__file__).parents[1] / "data" / "looks.toml"
_DATA = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_NAMED_COLORS: Mapping[str, str] = _DATA["colors"]
_NAMED_LINES = {"solid": "-"} | {name: (0, tuple(on)) for name, on in _DATA["lines"].items()}


def _read_style(row: Mapping[str, str]) -> Style:
    line = _NAMED_LINES[row.get("line", "solid")]
    color = _NAMED_COLORS.get(row["color"], row["color"])
    return Style(color, line, row.get("marker", "o"), row.get("hatch", ""))


GREY = _NAMED_COLORS["grey"]
STYLES: Mapping[str, Style] = {name: _read_style(row) for name, row in _DATA["looks"].items()}
#: Mapping from quantities, and from labels of bounds and cases, to their meaning.
MEANINGS: Mapping[str, str] = _DATA["means"]
#: Styles of the parts of a stack; the first part is at the bottom.
PART_STYLES: Mapping[str, Style] = {name: _read_style(row) for name, row in _DATA["parts"].items()}
#: Groups of names, such as machines, whose styles are the same in every plot.
_FIXED: Sequence[Sequence[str]] = _DATA["fixed"]["names"]

_ORDER = ("solid", "dashes", "dash-dots", "dots", "long", "mixed", "short", "solid")
_LINES = tuple(_NAMED_LINES[name] for name in _ORDER)
_COLORS = tuple(
    _NAMED_COLORS[name]
    for name in (
        *("blue", "vermillion", "green", "black", "orange", "purple", "sky", "grey"),
        *("yellow", "brown"),
    )
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d", "*", "H", "8", ".")
_HATCHES = (
    *("", "//", "..", "\\\\", "xx", "--", "++", "oo", "||", "**"),
    *("//..", "\\\\..", "xx..", "--..", "++..", "oo.."),
)


def meaning_of(name: str) -> str | None:
    """Return the meaning of a quantity, bound or case, or None if ``looks.toml`` has none."""
    for text in (name, name.replace("_", " ")):
        meaning = MEANINGS.get(text, text)
        if meaning in STYLES:
            return meaning
    return None


def style_of(name: str) -> Style:
    """Return the style of a name in ``looks.toml``: a quantity, bound, case, part or mark."""
    return PART_STYLES[name] if name in PART_STYLES else STYLES[meaning_of(name) or name]


def distinct_styles(names: Sequence[str], reserved: Sequence[str] = ()) -> list[Style]:
    """Return a different style for each name in a plot.

    A name in ``looks.toml`` has the style given there. Other names get the next free colour. The
    colours of names in ``looks.toml`` and of the meanings in ``reserved`` are not free.

    >>> distinct_styles(["thread", "memory"]) == [STYLES["threads"], STYLES["memory"]]
    True
    """
    known = [meaning for meaning in map(meaning_of, names) if meaning is not None]
    taken = {STYLES[meaning].color for meaning in (*reserved, *known)}
    free = [k for k, color in enumerate(_COLORS) if color not in taken] or [*range(len(_COLORS))]
    for group in _FIXED:
        if not taken and set(names) <= set(group):
            return [_nth_style(group.index(name), free) for name in names]
    place = count()
    return [style_of(n) if meaning_of(n) else _nth_style(next(place), free) for n in names]


def style_variants(style: Style, many: int) -> list[Style]:
    """Return ``style`` and more styles of its colour, to draw several lines with one meaning."""
    others = [k for k in range(len(_LINES) - 1) if style.line != _LINES[k]]
    places = [others[k % len(others)] for k in range(many - 1)]
    variants = [Style(style.color, _LINES[k], _MARKERS[k], style.hatch) for k in places]
    return [style, *variants][:many]


def _nth_style(place: int, free: Sequence[int]) -> Style:
    """Return the style with index ``place``; if colours repeat, dashes and markers differ."""
    turn, k = divmod(place, len(free))
    line = _LINES[(free[k] + 3 * turn) % len(_LINES)]
    other = (free[k] + len(_COLORS) * turn) % len(_MARKERS)
    return Style(_COLORS[free[k]], line, _MARKERS[other], _HATCHES[other])


def font_scale() -> float:
    """Return the font size of matplotlib's style, relative to the default size of 10 points.

    Raises:
        DseError: matplotlib is not installed.
    """
    try:
        from matplotlib import rcParams
    except ImportError as error:
        raise DseError(
            "a figure needs matplotlib: pip install matplotlib (or '.[plot]')"
        ) from error
    return float(rcParams["font.size"] / 10)
