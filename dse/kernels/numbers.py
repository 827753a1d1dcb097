"""Numbers of expressions of machine code: at threads, and at passes of loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dse.kernels.conditions import Condition
from dse.kernels.linear import Atom, Whole
from dse.kernels.passes import free_passes
from stochastic import sizes
from symbolic.errors import DseError

__all__ = ["Numbers"]

#: Passes that are followed one by one, at most.
_MOST = sizes.PASSES_FOLLOWED
_INTRICATE = (
    "the flow of the kernel is too intricate to be followed: counts by a profile (dse import) need "
    "no flow"
)


class Numbers:
    """Numbers of expressions, where places of threads and passes of loops are set."""

    arguments: Mapping[int, int]
    asked: Mapping[str, float]
    passes: Mapping[int, Whole]
    _special: dict[str, Any]

    def __init__(self) -> None:
        self._known: dict[Atom, Any] = {}
        self._now: dict[int, Any] = {}
        self._through: dict[Any, Any] = {}
        self._heads_of: dict[Atom, frozenset[int]] = {}

    def free_heads(self, value: Any) -> frozenset[int]:
        """Return the loops by whose pass a value changes."""
        return free_passes(value, self._heads_of)

    def value(self, value: Whole) -> Any:
        """An expression at every thread that is looked at; a number where it is one."""
        total: Any = 0
        for product, times in value.terms.items():
            part: Any = times
            for one in product:
                part = part * self._atom(one)
            total = total + part
        return total

    def _atom(self, one: Atom) -> Any:
        if one not in self._known:
            if one.kind in ("first", "total"):  # whose passes are gone through each time
                key = (
                    one,
                    *((head, self._now.get(head, 0)) for head in sorted(self.free_heads(one))),
                )
                if key not in self._through:
                    self._through[key] = self._found(one)
                self._known[one] = self._through[key]
            else:
                self._known[one] = self._found(one)
        return self._known[one]

    def _found(self, one: Atom) -> Any:
        match one:
            case Atom("special", (name,)):
                return self._special[name]
            case Atom("argument", (offset,)):
                return self.arguments[offset]
            case Atom("asked", (name,)):
                return self.asked[name]
            case Atom("loaded", _):
                return np.nan
            case Atom("pass", (head,)):
                return self._now.get(head, 0)
            case Atom("over", (above, below)):
                by = self.value(below)
                return np.floor_divide(self.value(above), np.where(by == 0, 1, by))
            case Atom("scaled", (value, factor, by)):
                return np.floor_divide(self.value(value) * factor, 2 ** (32 + by))
            case Atom("least", (first, second)):
                return np.minimum(self.value(first), self.value(second))
            case Atom("most", (first, second)):
                return np.maximum(self.value(first), self.value(second))
            case Atom("exclusive or", (first, second)):
                return np.bitwise_xor(self.value(first), self.value(second))
            case Atom("bitwise and", (first, second)):
                return np.bitwise_and(_integers(self.value(first)), _integers(self.value(second)))
            case Atom("bitwise or", (first, second)):
                return np.bitwise_or(_integers(self.value(first)), _integers(self.value(second)))
            case Atom("power", (factor, head)):
                return float(factor) ** self._now.get(head, 0)
            case Atom("power of", (factor, power)):
                return float(factor) ** self.value(power)
            case Atom("power of two", (power,)):
                return 2 ** self.value(power)
            case Atom("if", (when,)):
                return self.holds(when).astype(int)
            case Atom("first", (head, stays)):
                return self._first(head, stays)
            case Atom("total", (head, often)):
                return self._total(head, often)
        raise DseError(_INTRICATE)

    def _first(self, head: int, stays: Condition) -> Any:
        """Return the number of passes up to the one in which a condition no longer holds."""
        passes: Any = 1
        going: Any = True
        with self._moving(head):
            for number in range(_MOST):
                self._now[head], self._known = number, {}
                going = going & self.holds(stays)
                if not np.any(going):
                    break
                passes = passes + np.asarray(going).astype(int)
        return passes

    def _total(self, head: int, often: Whole) -> Any:
        """Return the sum of a value over all passes of a loop."""
        many = np.asarray(self.value(self.passes[head]))
        total: Any = 0
        with self._moving(head):
            for number in range(min(int(many.max()), _MOST)):
                self._now[head], self._known = number, {}
                total = total + np.where(number < many, self.value(often), 0)
        return total

    @contextmanager
    def _moving(self, head: int) -> Iterator[None]:
        """Go through passes of a loop, whichever one was looked at before."""
        known, now = self._known, self._now.get(head)
        try:
            yield
        finally:
            self._known = known
            if now is None:
                self._now.pop(head, None)
            else:
                self._now[head] = now

    def holds(self, when: Condition) -> Any:
        """Return the mask of the threads for which a condition holds."""
        match when:
            case ("true",):
                return np.asarray(True)
            case ("false",):
                return np.asarray(False)
            case (">=", value):
                return np.asarray(self.value(value)) >= 0
            case ("==", value):
                return np.asarray(self.value(value)) == 0
            case ("and", one, two):
                return self.holds(one) & self.holds(two)
            case ("or", one, two):
                return self.holds(one) | self.holds(two)
            case ("not", one):
                return ~self.holds(one)
        raise DseError(_INTRICATE)


def _integers(values: Any) -> Any:
    return np.asarray(values).astype(np.int64)
