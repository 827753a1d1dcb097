"""How often each block of a kernel runs, from its guards and loops.

Of each loop the passes are read off the guard that ends it, where that is a matter of arguments and
of a thread's place; where it is a matter of data they are asked for by name, as are the chances of
branches. A warp runs a block if any of its threads does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from dse.kernels.affine import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    Replacing,
    Whole,
    alone,
    atom,
    atoms_of,
    both,
    constant,
    floordiv,
    indicator,
    known,
    negated,
    product_of,
    quotient_of_product,
    rebuilt,
    truth,
)
from dse.kernels.cubin import Function
from dse.kernels.flow import Loop, always_leads, flow_of
from dse.kernels.instructions import MEMORY, WORD, Constants, Instruction
from dse.kernels.registers import Values
from stochastic import sizes


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
                rest = quotient_of_product(product, one) or ()
                (opposite,) = Whole({(Atom("if", (negated(one.of[0]),)),): 1}).terms
                other = product_of([*rest, *opposite])
                if other != product and terms.get(other) == times:
                    del terms[product], terms[other]
                    terms[rest] = terms.get(rest, 0) + times
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


#: Passes that are tried one by one.
_TRIED = sizes.PASSES_TRIED


def until(stays: Condition, loop: Loop) -> Whole | None:
    """How many passes there are if a loop goes on while a condition holds, tested once a pass."""
    match stays:
        case ("false",):
            return ONE
        case ("and", one, two):
            for each, other in ((one, two), (two, one)):
                start = _lasting(each, loop)
                rest = None if start is None else until(other, loop)
                if start is not None and rest is not None:
                    return ONE + (rest - ONE) * indicator(truth(">=", start))
            # that a counter meets a number is certain only where nothing else ends the loop
            certain = not any(each[0] == "not" for each in alone(stays))
            first, second = (until(one, loop), until(two, loop)) if certain else (None, None)
            if first is not None and second is not None:
                return atom("least", first, second)
        case ("or", (">=", one), (">=", two)) if loop.head not in free_passes(one + two, {}):
            return until((">=", two), loop)  # below 0, which an unsigned counter never is
        case (">=", value):
            parts = _linear(value, loop)
            if parts is not None and _rises(-parts[1]):
                return floordiv(parts[0], -parts[1]) + constant(2)
        case ("not", ("==", value)):
            parts = _linear(value, loop)
            if parts is not None and parts[1].terms:
                start, step = parts
                start, step = (-start, -step) if _rises(step) else (start, step)
                return floordiv(start, -step) + ONE
    head = loop.head
    if known(stays) and is_moving(stays, head) and not varies(stays, loop):
        passes = _tried(stays, head)
        return atom("first", head, stays) if passes is None else constant(passes)
    return None


def resting(value: Whole, passes: Mapping[int, Whole]) -> dict[int, Whole]:
    """The loops on whose passes an expression rests, and those on which theirs do."""
    found, waiting = dict[int, Whole](), [value]
    while waiting:
        for one in waiting.pop().atoms():
            if one.kind == "pass" and one.of[0] not in found:
                found[one.of[0]] = passes[one.of[0]]
                waiting.append(found[one.of[0]])
    return found


def free_passes(part: Any, known: dict[Atom, frozenset[int]]) -> frozenset[int]:
    """Return the loops by whose pass an expression changes.

    What goes through all passes of a loop itself does not change with its pass. ``known`` keeps
    what was found of atoms.
    """
    if isinstance(part, Whole):
        return frozenset().union(*(free_passes(one, known) for p in part.terms for one in p))
    if isinstance(part, tuple):
        return frozenset().union(*(free_passes(each, known) for each in part))
    if not isinstance(part, Atom):
        return frozenset()
    if part not in known:
        match part:
            case Atom("pass", (head,)) | Atom("power", (_, head)):
                known[part] = frozenset({head})
            case Atom("first" | "total", (head, inside)):
                known[part] = free_passes(inside, known) - {head}
            case _:
                known[part] = free_passes(part.of, known)
    return known[part]


def _smaller(one: Whole, two: Whole) -> Whole:
    return one if one == two else atom("least", one, two)


def varies(when: Condition, loop: Loop) -> bool:
    """Whether a condition rests on what each pass loads anew."""
    return any(one.kind == "loaded" and one.of[0][1] in loop.blocks for one in atoms_of(when))


def _lasting(when: Condition, loop: Loop) -> Whole | None:
    """Return what is not negative if a condition holds in all passes, where it holds in the first.

    None where a condition may end later, or cannot be followed.
    """
    if when[0] != ">=" or (parts := _linear(when[1], loop)) is None:
        return None
    start, step = parts
    return start if not step.terms or _rises(step) else None


def _tried(stays: Condition, head: int) -> int | None:
    """The passes where nothing but their number decides, by trying a few."""
    if any(one.kind in ("argument", "special", "asked", "loaded") for one in atoms_of(stays)):
        return None
    for number in range(_TRIED):
        now = constant(number)

        def at(one: Atom, now: Whole = now, number: int = number) -> Whole | None:
            if one == Atom("pass", (head,)):
                return now
            if one.kind == "power" and one.of[1] == head:
                return constant(one.of[0] ** number)
            return None

        told = Replacing(at).condition(stays)
        if told == FALSE:
            return number + 1
        if told != TRUE:
            return None
    return None


def _rises(step: Whole) -> bool:
    """True if a step is a number above 0, or a sum of sizes."""
    return bool(step.terms) and all(times > 0 for times in step.terms.values())


def is_moving(when: Condition | Whole, head: int) -> bool:
    """True if a condition or value rests on how many passes of a loop there were."""
    return any(one.kind in ("pass", "power") and head in one.of for one in atoms_of(when))


def _linear(value: Whole, loop: Loop) -> tuple[Whole, Whole] | None:
    """Start and step of an expression in the passes of a loop; None where it is not so."""
    head = loop.head
    passed = Atom("pass", (head,))
    start: dict[tuple[Atom, ...], int] = {}
    step: dict[tuple[Atom, ...], int] = {}
    for product, times in value.terms.items():
        many = product.count(passed)
        rest = tuple(one for one in product if one != passed)
        moving = any(
            one.kind in ("unknown", "entry", "reciprocal")
            or (one.kind == "loaded" and one.of[0][1] in loop.blocks)
            for one in Whole({rest: 1}).atoms()
        )
        if many > 1 or moving or is_moving(Whole({rest: 1}), head):
            return None
        into = step if many else start
        into[rest] = into.get(rest, 0) + times
    return Whole(start), Whole(step)


def layout(arch: int) -> dict[int, str]:
    """Where the constants hold the sizes of block and grid, which compute capability 10 moved."""
    block, grid = (0x360, 0x370) if arch >= 100 else (0x0, 0xC)
    found = {block + 4 * at: f"ntid.{axis}" for at, axis in enumerate("xyz")}
    return found | {grid + 4 * at: f"nctaid.{axis}" for at, axis in enumerate("xyz")}


class Reading:
    """A kernel's machine code, read: its flow, its values, how often each block runs.

    ``blocks`` are frequencies of blocks for each thread that starts, ``passes`` those of loops by
    their heads. ``asked`` names what depends on data, and ``assumed`` what was taken, each by the
    place of the instruction that decides.

    A loop that is left at one place alone has passes by the guard there. Of one that is left at
    several places, which of them ends it is decided pass by pass.

    Raises
    ------
    DseError
        A jump to a computed address, or a loop that is entered at two places.
    """

    def __init__(
        self,
        function: Function,
        body: Sequence[Instruction],
        lines: Mapping[int, int] | None = None,
    ) -> None:
        self.function, self.lines, self.flow = function, lines or {}, flow_of(body)
        upper = frozenset(offset + 4 for offset, size in function.arguments if size == 8)
        constants = Constants(layout(function.arch), function.bank, upper, function.table)
        self.values = Values(self.flow, constants)
        self.passes: dict[int, Whole] = {}
        self.asked: dict[str, int] = {}
        self.assumed: dict[str, int] = {}
        self._entering: dict[int, Whole] = {}
        #: The places where a loop is left, and when it goes on there, if that is all that decides.
        self._ends: dict[int, list[int]] = {}
        self._stays: dict[int, Condition] = {}
        self._shared: dict[int, tuple[Whole, Whole]] = {}
        self.values.passes = self._passes_of
        for number in self.flow.order:
            self._own(number)
        self.blocks = {number: self._full(number) for number in self.flow.order}
        self._name_loaded()
        self.values.settled = True

    def instructions(self) -> Iterator[tuple[int, int, Instruction]]:
        """Yield each instruction that can run, with its block and place."""
        for number in self.blocks:
            for place, one in enumerate(self.flow.blocks[number].body):
                yield number, place, one

    def needed(self) -> list[int]:
        """Return the offsets of arguments that counts and guards of loads and stores rest on."""
        every = [*self.blocks.values(), *self.passes.values()]
        for number, place, one in self.instructions():
            if one.guard and one.kind in MEMORY:
                when = self.values.holds(number, place)
                every += [atom("if", when)] if known(when) else []
        return sorted({a.of[0] for value in every for a in value.atoms() if a.kind == "argument"})

    def _name_loaded(self) -> None:
        """Ask for what is loaded and decides, by the line that loads it."""

        @functools.cache
        def named(one: Atom) -> Whole | None:
            if one.kind != "loaded":
                return None
            _, block, place = one.of[0]
            at = self.flow.blocks[block].body[place].at
            return atom("asked", noted("loaded", self.lines, at, self.asked))

        for kept in (self.blocks, self.passes):
            for number, value in kept.items():
                if any(one.kind == "loaded" for one in value.atoms()):
                    kept[number] = rebuilt(value, named)

    def _passes_of(self, head: int) -> Whole | None:
        """Return the passes of a loop each time it is entered; None while they are sought."""
        if head not in self.passes:
            if head in self._ends:
                return None
            self._ends[head] = []
            self.passes[head] = self._passes(self.flow.loops[head])
        return self.passes[head]

    # --- how often a block runs
    def _own(self, number: int) -> Whole:
        """Return how often a block runs in a pass of the loop around it, or of a thread."""
        if number not in self._entering:
            self._entering[number] = self._reached(number)
        return ONE if number in self.flow.loops else self._entering[number]

    def _full(self, number: int) -> Whole:
        """Return how often a block runs for each thread that starts."""
        found, head = self._own(number), self.flow.inner.get(number)
        while head is not None:
            passes = self._passes_of(head)
            assert passes is not None
            total = ZERO
            for product, times in found.terms.items():
                total = total + self._of_passes(product, head, passes).times(times)
            self._own(head)
            found = total * self._entering[head]
            head = self.flow.loops[head].outer
        return found

    def _of_passes(self, product: tuple[Atom, ...], head: int, passes: Whole) -> Whole:
        """Return a product in all passes of a loop; what goes on has one pass less."""
        staying = Atom("staying", (head,))
        rest = Whole({tuple(one for one in product if one != staying): 1})
        if staying not in product:
            return rest * passes
        if head in self._stays and is_moving(rest, head):
            return rest * passes * atom("if", self._stays[head])
        return rest * (passes - ONE)

    def _reached(self, number: int) -> Whole:
        """Return how often a block is entered but by what leads back to it."""
        flow, loop, around = self.flow, self.flow.loops.get(number), self._around(number)
        if number == 0:
            return ONE
        above = self._same_level(number, around)
        if above is not None and always_leads(flow, above, number):
            if above == around:
                return ONE
            self._own(above)
            return self._entering[above]
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

    def _edge(self, number: int, to: int, around: int | None) -> Whole:
        """Return how often one block leads to another, in a pass of a loop around both."""
        often = self._own(number) * self._share(number, to)
        return self._left(often, self.flow.inner.get(number), around)

    def _left(self, often: Whole, head: int | None, around: int | None) -> Whole:
        """Return how often loops up to one around them are left, from that in each pass."""
        while head is not None and head != around:
            self._passes_of(head)
            self._own(head)
            if not often.terms:
                often = ZERO
            elif len(self._ends[head]) <= 1:
                often = self._entering[head]
            else:
                often = self._entering[head] * atom("total", head, often)
            head = self.flow.loops[head].outer
        return often

    def _share(self, number: int, to: int) -> Whole:
        """Return the share of a block's runs that lead to another."""
        block = self.flow.blocks[number]
        if len(set(block.to)) == 1:
            return ONE
        if number not in self._shared:
            self._shared[number] = self._shares(number)
        return self._shared[number][block.to.index(to)]

    def _shares(self, number: int) -> tuple[Whole, Whole]:
        """Return the share of a branch that goes where its guard holds, and the rest."""
        head = self.flow.inner.get(number)
        block = self.flow.blocks[number]
        while head is not None:
            leaving = [each not in self.flow.loops[head].blocks for each in block.to]
            self._passes_of(head)
            if any(leaving) and self._ends[head] == [number]:
                stays = atom("staying", head)
                return (ONE, stays) if leaving[0] else (stays, ONE)
            head = self.flow.loops[head].outer
        when = self.values.holds(number, len(block.body) - 1)
        loop = self.flow.inner.get(number)
        if known(when) and (loop is None or not varies(when, self.flow.loops[loop])):
            return indicator(when), indicator(negated(when))
        at, other = block.last.at, ((ZERO, ONE), (ONE, ZERO))
        for to, share in zip(block.to, other, strict=True):
            if any(one.name == "CALL" for one in self.flow.blocks[to].body):
                # the slow way of a division or root is rare
                self.assumed[f"slow path at line {self.lines.get(at, 0)}"] = at
                return share
        for to, share in zip(block.to, other, strict=True):
            if loop is not None and to not in self.flow.loops[loop].blocks:  # a loop left early
                noted("leaves", self.lines, at, self.assumed)
                return share
        chance = atom("asked", noted("chance", self.lines, at, self.asked))
        return chance, ONE - chance

    # --- how often a loop runs
    def _passes(self, loop: Loop) -> Whole:
        """Return how often the head of a loop runs each time it is entered; note what ends it."""
        passes: list[Whole | None] = []
        ends: list[int] = []
        unknown: list[int] = []
        stays: Condition = TRUE
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
                noted("leaves", self.lines, block.last.at, self.assumed)
            when = functools.reduce(both, decided)
            ends.append(number)
            reached, inner = self._own(number), self.flow.inner[number]
            if reached == ONE and inner == loop.head:
                passes.append(until(when, loop))
                stays = both(stays, when)
            else:
                passes.append(None)
                gone = self._left(reached * indicator(negated(when)), inner, loop.head)
                stays = both(stays, truth("==", gone))
        if ends and (None not in passes or (known(stays) and is_moving(stays, loop.head))):
            self._ends[loop.head] = ends
            if len(ends) == 1:
                self._stays[loop.head] = stays
            if None in passes:
                return atom("first", loop.head, stays)
            return functools.reduce(_smaller, filter(None, passes))
        candidates = [*unknown, *ends]
        at = self.flow.blocks[candidates[0] if candidates else loop.back[0]].last.at
        line = self.lines.get(self.flow.blocks[loop.head].body[0].at) or self.lines.get(at)
        name = noted("trips", {at: line} if line else {}, at, self.asked)
        self._ends[loop.head] = candidates[:1]
        return atom("asked", name)
