"""The flow of control of a kernel: basic blocks, what leads where, and the tree of loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.cuda.instructions import Instruction
from symbolic.errors import DseError

_REGISTER = re.compile(r"U?R\d+\b")


@dataclass(slots=True, eq=False)
class BasicBlock:
    """Instructions that run one after the other; ``to`` are the blocks that may follow.

    The last block is the end of the kernel and empty. Where two may follow, the last instruction
    has a guard: the first of ``to`` is where it holds.
    """

    number: int
    body: Sequence[Instruction]
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)

    @property
    def terminator(self) -> Instruction:
        """The instruction that decides what follows."""
        return self.body[-1]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop: its head, the blocks in it, those that lead back, the loop around it."""

    head: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    parent: int | None = None


@dataclass(slots=True, eq=False)
class ControlFlowGraph:
    """Blocks in an order in which all but what leads back leads on; loops by their head.

    ``above`` is the nearest block through which every way to one leads, ``below`` the nearest
    through which every way from one to the end leads (-1 where there is none).
    """

    blocks: Sequence[BasicBlock]
    reverse_postorder: Sequence[int]
    immediate_dominators: Sequence[int]
    immediate_postdominators: Sequence[int]
    loops: dict[int, Loop]
    innermost_loops: dict[int, int]


def build_control_flow(body: Sequence[Instruction]) -> ControlFlowGraph:
    """The flow of control.

    Raises
    ------
    DseError
        A jump whose target is computed or out of the code, recursion, or a loop with two heads.
    """
    leads = _branch_targets(body)
    if any(not 0 <= to <= len(body) for each in leads.values() for to in each):
        raise DseError("the kernel branches out of its code, which is damaged: compile it again")
    heads = sorted({0, *(t for ts in leads.values() for t in ts), *(at + 1 for at in leads)})
    heads = [at for at in heads if at < len(body)]
    heads.append(len(body))
    number_at = {at: number for number, at in enumerate(heads)}
    blocks = [
        BasicBlock(number, body[at:end])
        for number, (at, end) in enumerate(zip(heads, [*heads[1:], len(body)], strict=True))
    ]
    for block in blocks[:-1]:
        last = block.terminator
        block.successors = [number_at[t] for t in leads.get(last.index, [last.index + 1])]
    order = _reverse_postorder([block.successors for block in blocks], 0)
    for number in order:
        for each in blocks[number].successors:
            blocks[each].predecessors.append(number)
    above = _immediate_dominators(
        [block.successors for block in blocks], [block.predecessors for block in blocks], order
    )
    backwards = _reverse_postorder([block.predecessors for block in blocks], len(blocks) - 1)
    ends = frozenset(backwards)
    ways = [[each for each in block.successors if each in ends] for block in blocks]
    below = _immediate_dominators([block.predecessors for block in blocks], ways, backwards)
    loops = _find_loops(blocks, order, above)
    inner: dict[int, int] = {}
    for loop in sorted(loops.values(), key=lambda each: -len(each.blocks)):
        loop.parent = inner.get(loop.head)
        for number in loop.blocks:
            inner[number] = loop.head
    return ControlFlowGraph(blocks, order, above, below, loops, inner)


def is_postdominated(graph: ControlFlowGraph, block: int, postdominator: int) -> bool:
    """True if every way from a block to the end leads through another."""
    end = len(graph.blocks) - 1
    while block not in (postdominator, end, -1):
        block = graph.immediate_postdominators[block]
    return block == postdominator


def _branch_targets(body: Sequence[Instruction]) -> dict[int, list[int]]:
    """Where each instruction that may leave its line leads; where its guard holds comes first."""
    leads: dict[int, list[int]] = {}
    barriers: dict[str, int] = {}
    for one in body:
        onward = [one.index + 1] if one.guards else []
        if one.name == "BSSY":
            barriers[one.operands[0]] = one.target or one.index + 1
        elif one.name in ("BRX", "BRXU", "JMX", "JMXU"):
            raise DseError(
                f"the kernel jumps to a computed address ({one!r}), so that its flow is not known: "
                "write the switch as if and else, or give counts by a profile (dse import)"
            )
        elif one.name == "CALL" and "REL" in one.modifiers and _REGISTER.match(one.text):
            raise DseError(
                f"the kernel calls a function by a pointer ({one!r}), so that it is not known "
                "which: call it by its name, or give counts by a profile (dse import)"
            )
        elif one.name in ("BRA", "JMP") and one.target is not None:
            rare = "DIV" in one.modifiers or "CONV" in one.modifiers
            leads[one.index] = [one.index + 1] if rare else [one.target, *onward]
        elif one.name in ("EXIT", "KILL", "RET"):
            leads[one.index] = [len(body), *onward]
        elif one.name == "BSYNC":
            leads[one.index] = [barriers.get(one.operands[0], one.index + 1), *onward]
    return leads


def _reverse_postorder(successors: Sequence[Sequence[int]], first: int) -> list[int]:
    """Reverse postorder from the first block."""
    seen, done, stack = {first}, [], [(first, iter(successors[first]))]
    while stack:
        number, rest = stack[-1]
        for each in rest:
            if each not in seen:
                seen.add(each)
                stack.append((each, iter(successors[each])))
                break
        else:
            done.append(number)
            stack.pop()
    return done[::-1]


def _immediate_dominators(
    successors: Sequence[Sequence[int]], predecessors: Sequence[Sequence[int]], order: Sequence[int]
) -> list[int]:
    """The nearest block above each through which every way to it leads (Cooper et al. 2001)."""
    place = {number: at for at, number in enumerate(order)}
    above = [-1] * len(successors)
    above[order[0]] = order[0]
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            known = [each for each in predecessors[number] if above[each] >= 0]
            result = known[0]
            for each in known[1:]:
                one = each
                while one != result:
                    while place[one] > place[result]:
                        one = above[one]
                    while place[result] > place[one]:
                        result = above[result]
            if above[number] != result:
                above[number], changed = result, True
    return above


def _find_loops(
    blocks: Sequence[BasicBlock], order: Sequence[int], immediate_dominators: Sequence[int]
) -> dict[int, Loop]:
    place = {number: at for at, number in enumerate(order)}

    def is_dominated(head: int, number: int) -> bool:
        while place[number] > place[head]:
            number = immediate_dominators[number]
        return number == head

    back: dict[int, list[int]] = {}
    for number in order:
        for each in blocks[number].successors:
            if place[each] <= place[number]:
                if not is_dominated(each, number):
                    raise DseError(
                        "the kernel has a loop that is entered at two places: counts by a profile "
                        "(dse import) need no loops"
                    )
                back.setdefault(each, []).append(number)
    loops = {}
    for head, lasts in back.items():
        inside, stack = {head}, list(lasts)
        while stack:
            number = stack.pop()
            if number not in inside:
                inside.add(number)
                stack += blocks[number].predecessors
        loops[head] = Loop(head, frozenset(inside), tuple(lasts))
    return loops
