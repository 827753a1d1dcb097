"""From the law of an item to that of a block, and what is computed with."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.scheduling.setting import Kind, Setting
from stochastic.work.alike import Shock, alike_of
from stochastic.work.pmf import Pmf

__all__ = ["Weights", "from_zero", "longest_of", "setting_of", "whole_weights"]

#: Steps of a block that are told apart.
_MOST = sizes.STEPS_MOST
#: P(D = 0), P(D = 1), ... of a block, on each kind of slots.
Weights = list[npt.NDArray[Any]]


def longest_of(work: Pmf, items: int, beyond: float, alike: Any) -> tuple[Pmf, float]:
    """The law of the longest of so many items, and the probability that its cut leaves out."""
    how = alike_of(alike, work)
    if how is None:
        block = work.max_of(items).cut(beyond)
        return block, block.missing
    if isinstance(how, Shock):
        block = how.longest(work, items).cut(beyond)
        return block, block.missing
    cut = work.cut(beyond / items)
    return how.longest(cut, items), items * cut.missing


def from_zero(block: Pmf) -> npt.NDArray[np.float64]:
    """P(D = 0), P(D = 1), ...

    Raises
    ------
    LawError
        Where these are more than fit memory, with what works instead.
    """
    if block.high > _MOST:
        raise LawError(
            f"a block takes up to {int(block.high):,} steps, too large to be exact: expected up to "
            f"{_MOST:,}. Count the work in units {math.ceil(block.high / 5e5):,} times as large, "
            "rounded up and rounded down: the law lies between the two"
        )
    return np.concatenate([np.zeros(block.low), block.weights])


def setting_of(weights: Weights, slots: list[int], blocks: int) -> Setting | None:
    """What is computed with, in the largest steps that fit; None where no block has any work.

    Raises
    ------
    LawError
        Where the probability of no work depends on the slot.
    """
    idle = {float(one[0]) for one in weights}
    if max(idle) - min(idle) > 1e-15:
        raise LawError(
            f"a block has no work with probability {min(idle):.6g} or {max(idle):.6g}, by the slot "
            "it runs on: expected laws of work that have none with the same probability"
        )
    values = np.unique(np.concatenate([np.flatnonzero(one) for one in weights]))
    values = values[values > 0]
    if not len(values):
        return None
    span = int(np.gcd.reduce(values))
    longest = int(values[-1]) // span
    kinds = []
    for one, count in zip(weights, slots, strict=True):
        law = np.zeros(longest + 1)
        held = one[span::span].astype(np.float64)
        law[1 : len(held) + 1] = held / math.fsum(held)
        kinds.append(Kind(slots=count, law=law))
    return Setting(kinds=tuple(kinds), blocks=blocks, idle=idle.pop(), span=span)


def whole_weights(laws: list[tuple[Fraction, ...]]) -> tuple[tuple[int, ...], ...]:
    """Fractions from 0 on, without the first, in whole numbers of one sum and length."""
    size = max(map(len, laws))
    parts = [[*law[1:], *[Fraction(0)] * (size - len(law))] for law in laws]
    shares = [[one / sum(part) for one in part] for part in parts]
    common = math.lcm(*(one.denominator for part in shares for one in part))
    return tuple((0, *(int(one * common) for one in part)) for part in shares)
