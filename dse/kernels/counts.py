"""How often each block of a kernel runs, from its guards and loops.

Of each loop the passes are read off the guard that ends it, where that is a matter of arguments and
of a thread's place; where it is a matter of data they are asked for by name, as are the chances of
branches. A warp runs a block if any of its threads does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from dse.kernels.assembly import WORD
from dse.kernels.conditions import FALSE, TRUE, known, negated
from dse.kernels.flow import Flow, Loop
from dse.kernels.linear import ONE, ZERO, Atom, Whole, atom
from dse.kernels.passes import until, varies
from dse.kernels.rebuilding import rebuilt
from dse.kernels.values import Values

__all__ = ["Frequencies", "free_name", "frequencies"]


@dataclass(slots=True)
class Frequencies:
    """How often each block runs for each thread that starts, and what had to be asked or assumed.

    ``passes`` are of loops by their heads; ``asked`` names what depends on data, by the place of
    the instruction that decides.
    """

    blocks: dict[int, Whole] = field(default_factory=dict)
    passes: dict[int, Whole] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    assumed: dict[str, int] = field(default_factory=dict)


def frequencies(flow: Flow, values: Values, lines: Mapping[int, int]) -> Frequencies:
    """How often each block runs."""
    found = Frequencies()
    ends: dict[int, list[int]] = {}

    def passes_of(head: int) -> Whole | None:
        if head not in found.passes:
            if head in ends:  # asked while it is sought
                return None
            ends[head] = []
            found.passes[head], ends[head] = _passes(flow, values, flow.loops[head], lines, found)
        return found.passes[head]

    values.passes = passes_of
    edges: dict[tuple[int, int], Whole] = {}
    entering: dict[int, Whole] = {}
    decisive: dict[int, int] = {}
    for number in flow.order:
        block, loop = flow.blocks[number], flow.loops.get(number)
        outside = [each for each in block.of if loop is None or each not in loop.blocks]
        often = ONE if number == 0 else ZERO
        for each in dict.fromkeys(outside):
            often = often + edges[each, number]
        often = _joined(often)
        if loop is not None:
            entering[number] = often
            passes = passes_of(number)
            assert passes is not None
            decisive |= dict.fromkeys(ends[number], number)
            often = often * passes
        found.blocks[number] = often
        if not block.to:
            continue
        if len(set(block.to)) == 1:
            edges[number, block.to[0]] = often
            continue
        taken, other = block.to
        if number in decisive:
            head = decisive[number]
            leaves = next(each for each in block.to if each not in flow.loops[head].blocks)
            stays = other if leaves == taken else taken
            edges[number, leaves] = entering[head]
            edges[number, stays] = often - entering[head]
            continue
        share, rest = _shares(flow, values, number, lines, found)
        edges[number, taken], edges[number, other] = often * share, often * rest
    _name_loaded(flow, found, lines)
    values.settled = True
    return found


def _name_loaded(flow: Flow, found: Frequencies, lines: Mapping[int, int]) -> None:
    """Ask for what is loaded and decides, by the line that loads it."""
    names: dict[Atom, Whole] = {}

    def named(one: Atom) -> Whole | None:
        if one.kind != "loaded":
            return None
        if one not in names:
            _, block, place = one.of[0]
            at = flow.blocks[block].body[place].at
            names[one] = atom("asked", _noted("loaded", lines, at, found.asked))
        return names[one]

    for kept in (found.blocks, found.passes):
        for number, value in kept.items():
            if any(one.kind == "loaded" for one in value.atoms()):
                kept[number] = rebuilt(value, named)


def _joined(often: Whole) -> Whole:
    """A sum in which what was split by a condition comes together again."""
    terms = dict(often.terms)
    again = True
    while again:
        again = False
        for product, times in list(terms.items()):
            for one in product:
                if one.kind != "if" or product not in terms:
                    continue
                rest = list(product)
                rest.remove(one)
                (opposite,) = Whole({(Atom("if", (negated(one.of[0]),)),): 1}).terms
                other = tuple(sorted([*rest, *opposite], key=id))
                if other != product and terms.get(other) == times:
                    del terms[product], terms[other]
                    joined = tuple(rest)
                    terms[joined] = terms.get(joined, 0) + times
                    again = True
    return Whole({product: times for product, times in terms.items() if times})


def _shares(
    flow: Flow, values: Values, number: int, lines: Mapping[int, int], found: Frequencies
) -> tuple[Whole, Whole]:
    """The share of a branch that goes where its guard holds, and the rest."""
    block = flow.blocks[number]
    when = values.holds(number, len(block.body) - 1)
    if when == TRUE:
        return ONE, ZERO
    if when == FALSE:
        return ZERO, ONE
    around = flow.inner.get(number)
    if known(when) and (around is None or not varies(when, flow.loops[around])):
        return atom("if", when), atom("if", negated(when))
    for way, share in (
        (0, (ZERO, ONE)),
        (1, (ONE, ZERO)),
    ):  # the slow way of a division or root is rare
        head = flow.blocks[block.to[way]]
        if any(one.name == "CALL" for one in head.body):
            found.assumed[f"slow path at line {lines.get(block.last.at, 0)}"] = block.last.at
            return share
    loop = flow.inner.get(number)
    if loop is not None:  # a loop left early
        inside = flow.loops[loop].blocks
        for way, share in ((0, (ZERO, ONE)), (1, (ONE, ZERO))):
            if block.to[way] not in inside:
                _noted("leaves", lines, block.last.at, found.assumed)
                return share
    chance = atom("asked", _noted("chance", lines, block.last.at, found.asked))
    return chance, ONE - chance


def _noted(word: str, lines: Mapping[int, int], at: int, known: dict[str, int]) -> str:
    """The name by which what an instruction decides is asked or assumed, which is noted."""
    name = free_name(word, lines, at, lambda each: known.get(each, at) != at)
    known[name] = at
    return name


def free_name(word: str, lines: Mapping[int, int], at: int, taken: Callable[[str], bool]) -> str:
    """A name of a place in the code, by its line where that is known, that is not taken."""
    line = lines.get(at)
    base = f"{word}_line_{line}" if line else f"{word}_at_{at * WORD:x}"
    names = chain([base], (f"{base}_{number}" for number in count(2)))
    return next(name for name in names if not taken(name))


def _passes(
    flow: Flow, values: Values, loop: Loop, lines: Mapping[int, int], found: Frequencies
) -> tuple[Whole, list[int]]:
    """How often the head of a loop runs each time it is entered, and the guards that end it."""
    known, ends, unknown = [], [], []
    for number in sorted(loop.blocks):
        block = flow.blocks[number]
        if len(set(block.to)) != 2:
            continue
        leaving = [each not in loop.blocks for each in block.to]
        if not any(leaving) or flow.inner[number] != loop.head:
            continue
        when = values.holds(number, len(block.body) - 1)
        stays = negated(when) if leaving[0] else when
        passes = until(stays, loop)
        if passes is None:
            unknown.append(number)
        else:
            known.append(passes)
            ends.append(number)
    if known:
        first = known[0]
        for each in known[1:]:
            first = first if each == first else atom("least", first, each)
        return first, ends[:1]
    at = flow.blocks[unknown[0] if unknown else loop.back[0]].last.at
    line = lines.get(flow.blocks[loop.head].body[0].at) or lines.get(at)
    name = _noted("trips", {at: line} if line else {}, at, found.asked)
    return atom("asked", name), unknown[:1]
