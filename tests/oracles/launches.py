"""Every way in which the blocks of a launch can go, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def enumerate_launches(
    laws: Sequence[Sequence[Fraction]], slots: Sequence[int], blocks: int
) -> dict[tuple[int, int, int], Fraction]:
    """P(time, start of the last block, total work); laws are of 0, 1, 2, ... on each kind.

    A block goes to the slot that is free first, of several the one whose kind is least.
    """
    kinds = [kind for kind, count in enumerate(slots) for _ in range(count)]
    atoms = [[(k, p) for k, p in enumerate(law) if p] for law in laws]
    result: dict[tuple[int, int, int], Fraction] = {}

    def go(
        free: tuple[tuple[int, int], ...], left: int, outcome: tuple[int, int, int], p: Fraction
    ) -> None:
        if not left:
            result[outcome] = result.get(outcome, Fraction(0)) + p
            return
        (begun, kind), rest = free[0], free[1:]
        for k, chance in atoms[kind]:
            if k == 0:
                go(free, left - 1, outcome, p * chance)
            else:
                after = (max(outcome[0], begun + k), begun, outcome[2] + k)
                go(tuple(sorted((*rest, (begun + k, kind)))), left - 1, after, p * chance)

    go(tuple((0, kind) for kind in kinds), blocks, (0, 0, 0), Fraction(1))
    return result


def sharing(
    blocks: Sequence[Sequence[int]], places: int, resident: int, full: Fraction
) -> Fraction:
    """The time of a launch of blocks of warps of so much work; of n warps that run on a
    multiprocessor each goes at the rate min(1, full / n)."""
    waiting, time = list(blocks), Fraction(0)
    resident_blocks: list[list[list[Fraction]]] = [[] for _ in range(places)]
    for _ in range(resident):  # dealt round
        for place in resident_blocks:
            if waiting:
                place.append([Fraction(work) for work in waiting.pop(0)])
    while any(resident_blocks):
        running = [sum(len(block) for block in place) for place in resident_blocks]
        slower = [max(Fraction(1), n / full) for n in running]
        step, first = min(
            (min(map(min, place)) * slow, at)
            for at, (place, slow) in enumerate(zip(resident_blocks, slower, strict=True))
            if place
        )
        time += step
        for at, place in enumerate(resident_blocks):
            for block in place:
                block[:] = [left - step / slower[at] for left in block]
        ended = next(block for block in resident_blocks[first] if 0 in block)
        ended.remove(Fraction(0))
        if not ended:
            resident_blocks[first].remove(ended)
            if waiting:
                resident_blocks[first].append([Fraction(work) for work in waiting.pop(0)])
    return time
