"""The one table of looks: what a line, bar or area means, and how it is drawn in every figure.

The colours are those of Okabe and Ito, which colour-blind readers tell apart; each look has a line,
a marker and a hatch too, so that figures are read in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

__all__ = [
    "GREY",
    "LOOKS",
    "MEANS",
    "PARTS",
    "UNIFORM",
    "Look",
    "look_of",
    "looks_of",
    "meaning_of",
    "variants",
]

BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
YELLOW, BLUE, VERMILLION, PURPLE, GREY = "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999"

#: The map of values to colours: perceptually uniform, rising in grey too.
UNIFORM = "viridis"


@dataclass(frozen=True, slots=True)
class Look:
    """How something is drawn: a colour, and what tells it apart without one."""

    color: str
    line: Any = "-"
    marker: str = "o"
    hatch: str = ""
    fill: str = "full"

    def of_line(self, **more: Any) -> dict[str, Any]:
        """For a line without markers."""
        return {"color": self.color, "ls": self.line, "lw": 1.8} | more

    def of_points(self, **more: Any) -> dict[str, Any]:
        """For a line with markers."""
        edge = {"mec": BLACK, "mew": 0.6} if self.marker not in "x+" else {"mew": 1.4}
        mark = {"marker": self.marker, "ms": 5.5, "fillstyle": self.fill}
        return self.of_line() | mark | edge | more

    def of_mark(self, size: float, **more: Any) -> dict[str, Any]:
        """For marks that no line joins, before everything else."""
        mark = {"ls": "", "marker": self.marker, "ms": size, "mfc": self.color}
        return mark | {"mec": BLACK, "mew": 0.9, "zorder": 6} | more

    def of_area(self, **more: Any) -> dict[str, Any]:
        """For a bar or an area."""
        return {"facecolor": self.color, "hatch": self.hatch, "edgecolor": BLACK, "lw": 0.6} | more


DASHES, DOTS, DASH_DOTS = (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2))
LONG, MIXED, SHORT = (0, (9, 2.5)), (0, (4, 1.6, 1.2, 1.6, 1.2, 1.6)), (0, (2.5, 1.5))

#: Meaning to look.
LOOKS: Mapping[str, Look] = {
    # what bounds, supplies or asks
    "memory": Look(BLUE, "-", "s", "//"),
    "computation": Look(VERMILLION, DASHES, "^", "\\\\"),
    "threads": Look(GREEN, DASH_DOTS, "o", ".."),
    "capacity": Look(PURPLE, MIXED, "D", "xx"),
    "span": Look(YELLOW, LONG, "v", "--"),
    "departures": Look(SKY, DOTS, "v", "oo"),
    "application": Look(ORANGE, LONG, "D", "++"),
    "result": Look(BLACK, "-", "o"),
    # what is had of it
    "performance": Look(SKY, "-", "o", "//"),
    "power": Look(ORANGE, DASHES, "s", "\\\\"),
    "work per energy": Look(BLACK, DASH_DOTS, "^", ".."),
    "temperature": Look(VERMILLION, "-", "o"),
    # the ten categories: dots where warps are too few, a colour for what else is short
    "too few warps and bandwidth and departures saturated": Look(PURPLE, hatch="xx.."),
    "too few warps and departures saturated": Look(SKY, hatch="oo.."),
    "too few warps and bandwidth saturated": Look(BLUE, hatch="//.."),
    "too few warps and bandwidth just enough": Look(YELLOW, hatch="--.."),
    "too few warps": Look(GREEN, hatch=".."),
    "bandwidth and departures saturated": Look(PURPLE, hatch="xx"),
    "departures saturated": Look(SKY, hatch="oo"),
    "bandwidth saturated": Look(BLUE, hatch="//"),
    "bandwidth just enough": Look(YELLOW, hatch="--"),
    "nothing short": Look("#f2f2f2"),
    # what limits the blocks of a multiprocessor, and rates held at their largest
    "registers": Look(YELLOW, LONG, "P", "\\\\"),
    "shared memory": Look(PURPLE, MIXED, "X", "||"),
    "blocks": Look(SKY, DOTS, "s", "--"),
    "held at 1": Look(GREY, DASHES, "x", "xx"),
    # units and levels of memory that a roofline with caches has
    "issue": Look(GREY, DOTS, "P", "**"),
    "double precision": Look(YELLOW, SHORT, "^", "||"),
    "integer": Look(VERMILLION, SHORT, "v", "--"),
    "special": Look(ORANGE, MIXED, "P", "oo"),
    "l1": Look(SKY, SHORT, "<", ".."),
    "l2": Look(SKY, LONG, ">", "++"),
    # cells of a map without a number
    "no value": Look("#d9d9d9", hatch="..."),
    "infinite": Look("#bdbdbd", hatch="++"),
    # marks
    "optimum": Look(VERMILLION, "-", "*"),
    "published": Look(PURPLE, DOTS, "D"),
    "front": Look(VERMILLION, "-", "o"),
    "configurations": Look(GREY, "-", "."),
    "constraint": Look(BLACK, "-", "x", "////"),
    "peak": Look("#d0d0d0", "-", "_"),
    "no memory": Look(VERMILLION, DASHES, "^", "\\\\"),
    "no ilp": Look(YELLOW, DOTS, "v", ".."),
    "level": Look(GREY, DASHES, "_"),
    # laws
    "exact": Look(BLUE, "-", "o"),
    "simulated": Look(ORANGE, DASHES, "."),
}

#: Quantities, and the labels of bounds and cases, to what they mean.
MEANS: Mapping[str, str] = {
    "memory bound": "memory",
    "computation bound": "computation",
    "memory and computation bound": "capacity",
    "dram": "memory",
    "floating point": "computation",
    "latency": "threads",
    "thread": "threads",
    "not enough warps": "threads",
    "all within 1": "nothing short",
    "as many SMs lit as where the line was fitted": "nothing short",
    "beyond the fit: one, two or seven SMs were measured to draw the same wherever they lie": (
        "held at 1"
    ),
    "some above 1": "held at 1",
    "mwp": "result",
    "cwp": "computation",
    "mwp_without_bw_full": "departures",
    "mwp_proc": "departures",
    "mwp_peak_bw": "memory",
    "mwp_bw": "memory",
    "mwp_bw_warps": "memory",
    "parallel_warps": "threads",
    "warps_per_sm": "threads",
    "resident_warps": "threads",
    "mwp_app": "application",
    "mwp_app_infinite": "application",
    "memory_bound_time": "memory",
    "compute_bound_time": "computation",
    "time": "result",
    "insts_per_second": "performance",
    "flops": "performance",
    "peak_achievable": "peak",
    "flops_without_memory": "no memory",
    "flops_without_ilp": "no ilp",
    "perf_per_watt": "work per energy",
}

#: Shares of the power of a machine, from the bottom of the stack, with their looks.
PARTS: Mapping[str, Look] = {
    "standing_power": Look("#d0d0d0"),
    "activation_power": Look(GREY, hatch="--"),
    "const_sm_power": Look("#f2f2f2", hatch="xx"),
    "global_power": Look(BLUE, hatch="//"),
    "local_power": Look(SKY, hatch="\\\\"),
    "l2_power": Look(SKY, hatch="++"),
    "l1_power": Look(SKY, hatch=".."),
    "register_power": Look(YELLOW, hatch="\\\\"),
    "fds_power": Look(GREEN),
    "fp_power": Look(VERMILLION, hatch=".."),
    "int_power": Look(VERMILLION, hatch="--"),
    "sfu_power": Look(ORANGE, hatch="oo"),
    "alu_power": Look(ORANGE, hatch="xx"),
    "shared_power": Look(PURPLE, hatch="||"),
    "texture_power": Look(PURPLE, hatch="//"),
    "const_power": Look(PURPLE, hatch="OO"),
}

_LINES = ("-", DASHES, DASH_DOTS, DOTS, LONG, MIXED, SHORT, "-")
_COLORS = (BLUE, VERMILLION, GREEN, BLACK, ORANGE, PURPLE, SKY, GREY)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d", "*", "H", "8", ".")
_HATCHES = (
    *("", "//", "..", "\\\\", "xx", "--", "++", "oo", "||", "**"),
    *("//..", "\\\\..", "xx..", "--..", "++..", "oo.."),
)

#: Names that look the same in every figure, whichever others stand beside them.
_NAMED = (
    ("svm", "linear", "sepia", "blackscholes", "mat_naive", "mat_tiled"),
    ("gtx280", "gtx480", "gtx580", "fx5600", "8800gtx", "c2075", "8800gt", "gtx690"),
    ("cmem", "dmadd", "madd", "mmul", "dotp"),
)


def meaning_of(name: str) -> str | None:
    """What a quantity, a bound or a case means, by its name; None where the table has nothing.

    >>> meaning_of("memory_bound"), meaning_of("mwp_bw"), meaning_of("tile")
    ('memory', 'memory', None)
    """
    for text in (name, name.replace("_", " ")):
        found = MEANS.get(text, text)
        if found in LOOKS:
            return found
    return None


def look_of(name: str) -> Look:
    """The look of a quantity, bound, case or mark of the table."""
    return LOOKS[meaning_of(name) or name]


def looks_of(names: Sequence[str], apart: Sequence[str] = ()) -> list[Look]:
    """Looks of several things side by side: those of the table, for all others one for each place.

    The colours of ``apart``, meanings drawn in the same figure, are left to these, and those of
    the table to what it names.

    >>> [look.color for look in looks_of(["thread", "memory"])] == [GREEN, BLUE]
    True
    """
    told = [meaning for meaning in map(meaning_of, names) if meaning is not None]
    taken = {LOOKS[meaning].color for meaning in (*apart, *told)}
    free = [k for k, color in enumerate(_COLORS) if color not in taken] or [*range(len(_COLORS))]
    for known in _NAMED:
        if not taken and set(names) <= set(known):
            return [_at(known.index(name), free) for name in names]
    place = count()
    return [
        look_of(name) if meaning_of(name) is not None else _at(next(place), free) for name in names
    ]


def variants(look: Look, many: int) -> list[Look]:
    """Looks of one colour for several lines of one meaning; the first is the look itself."""
    others = [k for k in range(len(_LINES) - 1) if look.line != _LINES[k]]
    found = [look]
    for k in range(many - 1):
        place = others[k % len(others)]
        found.append(Look(look.color, _LINES[place], _MARKERS[place], look.hatch))
    return found[:many]


def _at(place: int, free: Sequence[int]) -> Look:
    """The look of a place; a second round of colours has other lines, markers and hatches."""
    turn, k = divmod(place, len(free))
    line = _LINES[(free[k] + 3 * turn) % len(_LINES)]
    other = (free[k] + len(_COLORS) * turn) % len(_MARKERS)
    return Look(_COLORS[free[k]], line, _MARKERS[other], _HATCHES[other])
