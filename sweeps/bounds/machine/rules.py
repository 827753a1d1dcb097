"""The rules of the primitives over a box, in machine code: those of their table, in other words.

What a step encloses, and how it goes along the axes, is said once, for arrays of boxes and here
(:mod:`symbolic.primitives`). A condition is a number: its lower end 1 where it is certain, its
upper end 0 where it is impossible.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from sweeps.bounds.machine.jit import jitted
from sweeps.bounds.machine.tape import CODES
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.words import NONE, retold

__all__ = ["chain", "ends", "goes"]

INF = math.inf
#: By how much the library's functions may be off, as a share.
_OFF = 1.8e-15


@jitted
def _below(value):
    if value == INF:
        return 1.7976931348623157e308
    return value - abs(value) * _OFF - 5e-324 if value > -INF else value


@jitted
def _above(value):
    if value == -INF:
        return -1.7976931348623157e308
    return value + abs(value) * _OFF + 5e-324 if value < INF else value


@jitted
def _widened(low, high, _):
    return _below(low), _above(high)


@jitted
def _itself(value):
    return value


@jitted
def _choose(test, yes, no):
    return yes if test else no


@jitted
def _any_of(first, second):
    return first or second


@jitted
def _unless(flag, test):
    return test and not flag


@jitted
def _is_empty(undefined, low, high):
    return undefined and low > high


@jitted
def _told(test):
    return 1.0 if test else 0.0


@jitted
def _holds(end):
    return end > 0


@jitted
def _opposite(end):
    return 1.0 - end


@jitted
def _finite(first, second):
    return abs(first) < INF and abs(second) < INF


_WORDS: dict[str, Any] = {
    "any_of": _any_of,
    "choose": _choose,
    "finite": _finite,
    "holds": _holds,
    "is_empty": _is_empty,
    "least": min,
    "most": max,
    "opposite": _opposite,
    "told": _told,
    "unless": _unless,
    "widened": _widened,  # by a product, which is far quicker than four times the next float
    "raised": operator.pow,
    "exp_of": np.exp,
    "log_of": np.log,
    "log2_of": np.log2,
    "log10_of": np.log10,
    **dict.fromkeys(("every", "some", "perhaps"), _itself),
    **dict.fromkeys(("add_low", "add_high"), operator.add),
    **dict.fromkeys(("mul_low", "mul_high"), operator.mul),
    **dict.fromkeys(("div_low", "div_high"), operator.truediv),
    **dict.fromkeys(("sqrt_low", "sqrt_high"), math.sqrt),
}
_known: dict[Any, Any] = {}


def ends(name: str) -> Any:
    """The rule for the enclosure of a primitive."""
    return retold(PRIMITIVES[name].interval, _WORDS, jitted, _known)


def goes(name: str) -> Any:
    """The rule for its direction."""
    return retold(PRIMITIVES[name].trend, _WORDS, jitted, _known)


@jitted
def _nothing(op, inside, ways):
    return -INF, INF, True, NONE, NONE


def _or(rules: list[tuple[int, Any, Any]], rest: Any) -> Any:
    """Four rules, of which some may be the same: a body each would take far longer to compile."""
    (one, one_ends, one_goes), (two, two_ends, two_goes) = rules[:2]
    (three, three_ends, three_goes), (four, four_ends, four_goes) = rules[2:]

    def step(op: Any, inside: Any, ways: Any) -> Any:
        if op == one:
            low, high, hole = one_ends(*inside)
            rises, falls = one_goes(*ways)
        elif op == two:
            low, high, hole = two_ends(*inside)
            rises, falls = two_goes(*ways)
        elif op == three:
            low, high, hole = three_ends(*inside)
            rises, falls = three_goes(*ways)
        elif op == four:
            low, high, hole = four_ends(*inside)
            rises, falls = four_goes(*ways)
        else:
            return rest(op, inside, ways)
        return low, high, hole, rises, falls

    return jitted(step)


def chain(arity: int, but: Iterable[str]) -> Any:
    """The rules of all primitives of so many arguments, but some, told apart by their codes.

    What is made takes a code, and what the two rules take.
    """
    rules = [
        (CODES[name], ends(name), goes(name))
        for name, row in PRIMITIVES.items()
        if row.arity == arity and name not in but
    ]
    found = _nothing
    for begin in reversed(range(0, len(rules), 4)):
        found = _or((rules[begin : begin + 4] * 4)[:4], found)
    return found
