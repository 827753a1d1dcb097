"""Numbers of expressions at a launch: at its threads, and at passes of its loops.

Threads are arrays of five axes: blocks along x, y and z, warps in a block, lanes in a warp.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dse.kernels.affine import (
    FALSE,
    TRUE,
    Atom,
    Condition,
    Replacing,
    Whole,
    atom,
    constant,
    floordiv,
    rebuilt,
)
from dse.kernels.loop_counts import free_passes, resting
from stochastic import sizes
from symbolic.errors import DseError

#: Blocks that are looked at.
_PLACES = sizes.BLOCKS_LOOKED
#: The numbers of a block in its grid.
BLOCKS = ("ctaid.x", "ctaid.y", "ctaid.z")


def spread_places(size: int, most: int) -> Any:
    """Return places from 0 to below a size, evenly spread where there would be more than a few."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))


def along(size: int, most: int) -> tuple[Any, Any]:
    """A few places along an axis, and how many each stands for."""
    looked = spread_places(size, most)
    if size <= most:
        return looked, np.ones(size)
    middle = (looked[1:] + looked[:-1]) / 2
    edges = np.concatenate([[-0.5], middle, [size - 0.5]])
    weights = np.diff(edges)
    weights[0], weights[-1] = 1.0, 1.0
    weights[1] += edges[1] - edges[0] - 1
    weights[-2] += edges[-1] - edges[-2] - 1
    return looked, weights


#: Passes that are followed one by one, at most.
_MOST = sizes.PASSES_FOLLOWED
_INTRICATE = (
    "the flow of the kernel is too intricate to be followed: counts by a profile (dse import) need "
    "no flow"
)


_OF_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "least": np.minimum,
    "most": np.maximum,
    "exclusive or": np.bitwise_xor,
    "bitwise and": np.bitwise_and,
    "bitwise or": np.bitwise_or,
}


class Sized(Replacing):
    """Expressions with sizes of grid and block, arguments and what was asked as numbers.

    A condition is decided where it is the same at all threads, as those of most guards of edges
    are; one that cannot be followed stays, and so do addresses.
    """

    def __init__(self, launch: Launch) -> None:
        super().__init__(self._number)
        given: dict[tuple[str, object], int] = {
            ("argument", at): value
            for at, value in launch.arguments.items()
            if at not in launch.pointers
        }
        for name, many in launch.asked.items():
            if float(many).is_integer():
                given["asked", name] = int(many)
        self._most: dict[str, int] = {}
        for axis, blocks, threads in zip("xyz", launch.grid, launch.block, strict=True):
            for name, size in (("ctaid", blocks), ("tid", threads)):
                self._most[f"{name}.{axis}"] = size - 1
                given["special", f"n{name}.{axis}"] = size
                if size == 1:
                    given["special", f"{name}.{axis}"] = 0
        self._given = {Atom(kind, (of,)): constant(one) for (kind, of), one in given.items()}

    def _number(self, one: Atom) -> Whole | None:
        if one.kind == "over":
            above, below = (self.value(each) for each in one.of)
            return floordiv(above, below) if below.number != 0 else atom("over", above, below)
        return self._given.get(one)

    def _related(self, word: str, value: Whole) -> Condition:
        """Decided where a sum is at least 0, or is 0, at all threads alike."""
        low = high = 0
        for product, times in value.terms.items():
            top = times
            for one in product:
                if one.kind != "special" or one.of[0] not in self._most:
                    return word, value
                top *= self._most[one.of[0]]
            low += min(top, 0) if product else top
            high += max(top, 0) if product else top
        if word == ">=":
            return TRUE if low >= 0 else FALSE if high < 0 else (word, value)
        return TRUE if low == high == 0 else FALSE if low > 0 or high < 0 else (word, value)


#: Passes of one loop that are looked at, at least; those of all loops around, at most; of each of
#: many loops, at least; numbers that are worked out.
_PASSES, _EVERY, _FEW, _NUMBERS = (
    sizes.PASSES_LOOKED,
    sizes.PASSES_EVERY,
    sizes.PASSES_FEW,
    sizes.PASSES_NUMBERS,
)


