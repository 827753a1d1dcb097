"""Derive trip counts and how often each block of a kernel runs, from its guards and loops.

A trip count is read off the guard that ends the loop, if the guard depends only on arguments and
indices of the thread. If the guard depends on data, the trip count is an input that the user gives
by name. The fraction of threads that take a branch may also be an input. A warp runs a block if any
of its threads runs the block.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from dse.cuda.control_flow import BasicBlock, Loop, build_control_flow, is_postdominated
from dse.cuda.cubin import KernelFunction, is_slow_path
from dse.cuda.instructions import MEMORY, WORD, ConstantBank, Instruction
from dse.cuda.integer_expressions import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Atom,
    Condition,
    IntExpr,
    Product,
    Ranges,
    Substitution,
    atom_expr,
    atoms_of,
    combine,
    comparison,
    conjuncts,
    constant,
    divide_product,
    floordiv,
    indicator,
    is_known,
    known_ranges,
    make_product,
    negate,
    substitute,
)
from dse.cuda.register_values import RegisterValues
from dse.cuda.source import LineKinds
from stochastic import sizes


def merge_branches(runs: IntExpr) -> IntExpr:
    """Return a sum in which equal products for a condition and for its opposite are merged."""
    terms = dict(runs.terms)
    again = True
    while again:
        again = False
        for product, times in list(terms.items()):
            for one in product:
                if one.kind != "if" or product not in terms:
                    continue
                rest = divide_product(product, one) or ()
                (opposite,) = IntExpr({(Atom("if", (negate(one.args[0]),)),): 1}).terms
                other = make_product([*rest, *opposite])
                if other != product and terms.get(other) == times:
                    del terms[product], terms[other]
                    terms[rest] = terms.get(rest, 0) + times
                    again = True
    return IntExpr({product: times for product, times in terms.items() if times})


#: Source line of each instruction, by index.
Lines = Mapping[int, int]


def record_name(word: str, lines: Lines, index: int, names: dict[str, int]) -> str:
    """Return the name of a data input or assumption at an instruction, and record it."""
    name = unused_name(word, lines, index, lambda each: names.get(each, index) != index)
    names[name] = index
    return name


def unused_name(word: str, lines: Lines, index: int, is_taken: Callable[[str], bool]) -> str:
    """Return an unused name for an instruction, with the source line in the name if it is known."""
    line = lines.get(index)
    base = f"{word}_line_{line}" if line else f"{word}_at_{index * WORD:x}"
    names = chain([base], (f"{base}_{number}" for number in count(2)))
    return next(name for name in names if not is_taken(name))


#: Numbers with which mathematical functions compare their argument: infinity, and the limits above
#: which sine and cosine need many steps to reduce it, for float and for double.
_SPECIAL_VALUES = frozenset({"+INF", "-INF", "105615", "2.14748364800000000000e+09", "2147483648"})
_STORES = ("global_store", "shared_store", "local_store", "shared_atomic", "global_copy")
_REGISTER = re.compile(r"U?R\d+")


_MAX_TRIALS = sizes.PASSES_TRIED  # iterations that are tried one by one


def trip_count(condition: Condition, loop: Loop) -> IntExpr | None:
    """Return the trip count of a loop that tests a condition once in each iteration."""
    match condition:
        case ("false",):
            return ONE
        case ("and", one, two):
            for each, other in ((one, two), (two, one)):
                start = _monotone_start(each, loop)
                rest = None if start is None else trip_count(other, loop)
                if start is not None and rest is not None:
                    return ONE + (rest - ONE) * indicator(comparison(">=", start))
            # a counter is sure to reach a number only if no other condition ends the loop earlier
            if not any(each[0] == "not" for each in conjuncts(condition)):
                first, second = trip_count(one, loop), trip_count(two, loop)
                if first is not None and second is not None:
                    return atom_expr("least", first, second)
        case ("or", (">=", one), (">=", two)) if loop.head not in free_loops(one + two, {}):
            return trip_count((">=", two), loop)  # an unsigned counter is never below 0
        case (">=", value):
            parts = _split_linear(value, loop)
            if parts is not None and _is_positive(-parts[1]):
                return floordiv(parts[0], -parts[1]) + constant(2)
        case ("not", ("==", value)):
            parts = _split_linear(value, loop)
            if parts is not None and parts[1].terms:
                start, step = parts
                start, step = (-start, -step) if _is_positive(step) else (start, step)
                return floordiv(start, -step) + ONE
    head = loop.head
    if not is_known(condition) or is_data_dependent(condition, loop):
        return None
    if is_loop_variant(condition, head):
        iterations = _count_by_trial(condition, head)
        return atom_expr("first", head, condition) if iterations is None else constant(iterations)
    return None


def required_trip_counts(value: IntExpr, trip_counts: Mapping[int, IntExpr]) -> dict[int, IntExpr]:
    """Return all trip counts that an expression depends on, by loop head."""
    result, waiting = dict[int, IntExpr](), [value]
    while waiting:
        for one in waiting.pop().atoms():
            if one.kind == "pass" and one.args[0] not in result:
                result[one.args[0]] = trip_counts[one.args[0]]
                waiting.append(result[one.args[0]])
    return result


def free_loops(part: Any, cache: dict[Atom, frozenset[int]]) -> frozenset[int]:
    """Return the loops whose iteration changes an expression; ``cache`` holds results for atoms."""
    if isinstance(part, IntExpr):
        return frozenset().union(*(free_loops(one, cache) for p in part.terms for one in p))
    if isinstance(part, tuple):
        return frozenset().union(*(free_loops(each, cache) for each in part))
    if not isinstance(part, Atom):
        return frozenset()
    if part not in cache:
        match part:
            case Atom("pass", (head,)) | Atom("power", (_, head)):
                cache[part] = frozenset({head})
            case Atom("first" | "total", (head, inside)):
                cache[part] = free_loops(inside, cache) - {head}
            case _:
                cache[part] = free_loops(part.args, cache)
    return cache[part]


def _minimum(left: IntExpr, right: IntExpr) -> IntExpr:
    return left if left == right else atom_expr("least", left, right)


def is_data_dependent(when: Condition, loop: Loop) -> bool:
    """True if a condition depends on values that are loaded anew in each iteration of a loop."""
    return any(one.kind == "loaded" and one.args[0][1] in loop.blocks for one in atoms_of(when))


def _monotone_start(when: Condition, loop: Loop) -> IntExpr | None:
    """Return the initial ``value`` of ``value >= 0`` if no iteration decreases it, or None."""
    if when[0] != ">=" or (parts := _split_linear(when[1], loop)) is None:
        return None
    start, step = parts
    return start if not step.terms or _is_positive(step) else None


def _count_by_trial(condition: Condition, head: int) -> int | None:
    """Return the trip count found by testing each iteration; None if other values are needed."""
    if any(one.kind in ("argument", "special", "input", "loaded") for one in atoms_of(condition)):
        return None
    for number in range(_MAX_TRIALS):
        now = constant(number)

        def replace_atom(atom: Atom, now: IntExpr = now, number: int = number) -> IntExpr | None:
            if atom == Atom("pass", (head,)):
                return now
            if atom.kind == "power" and atom.args[1] == head:
                return constant(atom.args[0] ** number)
            return None

        decided = Substitution(replace_atom).condition(condition)
        if decided == FALSE:
            return number + 1
        if decided != TRUE:
            return None
    return None


def _is_positive(step: IntExpr) -> bool:
    return bool(step.terms) and all(times > 0 for times in step.terms.values())


def is_loop_variant(when: Condition | IntExpr, head: int) -> bool:
    """True if a condition or value depends on the iteration of a loop."""
    return any(one.kind in ("pass", "power") and head in one.args for one in atoms_of(when))


def _split_linear(value: IntExpr, loop: Loop) -> tuple[IntExpr, IntExpr] | None:
    """Return start and step of an expression that is linear in the iteration; None for others."""
    head = loop.head
    iteration = Atom("pass", (head,))
    start: dict[Product, int] = {}
    step: dict[Product, int] = {}
    for product, times in value.terms.items():
        power = product.count(iteration)
        rest = tuple(one for one in product if one != iteration)
        is_moving = any(
            one.kind in ("unknown", "entry", "reciprocal")
            or (one.kind == "loaded" and one.args[0][1] in loop.blocks)
            for one in IntExpr({rest: 1}).atoms()
        )
        if power > 1 or is_moving or is_loop_variant(IntExpr({rest: 1}), head):
            return None
        terms = step if power else start
        terms[rest] = terms.get(rest, 0) + times
    return IntExpr(start), IntExpr(step)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLaunch:
    """Known numbers of a launch: its sizes, its arguments and the largest indices."""

    numbers: Mapping[Atom, int]
    ranges: Ranges

    @classmethod
    def from_sizes(
        cls, block: Sequence[int], grid: Sequence[int] | None, arguments: Mapping[int, int]
    ) -> KnownLaunch:
        """Return the known numbers for a block, a grid (None: unknown) and arguments by offset."""
        numbers = {Atom("argument", (offset,)): value for offset, value in arguments.items()}
        maxima: dict[Atom, int] = {}
        for name, counts in (("tid", block), ("ctaid", grid)):
            for axis, size in zip("xyz", counts or (), strict=False):
                index = Atom("special", (f"{name}.{axis}",))
                numbers[Atom("special", (f"n{name}.{axis}",))] = size
                maxima[index] = size - 1
                if size == 1:
                    numbers[index] = 0
        return cls(numbers=numbers, ranges=Ranges(maxima))


class KernelAnalysis:
    """A kernel's control flow and register values, and how often each block runs.

    ``block_runs`` is the number of times that a thread runs each block. ``trip_counts`` has the
    trip count of each loop, by its head. ``data_inputs`` (which depend on data) and ``assumptions``
    (about branches) map names to the index of the deciding instruction.

    The guard at the exit of a loop gives the trip count of the loop. With several exits, the trip
    count is the iteration in which the first exit is taken.

    Without ``launch`` the analysis is valid for every launch. Otherwise, the sizes and arguments of
    the launch decide branches and loops that are undecided without them.
    """

    def __init__(
        self,
        function: KernelFunction,
        body: Sequence[Instruction],
        lines: Mapping[int, int] | None = None,
        line_kinds: LineKinds | None = None,
        given: frozenset[str] = frozenset(),
        launch: KnownLaunch | None = None,
    ) -> None:
        self.launch, self._body, self._given = launch, body, given
        self._line_kinds = line_kinds or LineKinds()
        with known_ranges(None if launch is None else launch.ranges):
            self._analyze(function, body, lines or {})

    def _analyze(
        self, function: KernelFunction, body: Sequence[Instruction], lines: Mapping[int, int]
    ) -> None:
        self.function, self.lines, self.graph = function, lines, build_control_flow(body)
        upper = frozenset(offset + 4 for offset, size in function.arguments if size == 8)
        block, grid = (0x360, 0x370) if function.arch >= 100 else (0x0, 0xC)
        layout = {block + 4 * at: f"ntid.{axis}" for at, axis in enumerate("xyz")}
        layout |= {grid + 4 * at: f"nctaid.{axis}" for at, axis in enumerate("xyz")}
        known = {} if self.launch is None else self.launch.numbers
        table = function.jump_table
        constants = ConstantBank(layout, function.argument_base, upper, table, known)
        self.values = RegisterValues(self.graph, constants)
        self.trip_counts: dict[int, IntExpr] = {}
        self.data_inputs: dict[str, int] = {}
        self.assumptions: dict[str, int] = {}
        self._entry_counts: dict[int, IntExpr] = {}
        #: The exits of each loop, and the condition to stay in each loop that has one exit.
        self._exits: dict[int, list[int]] = {}
        self._stay_conditions: dict[int, Condition] = {}
        self._branch_shares: dict[int, tuple[IntExpr, IntExpr]] = {}
        self._guarded_blocks: dict[str, Collection[int]] = {}
        slow = (offset // WORD for offset, name in function.callees if is_slow_path(name))
        self._slow_paths = min(slow, default=len(body))  # first index of slow paths
        self.values.trip_count = self._trip_count
        for number in self.graph.reverse_postorder:
            self._runs_per_iteration(number)
        self.block_runs = {n: self._runs_per_thread(n) for n in self.graph.reverse_postorder}
        self._drop_unreached()
        self._name_loaded()
        self.values.is_final = True

    def instructions(self) -> Iterator[tuple[int, int, Instruction]]:
        """Yield each instruction that can run, with its block and its index in the block."""
        for number in self.block_runs:
            for place, one in enumerate(self.graph.blocks[number].body):
                yield number, place, one

    def at_launch(self, launch: KnownLaunch) -> KernelAnalysis:
        """Return the analysis of the same kernel at a launch."""
        about = self.lines, self._line_kinds, self._given
        return KernelAnalysis(self.function, self._body, *about, launch)

    def open_choices(self) -> int:
        """Return the number of data inputs plus the number of loops assumed not to end early."""
        early = sum(name.startswith("leaves") for name in self.assumptions)
        return len(self.data_inputs) + early

    def input_name(self, name: str) -> str:
        """Return a data input's name; ``skip`` or ``take`` replaces a prefix ``chance``."""
        word, _, place = name.partition("_")
        others = (f"{each}_{place}" for each in ("skip", "take") if word == "chance")
        return next((each for each in others if each in self.data_inputs), name)

    def guarded_lines(self, name: str) -> str:
        """Return a text such as "lines 4 to 7" for the code that a data input guards."""
        blocks = self._guarded_blocks.get(name, ())
        every = {self.lines.get(one.index, 0) for n in blocks for one in self.graph.blocks[n].body}
        if not (every := every - {0}):
            return ""
        low, high = min(every), max(every)
        return f"line {low}" if low == high else f"lines {low} to {high}"

    def needed_arguments(self) -> list[int]:
        """Return the offsets of arguments on which counts, or the guards of accesses, depend."""
        every = [*self.block_runs.values(), *self.trip_counts.values()]
        for number, place, one in self.instructions():
            if one.guard and one.kind in MEMORY:
                when = self.values.solved_guard(number, place)
                every += [atom_expr("if", when)] if is_known(when) else []
        return sorted({a.args[0] for value in every for a in value.atoms() if a.kind == "argument"})

    def _drop_unreached(self) -> None:
        """Remove the trip counts of loops that never run, and data inputs that are not needed."""
        for head in self.trip_counts:
            if not self.block_runs.get(head, ZERO).terms:
                self.trip_counts[head] = ONE
        every = (*self.block_runs.values(), *self.trip_counts.values())
        needed = {a.args[0] for value in every for a in value.atoms() if a.kind == "input"}
        self.data_inputs = {n: at for n, at in self.data_inputs.items() if n in needed}
        reached = {
            one.index
            for number, runs in self.block_runs.items()
            if runs.terms
            for one in self.graph.blocks[number].body
        }
        self.assumptions = {n: at for n, at in self.assumptions.items() if at in reached}

    def _name_loaded(self) -> None:
        """Replace loaded values in counts by data inputs, named after the line of the load."""

        @functools.cache
        def name_atom(atom: Atom) -> IntExpr | None:
            if atom.kind != "loaded":
                return None
            _, block, place = atom.args[0]
            at = self.graph.blocks[block].body[place].index
            return atom_expr("input", record_name("loaded", self.lines, at, self.data_inputs))

        for counts in (self.block_runs, self.trip_counts):
            for number, value in counts.items():
                if any(one.kind == "loaded" for one in value.atoms()):
                    counts[number] = substitute(value, name_atom)

    def _trip_count(self, head: int) -> IntExpr | None:
        """Return the trip count of a loop per entry; None while it is being derived."""
        if head not in self.trip_counts:
            if head in self._exits:
                return None
            self._exits[head] = []
            self.trip_counts[head] = self._find_trip_count(self.graph.loops[head])
        return self.trip_counts[head]

    def _runs_per_iteration(self, number: int) -> IntExpr:
        """Return how often a block runs per iteration of its loop, or per thread if it has none."""
        if number not in self._entry_counts:
            self._entry_counts[number] = self._entry_count(number)
        return ONE if number in self.graph.loops else self._entry_counts[number]

    def _runs_per_thread(self, number: int) -> IntExpr:
        result, head = self._runs_per_iteration(number), self.graph.innermost_loops.get(number)
        while head is not None:
            many = self._trip_count(head)
            assert many is not None
            total = ZERO
            for product, times in result.terms.items():
                total = total + self._sum_over_iterations(product, head, many).scale(times)
            self._runs_per_iteration(head)
            result = total * self._entry_counts[head]
            head = self.graph.loops[head].parent
        return result

    def _sum_over_iterations(self, product: Product, head: int, trip_count: IntExpr) -> IntExpr:
        """Sum a product over iterations; a factor ``staying`` excludes the last iteration."""
        staying = Atom("staying", (head,))
        rest = IntExpr({tuple(one for one in product if one != staying): 1})
        if staying not in product:
            return rest * trip_count
        if head in self._stay_conditions and is_loop_variant(rest, head):
            return rest * trip_count * atom_expr("if", self._stay_conditions[head])
        return rest * (trip_count - ONE)

    def _entry_count(self, number: int) -> IntExpr:
        """Return how often a block is entered; for a loop head, only from outside its loop."""
        flow, loop, around = self.graph, self.graph.loops.get(number), self._enclosing_loop(number)
        if number == 0:
            return ONE
        dominator = self._dominator_at_level(number, around)
        if dominator is not None and is_postdominated(flow, dominator, number):
            if dominator == around:
                return ONE
            self._runs_per_iteration(dominator)
            return self._entry_counts[dominator]
        often = ZERO
        for each in dict.fromkeys(flow.blocks[number].predecessors):
            if loop is None or each not in loop.blocks:
                runs = self._runs_per_iteration(each) * self._branch_share(each, number)
                often = often + self._exit_runs(runs, flow.innermost_loops.get(each), around)
        return merge_branches(often)

    def _dominator_at_level(self, number: int, around: int | None) -> int | None:
        """Return the nearest dominator in the same loop as a block; None if there is none."""
        dominator = self.graph.immediate_dominators[number]
        while dominator != around and self._enclosing_loop(dominator) != around:
            head = self.graph.innermost_loops.get(dominator)
            if head == dominator:
                head = self.graph.loops[dominator].parent
            if head is None or number in self.graph.loops[head].blocks:
                return None
            dominator = head
        return dominator

    def _enclosing_loop(self, number: int) -> int | None:
        """Return the innermost loop around a block; for a loop head, the parent of its loop."""
        if number in self.graph.loops:
            return self.graph.loops[number].parent
        return self.graph.innermost_loops.get(number)

    def _exit_runs(self, runs: IntExpr, head: int | None, around: int | None) -> IntExpr:
        """Convert ``runs`` per iteration of loop ``head`` to runs per iteration of ``around``."""
        while head is not None and head != around:
            self._trip_count(head)
            self._runs_per_iteration(head)
            if not runs.terms:
                runs = ZERO
            elif len(self._exits[head]) <= 1:
                runs = self._entry_counts[head]
            else:
                runs = self._entry_counts[head] * atom_expr("total", head, runs)
            head = self.graph.loops[head].parent
        return runs

    def _branch_share(self, number: int, successor: int) -> IntExpr:
        block = self.graph.blocks[number]
        if len(set(block.successors)) == 1:
            return ONE
        if number not in self._branch_shares:
            self._branch_shares[number] = self._find_branch_shares(number)
        return self._branch_shares[number][block.successors.index(successor)]

    def _find_branch_shares(self, number: int) -> tuple[IntExpr, IntExpr]:
        """Return the shares of a branch's runs in which its guard holds and in which it fails."""
        head = self.graph.innermost_loops.get(number)
        block = self.graph.blocks[number]
        while head is not None:
            leaving = [each not in self.graph.loops[head].blocks for each in block.successors]
            self._trip_count(head)
            if any(leaving) and self._exits[head] == [number]:
                stays = atom_expr("staying", head)
                return (ONE, stays) if leaving[0] else (stays, ONE)
            head = self.graph.loops[head].parent
        when = self.values.solved_guard(number, len(block.body) - 1)
        loop = self.graph.innermost_loops.get(number)
        is_decided = is_known(when) and (
            loop is None or not is_data_dependent(when, self.graph.loops[loop])
        )
        reads_memory = any(one.kind == "loaded" for one in atoms_of(when))
        is_inside = reads_memory and any(self._rare_path(block, n) for n in block.successors)
        if is_decided and not is_inside and not self._differs_by_data(block, when):
            return indicator(when), indicator(negate(when))
        at, other = block.terminator.index, ((ZERO, ONE), (ONE, ZERO))
        for to, share in zip(block.successors, other, strict=True):
            if word := self._rare_path(block, to):
                name = self._name_assumption(word, at)
                if name not in self._given:
                    return share
                taken = atom_expr("input", name)
                return (taken, ONE - taken) if share == other[0] else (ONE - taken, taken)
        for to, share in zip(block.successors, other, strict=True):
            if loop is not None and to not in self.graph.loops[loop].blocks:  # an early loop exit
                record_name("leaves", self.lines, at, self.assumptions)
                return share
        chance = atom_expr("input", self._name_branch(block))
        return chance, ONE - chance

    def _name_assumption(self, word: str, at: int) -> str:
        """Record an assumption about a line, or a data input if its value is given."""
        line = self.lines.get(at)
        name = f"{word}_line_{line}" if line else f"{word}_at_{at * WORD:x}"
        (self.data_inputs if name in self._given else self.assumptions).setdefault(name, at)
        return name

    def _rare_path(self, block: BasicBlock, successor: int) -> str:
        """Return "slow" or "wait" if a branch rarely leads to a successor, else "".

        "slow": the successor calls a function for divisions or roots, or is the longer side of a
        branch for special values in a mathematical function. "wait": the successor begins a loop
        that polls.
        """
        graph, is_slow = self.graph, self._is_slow_path(block)
        near = [successor, *graph.blocks[successor].successors]
        if any(one.name == "CALL" for one in graph.blocks[successor].body):
            return "slow"
        if not is_slow and any(self._is_slow_path(graph.blocks[each]) for each in near):
            return "slow"
        paths = {each: self._blocks_after(block.number, each) for each in block.successors}
        heads = paths[successor] & graph.loops.keys()
        if any(self._is_wait(graph.loops[head]) for head in heads.intersection(near)):
            return "wait"
        if not self._is_in_function(block):
            return ""
        lengths = {
            each: sum(len(graph.blocks[number].body) for number in blocks)
            for each, blocks in paths.items()
        }
        return "slow" if lengths[successor] == max(lengths.values()) else ""

    def _is_in_function(self, block: BasicBlock) -> bool:
        """True if a branch is inside a mathematical function called on the branch's source line."""
        line, kinds = self.lines.get(block.terminator.index), self._line_kinds
        if self._is_slow_path(block):
            return True
        if line not in kinds.functions:
            return False
        guards = {each.lstrip("!") for each in block.terminator.guards}
        compared = [one for one in block.body if not guards.isdisjoint(one.results)]
        if any(each.strip("| ") in _SPECIAL_VALUES for one in compared for each in one.operands):
            return True
        return line not in kinds.branches | kinds.loops

    def _is_slow_path(self, block: BasicBlock) -> bool:
        return bool(block.body) and block.body[0].source_index >= self._slow_paths

    def _is_wait(self, loop: Loop) -> bool:
        """True if a loop polls: it sleeps, tests a barrier, or loads from an unchanging address."""
        body = [one for number in loop.blocks for one in self.graph.blocks[number].body]
        if any(one.name in ("NANOSLEEP", "SYNCS", "ELECT") for one in body):
            return True
        written = {register for one in body for register in one.results}
        loads = [one for one in body if one.kind in ("global_load", "shared_load", "atomic")]
        kinds = {one.kind for one in body}
        return (
            bool(loads)
            and kinds.isdisjoint(_STORES)
            and all(
                written.isdisjoint(_REGISTER.findall(one.text.partition("[")[2])) for one in loads
            )
        )

    def _differs_by_data(self, block: BasicBlock, when: Condition) -> bool:
        """True if a branch of the source depends on data that differ between threads.

        The share of threads is then an input.
        """
        line, kinds = self.lines.get(block.terminator.index), self._line_kinds
        if line not in kinds.branches - kinds.loops:
            return False
        if any(name.startswith("loaded") for name in self._given):
            return False
        return any(one.kind == "loaded" and self._is_own_load(one) for one in atoms_of(when))

    def _is_own_load(self, atom: Atom) -> bool:
        _, block, place = atom.args[0]
        _, _, address = self.graph.blocks[block].body[place].text.partition("[")
        values = (self.values.operand_value(n, block, place) for n in _REGISTER.findall(address))
        return any(
            one.kind in ("loaded", "unknown", "entry")
            or (one.kind == "special" and one.args[0].startswith(("tid", "ctaid", "lane")))
            for value in values
            for one in value.atoms()
            if not (one.kind == "unknown" and one.args[0][0] == "constant")
        )

    def _name_branch(self, block: BasicBlock) -> str:
        """Record the share of threads at a branch as a data input, and return its name."""
        at = block.terminator.index
        others = {f"chance{name[4:]}": place for name, place in self.data_inputs.items()}
        place = record_name("chance", self.lines, at, others)[len("chance") :]
        target, behind = (self._blocks_after(block.number, each) for each in block.successors)
        word, blocks = ("take", target) if target and not behind else ("skip", behind)
        self.data_inputs[word + place], self._guarded_blocks[word + place] = at, blocks
        return word + place

    def _blocks_after(self, number: int, successor: int) -> frozenset[int]:
        graph = self.graph
        loop = graph.loops.get(successor)
        entries = [
            each
            for each in graph.blocks[successor].predecessors
            if loop is None or each not in loop.blocks
        ]
        if entries != [number]:
            return frozenset()
        result = {successor}
        for each in graph.reverse_postorder:
            if graph.immediate_dominators[each] in result:
                result.add(each)
        return frozenset(result)

    def _loop_line(self, loop: Loop, exit_index: int) -> int | None:
        """Return a loop's source line, preferably a line with a keyword such as ``for``."""
        blocks = self.graph.blocks
        latches = [blocks[each].terminator.index for each in loop.latches]
        head = [one.index for one in blocks[loop.head].body]
        every = (self.lines.get(at) for at in (*latches, exit_index, *head))
        with_keyword = (line for line in every if line in self._line_kinds.loops)
        return next(with_keyword, self.lines.get(head[0]) or self.lines.get(exit_index))

    def _find_trip_count(self, loop: Loop) -> IntExpr:
        """Return how often the head of a loop runs per entry, and record the exits of the loop."""
        counts: list[IntExpr | None] = []
        ends: list[int] = []
        unknown: list[int] = []
        stays: Condition = TRUE
        for number in (each for each in self.graph.reverse_postorder if each in loop.blocks):
            block = self.graph.blocks[number]
            leaving = [each not in loop.blocks for each in block.successors]
            if len(set(block.successors)) != 2 or not any(leaving):
                continue
            when = self.values.solved_guard(number, len(block.body) - 1)
            when = negate(when) if leaving[0] else when
            if when == TRUE:  # the loop is never left here
                continue
            parts = conjuncts(when)
            decided = [p for p in parts if is_known(p) and not is_data_dependent(p, loop)]
            if not decided:
                unknown.append(number)
                continue
            if len(decided) < len(parts):
                record_name("leaves", self.lines, block.terminator.index, self.assumptions)
            when = functools.reduce(combine, decided)
            ends.append(number)
            reached, inner = self._runs_per_iteration(number), self.graph.innermost_loops[number]
            if reached == ONE and inner == loop.head:
                counts.append(trip_count(when, loop))
                stays = combine(stays, when)
            else:
                counts.append(None)
                exits = self._exit_runs(reached * indicator(negate(when)), inner, loop.head)
                stays = combine(stays, comparison("==", exits))
        if ends and (None not in counts or (is_known(stays) and is_loop_variant(stays, loop.head))):
            self._exits[loop.head] = ends
            if len(ends) == 1:
                self._stay_conditions[loop.head] = stays
            if None in counts:
                return atom_expr("first", loop.head, stays)
            return functools.reduce(_minimum, filter(None, counts))
        candidates = [*unknown, *ends]
        if self._is_wait(loop):
            at = self.graph.blocks[(candidates or loop.latches)[0]].terminator.index
            self._exits[loop.head] = candidates[:1]
            name = self._name_assumption("wait", at)
            return atom_expr("input", name) if name in self._given else ONE
        at = self.graph.blocks[candidates[0] if candidates else loop.latches[0]].terminator.index
        line = self._loop_line(loop, at)
        name = record_name("trips", {at: line} if line else {}, at, self.data_inputs)
        self._guarded_blocks[name] = loop.blocks
        self._exits[loop.head] = candidates[:1]
        return atom_expr("input", name)
