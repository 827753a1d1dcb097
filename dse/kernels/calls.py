"""Functions that a kernel calls, put where it calls them, so that all that is counted is one flow.

Compilers leave loops by calls, too: a call into the middle of the same function is a branch. A
copy of a function's code stands behind the kernel's for each place that calls it; what calls leads
there, what returns leads back. What calls itself, and the compiler's own slow ways of a division or
a root, stay calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.kernels.assembly import WORD, Instruction
from stochastic import sizes

__all__ = ["inlined"]

_OWN = ("__internal_", "__cuda_")
_MOST = sizes.KERNEL_INSTRUCTIONS  # instructions of a kernel with all copies


def inlined(body: Sequence[Instruction], called: Sequence[tuple[int, str]]) -> list[Instruction]:
    """The instructions of a kernel with those of the functions that it calls.

    ``called`` are the functions in its code by their offsets in bytes.
    """
    names = {offset // WORD: name for offset, name in called}
    found = [_jump(one, one.target or 0) if _is_branch(one, body, names) else one for one in body]
    if not called:
        return found
    begins = sorted(names)
    ends = dict(zip(begins, [*begins[1:], len(body)], strict=True))
    body = list(found)
    waiting: list[tuple[int, tuple[int, ...]]] = [
        (one.at, (0,)) for one in body[: begins[0]] if one.name == "CALL"
    ]
    while waiting:
        at, within = waiting.pop(0)
        call = found[at]
        begin = None if call.target is None else call.target - at + call.of
        if begin not in names or begin in within or any(own in names[begin] for own in _OWN):
            continue
        copy = body[begin : ends[begin]]
        if len(found) + len(copy) > _MOST:
            break
        moved = len(found)
        found[at] = _jump(call, moved)
        for one in copy:
            place = len(found)
            if one.name == "RET":
                found.append(_jump(one, at + 1, place))
                continue
            found.append(one.moved(place))
            if one.name == "CALL":
                waiting.append((place, (*within, begin)))
    return found


def _is_branch(one: Instruction, body: Sequence[Instruction], names: Mapping[int, str]) -> bool:
    """True if a call never returns: it leads into code that is no function of its own.

    Where no function is named, code that has a return may be one.
    """
    if one.name != "CALL" or one.target is None or not 0 <= one.target < len(body):
        return False
    if len(one.operands) != 1 or not one.operands[0].startswith("0x"):  # by a pointer
        return False
    if names:
        return one.target not in names
    return not any(each.name == "RET" for each in body)


def _jump(one: Instruction, to: int, place: int | None = None) -> Instruction:
    """A call or return as the branch that it is."""
    told = {"opcode": "BRA", "operands": f"{to * WORD:#x}", "predicate": one.guard}
    at = one.at if place is None else place
    return Instruction(at, told, at, one.of)
