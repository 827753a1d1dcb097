"""Expressions of machine code at a launch: what is a number there becomes one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dse.kernels.conditions import FALSE, TRUE, Condition, Replacing
from dse.kernels.linear import Atom, Whole, atom, constant
from dse.kernels.quotients import floordiv

__all__ = ["Sized"]


class Sized(Replacing):
    """Expressions with sizes of grid and block, arguments and what was asked as numbers.

    A condition is decided where it is the same at all threads, as those of most guards of edges
    are; one that cannot be followed stays. Arguments that are ``left`` stay, too.
    """

    def __init__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Mapping[int, int],
        asked: Mapping[str, float],
        left: Collection[int] = (),
    ) -> None:
        super().__init__(self._number)
        self._most: dict[str, int] = {}
        for axis, blocks, threads in zip("xyz", grid, block, strict=True):
            self._most |= {f"ctaid.{axis}": blocks - 1, f"tid.{axis}": threads - 1}
        sizes = {f"nctaid.{axis}": size for axis, size in zip("xyz", grid, strict=True)}
        sizes |= {f"ntid.{axis}": size for axis, size in zip("xyz", block, strict=True)}
        self._sizes = {
            **dict.fromkeys((n for n, most in self._most.items() if not most), 0),
            **sizes,
        }
        self._asked = {name: int(many) for name, many in asked.items() if float(many).is_integer()}
        self._arguments = {at: value for at, value in arguments.items() if at not in left}

    def _number(self, one: Atom) -> Whole | None:
        match one:
            case Atom("argument", (offset,)) if offset in self._arguments:
                return constant(self._arguments[offset])
            case Atom("special", (name,)) if name in self._sizes:
                return constant(self._sizes[name])
            case Atom("asked", (name,)) if name in self._asked:
                return constant(self._asked[name])
            case Atom("over", (above, below)):
                above, below = self.value(above), self.value(below)
                return floordiv(above, below) if below.number != 0 else atom("over", above, below)
        return None

    def _related(self, word: str, value: Whole) -> Condition:
        """Decided where a sum is at least 0, or is 0, at all threads alike."""
        low = high = 0
        for product, times in value.terms.items():
            top = times
            for one in product:
                if one.kind != "special" or one.of[0] not in self._most:
                    return word, value
                top *= self._most[one.of[0]]
            low, high = (
                low + (min(top, 0) if product else top),
                high + (max(top, 0) if product else top),
            )
        if word == ">=":
            return TRUE if low >= 0 else FALSE if high < 0 else (word, value)
        return TRUE if low == high == 0 else FALSE if low > 0 or high < 0 else (word, value)
