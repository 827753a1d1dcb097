"""Every way in which the blocks of a launch can go, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def enumerated(
    laws: Sequence[Sequence[Fraction]], slots: Sequence[int], blocks: int
) -> dict[tuple[int, int, int], Fraction]:
    """P(time, start of the last block, total work); laws are of 0, 1, 2, ... on each kind.

    A block goes to the slot that is free first, of several the one whose kind is least.
    """
    kinds = [kind for kind, count in enumerate(slots) for _ in range(count)]
    held = [[(k, p) for k, p in enumerate(law) if p] for law in laws]
    result: dict[tuple[int, int, int], Fraction] = {}

    def go(
        free: tuple[tuple[int, int], ...], left: int, told: tuple[int, int, int], p: Fraction
    ) -> None:
        if not left:
            result[told] = result.get(told, Fraction(0)) + p
            return
        (begun, kind), rest = free[0], free[1:]
        for k, chance in held[kind]:
            if k == 0:
                go(free, left - 1, told, p * chance)
            else:
                after = (max(told[0], begun + k), begun, told[2] + k)
                go(tuple(sorted((*rest, (begun + k, kind)))), left - 1, after, p * chance)

    go(tuple((0, kind) for kind in kinds), blocks, (0, 0, 0), Fraction(1))
    return result


def sharing(
    blocks: Sequence[Sequence[int]], places: int, resident: int, full: Fraction
) -> Fraction:
    """The time of a launch of blocks of warps of so much work; of n warps that run on a
    multiprocessor each goes at the rate min(1, full / n)."""
    waiting, time = list(blocks), Fraction(0)
    held: list[list[list[Fraction]]] = [[] for _ in range(places)]
    for _ in range(resident):  # dealt round
        for place in held:
            if waiting:
                place.append([Fraction(work) for work in waiting.pop(0)])
    while any(held):
        running = [sum(len(block) for block in place) for place in held]
        slower = [max(Fraction(1), n / full) for n in running]
        step, first = min(
            (min(map(min, place)) * slow, at)
            for at, (place, slow) in enumerate(zip(held, slower, strict=True))
            if place
        )
        time += step
        for at, place in enumerate(held):
            for block in place:
                block[:] = [left - step / slower[at] for left in block]
        ended = next(block for block in held[first] if 0 in block)
        ended.remove(Fraction(0))
        if not ended:
            held[first].remove(ended)
            if waiting:
                held[first].append([Fraction(work) for work in waiting.pop(0)])
    return time
