"""Numbers of a launch: expressions of machine code at sizes of grid and block and at arguments."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dse.kernels.conditions import alone
from dse.kernels.linear import Whole
from dse.kernels.numbers import Numbers
from dse.kernels.passes import resting
from dse.kernels.places import places
from dse.kernels.sizing import Sized
from stochastic import sizes
from symbolic.errors import DseError

__all__ = ["Launch"]

#: Passes of one loop that are looked at, at least; those of all loops around, at most; of each of
#: many loops, at least; numbers that are worked out.
_PASSES, _EVERY, _FEW, _NUMBERS = (
    sizes.PASSES_LOOKED,
    sizes.PASSES_EVERY,
    sizes.PASSES_FEW,
    sizes.PASSES_NUMBERS,
)
_MOVING = ("pass", "first", "total", "power", "power of")


class Launch(Numbers):
    """A launch: sizes of grid and block, arguments, and what was asked for by name.

    Where blocks are many, a few stand for all (see :mod:`dse.kernels.places`). ``pointers`` are the
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
        warp: int = 32,
        pointers: frozenset[int] = frozenset(),
        kept: dict[Any, Any] | None = None,
    ) -> None:
        self.grid, self.block, self.arguments, self.asked = grid, block, arguments, asked
        self.pointers = pointers
        at = places(grid, block, warp)
        self.active, self.weight, self._special = at.active, at.weight, at.special
        self.threads = math.prod(block)
        self._full = bool(self.active.all())
        super().__init__()
        self._kept: dict[Any, Any] = {} if kept is None else kept
        sized = Sized(grid, block, arguments, asked, pointers)
        self._sized: Sized = self._kept.setdefault("sized", sized)
        self.passes = {head: self.sized(many) for head, many in passes.items()}
        self._turned: dict[Whole, tuple[Any, ...]] = {}
        #: True once some passes of loops stood for all.
        self.sampled = False

    def at(self, passes: Mapping[int, int], blocks: Mapping[str, int]) -> Launch:
        """The launch at passes of its loops, and at a place of its grid along some axes."""
        found = copy.copy(self)
        found._special = {**self._special, **blocks}
        found._known, found._now, found._kept, found._through = {}, dict(passes), {}, {}
        return found

    def sized(self, value: Whole) -> Whole:
        """An expression in which what is a number at this launch is one, but for addresses."""
        return self._sized.value(value)

    def once(self, value: Whole, work: Callable[[], Any], *what: object) -> Any:
        """What is worked out of an expression: kept by it, and the passes that it rests on."""
        if value not in self._turned:
            self._turned[value] = tuple(sorted(resting(value, self.passes).items()))
        key = (*what, value, self._turned[value])
        if key not in self._kept:
            self._kept[key] = work()
        return self._kept[key]

    # --- what is wanted
    def per_warp(self, value: Whole) -> float:
        """The mean over warps of how often one runs what threads run so often.

        A warp runs it in each pass of the loops around in which any of its threads does.
        """

        def busiest(every: Any) -> Any:
            if every.shape[-1] == 1:  # the same for all threads of a warp
                return every[..., 0]
            return (every if self._full else np.where(self.active, every, 0.0)).max(axis=-1)

        value = self.sized(value)
        return float(self.once(value, lambda: self._mean(value, busiest, np.any), "warp"))

    def per_thread(self, value: Whole) -> float:
        """The mean over threads."""
        threads = self.active.sum(axis=-1)

        def mean(every: Any, axis: int = -1) -> Any:
            lanes = np.broadcast_to(every, (*every.shape[:-1], self.active.shape[-1]))
            return np.where(self.active, lanes, 0.0).sum(axis=axis) / threads.mean()

        value = self.sized(value)
        return float(self.once(value, lambda: self._mean(value, mean, mean), "thread"))

    def _where(self, value: Whole, fold: Any) -> Any:
        """Of a product of conditions, folded over lanes: what each warp does of it; None of any
        other.
        """
        if len(value.terms) != 1 or any(one.kind in _MOVING for one in value.atoms()):
            return None
        ((product, times),) = value.terms.items()
        factor, lanes, warps = times, self.active, np.asarray(True)
        for one in product:
            if one.kind == "if":
                for each in alone(one.of[0]):
                    holds = self.holds(each)
                    if holds.ndim and holds.shape[-1] > 1:
                        lanes = lanes & holds
                    else:  # the same for all threads of a warp
                        warps = warps & (holds[..., 0] if holds.ndim else holds)
            elif np.ndim(number := self._atom(one)) == 0:
                factor = factor * number
            else:
                return None
        return fold(lanes, axis=-1) * warps * float(max(factor, 0))

    def _mean(self, value: Whole, fold: Any, of_lanes: Any) -> float:
        if value.number is not None:
            return float(value.number)

        def folded(every: Any) -> Any:
            every = np.maximum(np.asarray(every, dtype=float), 0.0)
            return fold(every) if every.ndim else every

        try:
            if (found := self._where(value, of_lanes)) is not None:
                return self._weighted(found)
            found = np.asarray(self._over_passes(value, folded), dtype=float)
        except OverflowError:
            raise DseError(
                "a count at these arguments takes more than 64 bits: expected arguments of which "
                "neither a product nor a power of two is that large"
            ) from None
        return float(found) if found.ndim == 0 else self._weighted(found)

    def _weighted(self, folded: Any) -> float:
        """The mean over warps."""
        least = float(folded.min())  # so that what is the same everywhere stays exact
        return least + float(((folded - least) * self.weight).sum())

    def constant(self, name: str) -> int:
        """A size of block or grid, by the register that holds it."""
        return int(self._special[name])

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
        looked = np.unique(np.linspace(0, top - 1, min(top, most)).round())
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
