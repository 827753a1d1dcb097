"""What a kernel keeps on its stack: registers that a compiler stores in local memory and loads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.kernels.assembly import Instruction

__all__ = ["slots"]

_STACK = "R1"
_PLACE = re.compile(r"\[R1(?:\+(-?0x[0-9a-f]+))?\]$")
_BYTES = {"64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}
#: What may write to local memory by an address that is not told apart from others.
_ANYWHERE = ("ST", "CALL")


def slots(body: Sequence[Instruction]) -> dict[int, tuple[str, ...]]:
    """The words of the stack that each local load and store is of, by the instruction's place.

    Nothing where a store may be to any of them: by a computed address (an array), a generic one,
    of a function that is called, or of fewer bytes than a word.
    """
    local = [one for one in body if one.kind in ("local_load", "local_store")]
    if not local or any(one.name in _ANYWHERE for one in body):
        return {}
    moved = [one.at for one in body if _STACK in one.results]
    leaves = next((one.at for one in body if one.name in ("BRA", "BSYNC", "BRX", "JMP")), len(body))
    if any(at > min(leaves, local[0].at) for at in moved):
        return {}
    found = {}
    for one in local:
        place = next((m for each in one.operands if (m := _PLACE.match(each))), None)
        many = next((_BYTES[each] for each in one.modifiers if each in _BYTES), 4)
        begin = int(place[1] or "0", 16) if place is not None else 0
        if place is not None and many >= 4 and begin % 4 == 0:
            found[one.at] = tuple(f"M{begin + at}" for at in range(0, many, 4))
        elif one.kind == "local_store":
            return {}
    return found
