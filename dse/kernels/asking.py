"""How often blocks run, and the names of what that asks of a kernel's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from dse.kernels.assembly import WORD
from dse.kernels.conditions import negated
from dse.kernels.flow import Flow
from dse.kernels.linear import Atom, Whole, atom
from dse.kernels.rebuilding import rebuilt

__all__ = ["Frequencies", "free_name", "joined", "name_loaded", "noted"]


@dataclass(slots=True)
class Frequencies:
    """Frequencies of blocks for each thread that starts, and what had to be asked or assumed.

    ``passes`` are of loops by their heads; ``asked`` names what depends on data, by the place of
    the instruction that decides.
    """

    blocks: dict[int, Whole] = field(default_factory=dict)
    passes: dict[int, Whole] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    assumed: dict[str, int] = field(default_factory=dict)


def name_loaded(flow: Flow, found: Frequencies, lines: Mapping[int, int]) -> None:
    """Ask for what is loaded and decides, by the line that loads it."""
    names: dict[Atom, Whole] = {}

    def named(one: Atom) -> Whole | None:
        if one.kind != "loaded":
            return None
        if one not in names:
            _, block, place = one.of[0]
            at = flow.blocks[block].body[place].at
            names[one] = atom("asked", noted("loaded", lines, at, found.asked))
        return names[one]

    for kept in (found.blocks, found.passes):
        for number, value in kept.items():
            if any(one.kind == "loaded" for one in value.atoms()):
                kept[number] = rebuilt(value, named)


def joined(often: Whole) -> Whole:
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


def noted(word: str, lines: Mapping[int, int], at: int, known: dict[str, int]) -> str:
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
