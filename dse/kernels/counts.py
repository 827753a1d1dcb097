"""How often each block of a kernel runs, from its guards and loops.

Of each loop the passes are read off the guard that ends it, where that is a matter of arguments and
of a thread's place; where it is a matter of data they are asked for by name, as are the chances of
branches. A warp runs a block if any of its threads does.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from dse.kernels.asking import Frequencies, joined, name_loaded, noted
from dse.kernels.conditions import FALSE, TRUE, Condition, alone, both, known, negated, truth
from dse.kernels.flow import Flow, Loop, always_leads
from dse.kernels.linear import ONE, ZERO, Atom, Whole, atom
from dse.kernels.passes import is_moving, until, varies
from dse.kernels.values import Values

__all__ = ["Frequencies", "frequencies"]


def frequencies(flow: Flow, values: Values, lines: Mapping[int, int]) -> Frequencies:
    """Return how often each block runs."""
    counting = _Counting(flow, values, lines)
    values.passes = counting.passes
    for number in flow.order:
        counting.own(number)
    found = counting.found
    for number in flow.order:
        found.blocks[number] = counting.full(number)
    name_loaded(flow, found, lines)
    values.settled = True
    return found


class _Counting:
    """Frequencies of blocks: of each within one pass of the loop around it, and of the loop.

    A loop that is left at one place alone has passes by the guard there. Of one that is left at
    several places, which of them ends it is decided pass by pass.
    """

    def __init__(self, flow: Flow, values: Values, lines: Mapping[int, int]) -> None:
        self.flow, self.values, self.lines = flow, values, lines
        self.found = Frequencies()
        self._own: dict[int, Whole] = {}
        self._entering: dict[int, Whole] = {}
        #: The places where a loop is left, and when it goes on there, if that is all that decides.
        self._ends: dict[int, list[int]] = {}
        self._stays: dict[int, Condition] = {}
        self._shared: dict[int, tuple[Whole, Whole]] = {}

    def passes(self, head: int) -> Whole | None:
        """Return the passes of a loop each time it is entered; None while they are sought."""
        if head not in self.found.passes:
            if head in self._ends:
                return None
            self._ends[head] = []
            self.found.passes[head] = self._passes(self.flow.loops[head])
        return self.found.passes[head]

    # --- how often a block runs
    def own(self, number: int) -> Whole:
        """Return how often a block runs in a pass of the loop around it, or of a thread."""
        if number not in self._own:
            loop = self.flow.loops.get(number)
            if loop is not None:
                self._own[number] = ONE
                self._entering[number] = self._reached(number, loop)
            else:
                self._own[number] = self._reached(number, None)
        return self._own[number]

    def full(self, number: int) -> Whole:
        """Return how often a block runs for each thread that starts."""
        found, head = self.own(number), self.flow.inner.get(number)
        while head is not None:
            passes = self.passes(head)
            assert passes is not None
            total = ZERO
            for product, times in found.terms.items():
                total = total + self._of_passes(product, head, passes).times(times)
            self.own(head)
            found = total * self._entering[head]
            head = self.flow.loops[head].outer
        return found

    def _of_passes(self, product: tuple[Atom, ...], head: int, passes: Whole) -> Whole:
        """Return a product in all passes of a loop; what goes on has one pass less."""
        staying = Atom("staying", (head,))
        rest = Whole({tuple(one for one in product if one != staying): 1})
        if staying not in product:
            return rest * passes
        moves = any(one.kind in ("pass", "power") and head in one.of for one in rest.atoms())
        if moves and head in self._stays:
            return rest * passes * atom("if", self._stays[head])
        return rest * (passes - ONE)

    def _reached(self, number: int, loop: Loop | None) -> Whole:
        """Return how often a block is entered but by what leads back to it."""
        flow, around = self.flow, self._around(number)
        if number == 0:
            return ONE
        above = self._same_level(number, around)
        if above is not None and always_leads(flow, above, number):
            if above == around:
                return ONE
            often = self.own(above)
            return self._entering.get(above, often)
        often = ZERO
        for each in dict.fromkeys(flow.blocks[number].of):
            if loop is None or each not in loop.blocks:
                often = often + self._edge(each, number, around)
        return joined(often)

    def _same_level(self, number: int, around: int | None) -> int | None:
        """Return the nearest block through which every way to one leads, of no loop that the one
        is not in; None where that is further out.
        """
        above = self.flow.above[number]
        while above != around and self._around(above) != around:
            head = self.flow.inner.get(above)
            if head == above:
                head = self.flow.loops[above].outer
            if head is None or number in self.flow.loops[head].blocks:
                return None
            above = head
        return above

    def _around(self, number: int) -> int | None:
        """Return the loop that a block is entered in: of the head of one the loop around."""
        if number in self.flow.loops:
            return self.flow.loops[number].outer
        return self.flow.inner.get(number)

    def _inside(self, number: int, head: int | None) -> bool:
        return head is None or number in self.flow.loops[head].blocks

    def _edge(self, number: int, to: int, around: int | None) -> Whole:
        """Return how often one block leads to another, in a pass of a loop around both."""
        found, head = self.own(number) * self._share(number, to), self.flow.inner.get(number)
        while head is not None and head != around:
            found = self._left(found, head)
            head = self.flow.loops[head].outer
        return found

    def _left(self, often: Whole, head: int) -> Whole:
        """Return how often a loop is left where that happens so often in each pass."""
        self.passes(head)
        self.own(head)
        if not often.terms:
            return ZERO
        if len(self._ends[head]) <= 1:
            return self._entering[head]
        return self._entering[head] * atom("total", head, often)

    def _share(self, number: int, to: int) -> Whole:
        """Return the share of a block's runs that lead to another."""
        block = self.flow.blocks[number]
        if len(set(block.to)) == 1:
            return ONE
        if number not in self._shared:
            self._shared[number] = self._shares(number)
        return self._shared[number][block.to.index(to)]

    def _shares(self, number: int) -> tuple[Whole, Whole]:
        head = self.flow.inner.get(number)
        block = self.flow.blocks[number]
        while head is not None:
            leaving = [each not in self.flow.loops[head].blocks for each in block.to]
            self.passes(head)
            if any(leaving) and self._ends[head] == [number]:
                stays = atom("staying", head)
                return (ONE, stays) if leaving[0] else (stays, ONE)
            head = self.flow.loops[head].outer
        return _shares(self.flow, self.values, number, self.lines, self.found)

    # --- how often a loop runs
    def _passes(self, loop: Loop) -> Whole:
        """Return how often the head of a loop runs each time it is entered; note what ends it."""
        known_passes: list[Whole] = []
        ends: list[int] = []
        unknown: list[int] = []
        stays: Condition = TRUE
        plain = True
        for number in (each for each in self.flow.order if each in loop.blocks):
            block = self.flow.blocks[number]
            leaving = [each not in loop.blocks for each in block.to]
            if len(set(block.to)) != 2 or not any(leaving):
                continue
            when = self.values.holds(number, len(block.body) - 1)
            when = negated(when) if leaving[0] else when
            if when == TRUE:  # never left here
                continue
            parts = alone(when)
            decided = [each for each in parts if known(each) and not varies(each, loop)]
            if not decided:
                unknown.append(number)
                continue
            if len(decided) < len(parts):
                noted("leaves", self.lines, block.last.at, self.found.assumed)
            when = functools.reduce(both, decided)
            ends.append(number)
            inner = self.flow.inner[number] == loop.head
            reached = self.own(number) if inner else self._deep(number, loop, when)
            if reached == ONE and inner:
                passes = until(when, loop)
                stays = both(stays, when)
            else:
                passes = None
                gone = reached * _if(negated(when)) if inner else reached
                stays = both(stays, truth("==", gone))
            plain = plain and passes is not None
            known_passes += [] if passes is None else [passes]
        if ends and (plain or (known(stays) and is_moving(stays, loop.head))):
            self._ends[loop.head] = ends
            if len(ends) == 1:
                self._stays[loop.head] = stays
            if not plain:
                return atom("first", loop.head, stays)
            first = known_passes[0]
            for more in known_passes[1:]:
                first = first if more == first else atom("least", first, more)
            return first
        candidates = [*unknown, *ends]
        at = self.flow.blocks[candidates[0] if candidates else loop.back[0]].last.at
        line = self.lines.get(self.flow.blocks[loop.head].body[0].at) or self.lines.get(at)
        name = noted("trips", {at: line} if line else {}, at, self.found.asked)
        self._ends[loop.head] = candidates[:1]
        return atom("asked", name)

    def _deep(self, number: int, loop: Loop, when: Condition) -> Whole:
        """Return how often a loop is left within a pass by a block of a loop inside it."""
        found, head = self.own(number) * _if(negated(when)), self.flow.inner[number]
        while head != loop.head:
            found = self._left(found, head)
            outer = self.flow.loops[head].outer
            assert outer is not None
            head = outer
        return found


def _if(when: Condition) -> Whole:
    """Return 1 where a condition holds."""
    return ONE if when == TRUE else ZERO if when == FALSE else atom("if", when)


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
                noted("leaves", lines, block.last.at, found.assumed)
                return share
    chance = atom("asked", noted("chance", lines, block.last.at, found.asked))
    return chance, ONE - chance
