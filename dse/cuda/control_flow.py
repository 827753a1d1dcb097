"""Control flow of a kernel: basic blocks, dominators and loops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.cuda.instructions import Instruction
from symbolic.errors import DseError

_REGISTER = re.compile(r"U?R\d+\b")


@dataclass(slots=True, eq=False)
class BasicBlock:
    """A sequence of instructions without branches into or out of its middle.

    A block with two successors ends in a branch, which goes to the first successor if its guard
    holds. The last block is the exit and is empty.
    """

    number: int
    body: Sequence[Instruction]
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)

    @property
    def terminator(self) -> Instruction:
        """Last instruction of the block, which selects the successor."""
        return self.body[-1]


@dataclass(slots=True, eq=False)
class Loop:
    """A natural loop: head, blocks, latches (blocks that jump back to the head) and parent loop."""

    head: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    parent: int | None = None


@dataclass(slots=True, eq=False)
class ControlFlowGraph:
    """Basic blocks, their immediate dominators and postdominators (-1: none), and loops by head."""

    blocks: Sequence[BasicBlock]
    reverse_postorder: Sequence[int]
    immediate_dominators: Sequence[int]
    immediate_postdominators: Sequence[int]
    loops: dict[int, Loop]
    innermost_loops: dict[int, int]


def build_control_flow(body: Sequence[Instruction]) -> ControlFlowGraph:
    """Return the control flow graph of a kernel."""
    targets = _branch_targets(body)
    if any(not 0 <= to <= len(body) for each in targets.values() for to in each):
        raise DseError("the kernel branches out of its code, which is damaged: compile it again")
    heads = sorted({0, *(t for ts in targets.values() for t in ts), *(at + 1 for at in targets)})
    heads = [at for at in heads if at < len(body)]
    heads.append(len(body))
    number_at = {at: number for number, at in enumerate(heads)}
    blocks = [
        BasicBlock(number, body[at:end])
        for number, (at, end) in enumerate(zip(heads, [*heads[1:], len(body)], strict=True))
    ]
    for block in blocks[:-1]:
        last = block.terminator
        block.successors = [number_at[t] for t in targets.get(last.index, [last.index + 1])]
    successors = [block.successors for block in blocks]
    predecessors = [block.predecessors for block in blocks]
    order = _reverse_postorder(successors, 0)
    for number in order:
        for each in blocks[number].successors:
            blocks[each].predecessors.append(number)
    dominators = _immediate_dominators(successors, predecessors, order)
    backwards = _reverse_postorder(predecessors, len(blocks) - 1)
    ends = frozenset(backwards)
    ways = [[each for each in block.successors if each in ends] for block in blocks]
    postdominators = _immediate_dominators(predecessors, ways, backwards)
    loops = _find_loops(blocks, order, dominators)
    inner: dict[int, int] = {}
    for loop in sorted(loops.values(), key=lambda each: -len(each.blocks)):
        loop.parent = inner.get(loop.head)
        for number in loop.blocks:
            inner[number] = loop.head
    return ControlFlowGraph(blocks, order, dominators, postdominators, loops, inner)


def is_postdominated(graph: ControlFlowGraph, block: int, postdominator: int) -> bool:
    """True if every path from a block to the exit passes ``postdominator``."""
    end = len(graph.blocks) - 1
    while block not in (postdominator, end, -1):
        block = graph.immediate_postdominators[block]
    return block == postdominator


def _branch_targets(body: Sequence[Instruction]) -> dict[int, list[int]]:
    """Return the targets of each branch; the first target is taken if the guard holds."""
    targets: dict[int, list[int]] = {}
    barriers: dict[str, int] = {}
    for one in body:
        onward = [one.index + 1] if one.guards else []
        if one.name == "BSSY":
            barriers[one.operands[0]] = one.target or one.index + 1
        elif one.name in ("BRX", "BRXU", "JMX", "JMXU"):
            raise DseError(
                f"the kernel jumps to a computed address ({one!r}), so that its control flow is "
                "unknown: write the switch as if and else, or import a profile (dse import)"
            )
        elif one.name == "CALL" and "REL" in one.modifiers and _REGISTER.match(one.text):
            raise DseError(
                f"the kernel calls an unknown function by a pointer ({one!r}): call it by its "
                "name, or import a profile (dse import)"
            )
        elif one.name in ("BRA", "JMP") and one.target is not None:
            rare = "DIV" in one.modifiers or "CONV" in one.modifiers
            targets[one.index] = [one.index + 1] if rare else [one.target, *onward]
        elif one.name in ("EXIT", "KILL", "RET"):
            targets[one.index] = [len(body), *onward]
        elif one.name == "BSYNC":
            targets[one.index] = [barriers.get(one.operands[0], one.index + 1), *onward]
    return targets


def _reverse_postorder(successors: Sequence[Sequence[int]], first: int) -> list[int]:
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
    """Return the immediate dominator of each block (Cooper, Harvey and Kennedy 2001)."""
    place = {number: at for at, number in enumerate(order)}
    dominators = [-1] * len(successors)
    dominators[order[0]] = order[0]
    changed = True
    while changed:
        changed = False
        for number in order[1:]:
            known = [each for each in predecessors[number] if dominators[each] >= 0]
            common = known[0]
            for other in known[1:]:
                while other != common:
                    while place[other] > place[common]:
                        other = dominators[other]
                    while place[common] > place[other]:
                        common = dominators[common]
            if dominators[number] != common:
                dominators[number], changed = common, True
    return dominators


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
                        "the kernel has a loop with two entries, which cannot be counted: import "
                        "a profile (dse import)"
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
