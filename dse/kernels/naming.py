"""Names of quantities for the arguments of a kernel: names that a workload file can declare."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from symbolic.grammar import KEYWORDS
from symbolic.quantities import TABLE
from symbolic.statistic import STATISTICS
from symbolic.terms import FUNCTIONS
from symbolic.units import is_unit

__all__ = ["quantity_names"]

#: Words that studies and the command line use for something else.
_RESERVED = frozenset(
    {
        *("at", "axes", "axis", "best", "case", "configuration", "design", "draw", "draws"),
        *("error", "fit", "inf", "machine", "model", "nan", "outputs", "path", "prefer"),
        *("random", "run", "seed", "set", "status", "store", "where", "workload"),
    }
)
#: Names that counting itself gives to parts of a kernel.
_PART = re.compile(r"(trips|chance|loaded|leaves|runs|part|slow)_(line|at)_|part_\d")
_LONGEST = 60


def quantity_names(arguments: Sequence[str]) -> list[str]:
    """Return a name of a quantity for each argument, all different.

    An argument keeps its name where a formula can use it.

    >>> quantity_names(["n", "N", "blocks", "_x", "s"])
    ['n', 'n_2', 'kernel_blocks', 'x', 'kernel_s']
    """
    found: list[str] = []
    taken = {name for name in arguments if name == _plain(name) and not _is_reserved(name)}
    for argument in arguments:
        name = _plain(argument)
        if _is_reserved(name):
            name = f"kernel_{name}"
        if name != argument or name in found:
            base, number = name, 2
            while name in taken or name in found or name in TABLE:
                name, number = f"{base}_{number}", number + 1
        found.append(name)
    return found


def _plain(name: str) -> str:
    """Return the name in the letters that formulas know, without underscores before it."""
    name = re.sub(r"[^a-z0-9_]", "_", name.lower()).strip("_")[:_LONGEST]
    return name if name[:1].isalpha() else f"arg_{name}".rstrip("_")


def _is_reserved(name: str) -> bool:
    return (
        name in _RESERVED
        or name in TABLE
        or name in FUNCTIONS
        or name in STATISTICS
        or name in KEYWORDS
        or keyword.iskeyword(name)
        or is_unit(name)
        or _PART.match(name) is not None
    )
