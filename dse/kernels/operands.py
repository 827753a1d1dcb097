"""Operands of instructions that are the same everywhere: numbers, sizes, places, arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.kernels.linear import ZERO, Whole, atom, constant

__all__ = ["Constants"]

_CONSTANT = re.compile(r"c\[(0x[0-9a-f]+)\]\[(?:(U?R)(\d+|Z)\+?)?(-?0x[0-9a-f]+)?\]$")
_REGISTER = re.compile(r"U?R\d+")
_SPECIAL = {
    f"SR_{name}.{axis.upper()}": f"{told}.{axis}"
    for name, told in (("TID", "tid"), ("CTAID", "ctaid"), ("NTID", "ntid"), ("NCTAID", "nctaid"))
    for axis in "xyz"
} | {"SR_LANEID": "lane"}


@dataclass(frozen=True, slots=True)
class Constants:
    """What the bank of constants holds at a launch.

    ``layout`` are sizes of the launch by their offsets, ``bank`` is where arguments begin, and
    ``upper`` are the high halves of arguments of 8 bytes, and ``table`` is that of jumps.
    """

    layout: Mapping[int, str]
    bank: int
    upper: frozenset[int]
    table: tuple[int, ...] = ()
    _known: dict[str, Whole | tuple[bool, str] | None] = field(default_factory=dict)

    def plain(self, text: str) -> Whole | tuple[bool, str] | None:
        """An operand; of a register whether it is negative and its name, None of any other."""
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> Whole | tuple[bool, str] | None:
        if text.startswith("-") and text[1:2] != "0":
            found = self.plain(text[1:])
            return (not found[0], found[1]) if isinstance(found, tuple) else found and -found
        if text.startswith(("0x", "-0x")):
            number = int(text, 16)
            return constant(number - 2**32 if number >= 2**31 else number)
        if text == "SR_CgaCtaId":  # a block's place in its cluster, of one block
            return ZERO
        if text in _SPECIAL:
            return atom("special", _SPECIAL[text])
        text = text.partition(".")[0]
        if text in ("RZ", "URZ", "SRZ"):
            return ZERO
        if (held := _CONSTANT.match(text)) is not None:
            return self._held(held)
        return (False, text) if _REGISTER.fullmatch(text) else None

    def place(self, text: str) -> tuple[str, int] | None:
        """Return the register and the offset by which an operand reads the table of jumps."""
        held = _CONSTANT.match(text)
        if held is None or held[1] != "0x2" or not held[2] or held[3] == "Z":
            return None
        return f"{held[2]}{held[3]}", int(held[4] or "0x0", 16)

    def behind(self, text: str) -> Whole | None:
        """The high half of a pair: what lies behind a constant."""
        held = _CONSTANT.match(text)
        if held is None or held[2] or held[1] != "0x0":
            return None
        found = _CONSTANT.match(f"c[0x0][{int(held[4] or '0x0', 16) + 4:#x}]")
        assert found is not None
        return self._held(found)

    def _held(self, told: re.Match[str]) -> Whole:
        """A constant: of the launch, or an argument."""
        if told[1] != "0x0" or (told[2] and told[3] != "Z"):
            return atom("unknown", ("constant", told[0]))
        offset = int(told[4] or "0x0", 16)
        if offset - self.bank in self.upper:
            return ZERO
        if offset in self.layout:
            return atom("special", self.layout[offset])
        if offset >= self.bank:
            return atom("argument", offset - self.bank)
        return atom("unknown", ("constant", offset))
