"""What the machine reads: the steps of an objective and the values of its leaves, as arrays."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from symbolic.primitives import PRIMITIVES

INF = math.inf

#: The steps: what a tape begins with, then the primitives, in the order of their table.
CODES = {name: number for number, name in enumerate(("constant", "reference", *PRIMITIVES))}


class Tape(NamedTuple):
    """Steps in order, each after those it reads, and where the values of the leaves are."""

    #: What each step does, which steps it reads, and which steps vary; the axes on which each does
    #: not depend; the ends of those that do not vary (lower, upper, whether it may be NaN).
    ops: Any
    args: Any
    steps: Any
    idle: Any
    known: Any
    #: The leaf of a step, or -1; a row for each leaf: its form (1 rising, 2 falling, 3 tables of
    #: extremes, 4 extremes of the whole), how many axes it has, where in ``numbers`` its values,
    #: its least, its largest and its holes begin (-1: none), its step; then the number, size and
    #: levels of each axis. Its least and largest value and whether it has holes; the axes along
    #: which it rises, falls, and which are not its own.
    leaf_of: Any
    leaves: Any
    facts: Any
    trends: Any
    numbers: Any
    logs: Any
    #: Steps to be followed in values, not in logarithms.
    plain: Any
    #: The step of the objective where it is not infinite, and the root.
    value: Any
    #: Comparisons that must hold; steps of which something may be supposed; choices, each with the
    #: numbers of those that decide it; the leaves of each axis that have no other (-1: no more).
    musts: Any
    atoms: Any
    choices: Any
    axis_leaves: Any


def allowed(value: Any, gap: Any) -> Any:
    """The bound at which a box is set aside, where a value is known and a share may be missed.

    Whatever lower value is found later may be missed by its share, too: of one above 0 by no more
    than itself.
    """
    return value - (gap if value < 0 or gap < 1 else 1.0) * abs(value) if value < INF else INF
