"""Jumps through tables (BRX), as the branches that they stand for.

Compilers write a ``switch`` as a table of places in the constants. Such a jump becomes a chain of
comparisons and branches behind the kernel, one for each place that the table names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.kernels.assembly import WORD, Instruction

__all__ = ["JUMPS", "without_tables"]

JUMPS = ("BRX", "BRXU")
#: A predicate that the hardware does not have.
_FREE = "P9"


def without_tables(
    body: Sequence[Instruction], targets: Mapping[int, Sequence[int]]
) -> list[Instruction]:
    """Return the instructions with jumps through tables as chains of branches.

    ``targets`` are the places in bytes that each jump may lead to, by its own. A jump that they do
    not know stays.
    """
    found = list(body)
    for one in body:
        places = targets.get(one.at * WORD)
        if one.name not in JUMPS or one.at != one.of or not places:
            continue
        register, last = one.operands[0].split("+")[0], places[-1]
        found[one.at] = _made(one, one.at, "BRA", f"{len(found) * WORD:#x}", one.guard)
        for place in dict.fromkeys(places):
            if place != last:
                compared = f"{_FREE},PT,{register},{place:#x},PT"
                found.append(_made(one, len(found), "ISETP.EQ.U32.AND", compared))
                found.append(_made(one, len(found), "BRA", f"{place:#x}", _FREE))
        found.append(_made(one, len(found), "BRA", f"{last:#x}"))
    return found


def _made(of: Instruction, at: int, opcode: str, operands: str, guard: str = "") -> Instruction:
    return Instruction(at, {"opcode": opcode, "operands": operands, "predicate": guard}, at, of.of)