class Launch:
    """A launch: sizes of grid and block, arguments, and what was asked for by name.

    Where blocks are many, a few along each axis stand for the others. ``pointers`` are the
    arguments that are addresses; ``kept`` holds what was worked out before at the same sizes,
    arguments and what was asked, of this kernel or of others.
    """

    def __init__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Mapping[int, int],
        asked: Mapping[str, float],
        passes: Mapping[int, Whole],
        pointers: frozenset[int] = frozenset(),
        kept: dict[Any, Any] | None = None,
    ) -> None:
        self.grid, self.block, self.arguments, self.asked = grid, block, arguments, asked
        self.pointers = pointers
        self.threads = math.prod(block)
        self._special: dict[str, Any] = {}
        self._place()
        self._known: dict[Atom, Any] = {}
        self._now: dict[int, Any] = {}
        self._through: dict[Any, Any] = {}
        self._heads_of: dict[Atom, frozenset[int]] = {}
        self._kept: dict[Any, Any] = {} if kept is None else kept
        self._sized: Sized = self._kept.setdefault("sized", Sized(self))
        self.passes = {head: self.sized(many) for head, many in passes.items()}
        #: True once some passes of loops stood for all.
        self.sampled = False

    def _place(self, warp: int = 32) -> None:
        """Set the special registers, which lanes have a thread, and what warps stand for."""
        grid, block = self.grid, self.block
        warps = -(-self.threads // warp)
        lanes = np.arange(warps * warp)
        self.active = (lanes < self.threads).reshape(warps, warp)
        lanes = np.minimum(lanes, self.threads - 1)
        axes = sum(size > 1 for size in grid)
        most = int(_PLACES ** (1 / max(axes, 1)))
        looked, weights = zip(*(along(size, most) for size in grid), strict=True)
        weight = functools.reduce(np.multiply.outer, [*weights, np.ones(warps)])
        self.weight = weight / weight.sum()
        tid = (lanes % block[0], lanes // block[0] % block[1], lanes // (block[0] * block[1]))
        at = self._special
        for axis, name in enumerate("xyz"):  # what is 0 everywhere is a number
            blocks = np.expand_dims(looked[axis], [each for each in range(5) if each != axis])
            at[f"ntid.{name}"], at[f"nctaid.{name}"] = block[axis], grid[axis]
            at[f"ctaid.{name}"] = blocks if grid[axis] > 1 else 0
            at[f"tid.{name}"] = tid[axis].reshape(warps, warp) if block[axis] > 1 else 0
        at["lane"] = np.arange(warp)

    def is_of_one_axis(self) -> bool:
        """True if neither the grid nor the block has sizes along two axes."""
        return all(sum(size > 1 for size in sizes) <= 1 for sizes in (self.grid, self.block))

    def at(self, passes: Mapping[int, int], blocks: Mapping[str, int]) -> Launch:
        """The launch at passes of its loops, and at a place of its grid along some axes."""
        found = copy.copy(self)
        found._special = {**self._special, **blocks}
        found._known, found._now, found._kept, found._through = {}, dict(passes), {}, {}
        return found

    def sized(self, value: Whole) -> Whole:
        """An expression in which what is a number at this launch is one, but for addresses."""
        return self._sized.value(value)

    def numbered(self, value: Whole) -> Whole:
        """Return a sized expression in which addresses that have a number are numbers, too."""
        given = {at: constant(number) for at, number in self.arguments.items()}
        return rebuilt(value, lambda one: given.get(one.of[0]) if one.kind == "argument" else None)

    def once(self, value: Whole, work: Callable[[], Any], *what: object) -> Any:
        """What is worked out of an expression: kept by it, and the passes that it rests on."""
        key = (*what, value, *sorted(resting(value, self.passes).items()))
        if key not in self._kept:
            self._kept[key] = work()
        return self._kept[key]

    # --- what is wanted
    def per_warp(self, value: Whole) -> float:
        """Return the mean over warps of how often one runs what threads run so often.

        A warp runs it in each pass of the loops around in which any of its threads does.
        """

        def busiest(every: Any) -> Any:
            if every.shape[-1] == 1:  # the same for all threads of a warp
                return every[..., 0]
            return np.where(self.active, every, 0.0).max(axis=-1)

        return self._mean(self.sized(value), busiest, "warp")

    def per_thread(self, value: Whole) -> float:
        """Return the mean over threads."""
        threads = self.active.sum(axis=-1)

        def mean(every: Any) -> Any:
            lanes = np.broadcast_to(every, (*every.shape[:-1], self.active.shape[-1]))
            return np.where(self.active, lanes, 0.0).sum(axis=-1) / threads.mean()

        return self._mean(self.sized(value), mean, "thread")

    def _mean(self, value: Whole, fold: Any, name: str) -> float:
        """Return the mean over warps of a value that is folded over lanes, kept by its name."""
        if value.number is not None:
            return float(value.number)

        def folded(every: Any) -> Any:
            every = np.maximum(np.asarray(every, dtype=float), 0.0)
            return fold(every) if every.ndim else every

        def mean() -> float:
            found = np.asarray(self._over_passes(value, folded), dtype=float)
            if found.ndim == 0:
                return float(found)
            least = float(found.min())  # so that what is the same everywhere stays exact
            return least + float(((found - least) * self.weight).sum())

        try:
            return float(self.once(value, mean, name))
        except OverflowError:
            raise DseError(
                "a count at these arguments takes more than 64 bits: expected arguments of which "
                "neither a product nor a power of two is that large"
            ) from None

    def most(self, value: Whole) -> int:
        """The largest number that a count takes in the first pass of the loops around it."""
        return max(math.ceil(float(np.max(self.value(value)))), 0)

    # --- passes of loops that a value depends on are gone through
    def _over_passes(
        self, value: Whole, fold: Any, share: Any = 1.0, budget: float = _EVERY
    ) -> Any:
        """Return a value, averaged over the passes that it rests on.

        What it is in one pass is multiplied by the ``share`` that each thread's pass has of all,
        and folded over the lanes of a warp; passes are added up behind that. ``budget`` is how
        many are looked at, all loops together; where there are more, some stand for all.
        """
        heads = self._heads(value)
        if not heads:
            return fold(self.value(value) * share)
        inside = {head: len(self.free_heads(self.passes[head]) & heads) for head in heads}
        head = min(sorted(heads), key=inside.__getitem__)  # the outermost
        many = np.asarray(self.value(self.passes[head]), dtype=float)
        top = int(np.max(many)) if many.size else 0
        if top <= 0:
            return 0.0
        if not self._now:
            lanes = max(np.size(self.value(value)), 1)
            budget = min(budget, max(_NUMBERS / lanes, _PASSES))
        most = max(int(budget ** (1 / len(heads))), _FEW)
        self.sampled |= top > most
        looked = spread_places(top, most)
        counted = np.maximum(np.searchsorted(looked, many, side="left"), 1)
        total: Any = 0.0
        for one in looked:
            self._now[head], self._known = int(one), {}
            total = total + self._over_passes(
                value, fold, share * (one < many) / counted, budget / len(looked)
            )
        del self._now[head]
        self._known = {}
        return total

    def _heads(self, value: Whole) -> frozenset[int]:
        """Return the loops whose passes a value rests on and that are not at one pass now."""
        found, waiting = set[int](), [value]
        while waiting:
            for head in self.free_heads(waiting.pop()) - found - self._now.keys():
                found.add(head)
                waiting.append(self.passes[head])
        return frozenset(found)

    # --- numbers of expressions
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
                now = ((head, self._now.get(head, 0)) for head in sorted(self.free_heads(one)))
                if (key := (one, *now)) not in self._through:
                    self._through[key] = self._found(one)
                self._known[one] = self._through[key]
            else:
                self._known[one] = self._found(one)
        return self._known[one]

    def _found(self, one: Atom) -> Any:
        match one:
            case Atom("special", (name,)):
                return self._special[name]
            case Atom("argument", (offset,)) if offset in self.arguments:
                return self.arguments[offset]
            case Atom("argument", (offset,)):
                raise DseError(
                    f"a count rests on the argument at byte {offset} of the arguments, which has "
                    "no value: give each argument by set (--set NAME=VALUE)"
                )
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
            case Atom(("exclusive or" | "bitwise and" | "bitwise or") as kind, of):
                return _OF_TWO[kind](*(np.asarray(self.value(v)).astype(np.int64) for v in of))
            case Atom(("least" | "most") as kind, (first, second)):
                return _OF_TWO[kind](self.value(first), self.value(second))
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
        for _ in self._iterate_passes(head, _MOST):
            going = going & self.holds(stays)
            if not np.any(going):
                break
            passes = passes + np.asarray(going).astype(int)
        return passes

    def _total(self, head: int, often: Whole) -> Any:
        """Return the sum of a value over all passes of a loop."""
        many = np.asarray(self.value(self.passes[head]))
        total: Any = 0
        for number in self._iterate_passes(head, min(int(many.max()), _MOST)):
            total = total + np.where(number < many, self.value(often), 0)
        return total

    def _iterate_passes(self, head: int, most: int) -> Iterator[int]:
        """Go through passes of a loop, and back to the one that was looked at before."""
        known, now = self._known, self._now.get(head)
        try:
            for number in range(most):
                self._now[head], self._known = number, {}
                yield number
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
