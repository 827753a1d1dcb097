"""Every way in which the blocks of a launch can go, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["enumerated"]


def enumerated(
    laws: Sequence[Sequence[Fraction]], slots: Sequence[int], blocks: int
) -> dict[tuple[int, int, int], Fraction]:
    """P(time, start of the last block, total work); laws are of 0, 1, 2, ... on each kind.

    A block goes to the slot that is free first, of several the one whose kind is least.
    """
    kinds = [kind for kind, count in enumerate(slots) for _ in range(count)]
    held = [[(k, p) for k, p in enumerate(law) if p] for law in laws]
    found: dict[tuple[int, int, int], Fraction] = {}

    def go(
        free: tuple[tuple[int, int], ...], left: int, told: tuple[int, int, int], p: Fraction
    ) -> None:
        if not left:
            found[told] = found.get(told, Fraction(0)) + p
            return
        (begun, kind), rest = free[0], free[1:]
        for k, chance in held[kind]:
            if k == 0:
                go(free, left - 1, told, p * chance)
            else:
                after = (max(told[0], begun + k), begun, told[2] + k)
                go(tuple(sorted((*rest, (begun + k, kind)))), left - 1, after, p * chance)

    go(tuple((0, kind) for kind in kinds), blocks, (0, 0, 0), Fraction(1))
    return found
