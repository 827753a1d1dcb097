"""What the words of machine code say, as the disassembler told it of them or of their like.

A word's registers, whole numbers and targets stand in fields of it. Words that differ there alone
are of one *form*. Of a form the disassembler is asked for one word and for two more with fields of
our own; where it tells of all three what their fields hold and is the same but for that, it is not
asked for others of the form. Every other word it is asked for itself. Forms and words are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from stochastic.kept.folder import load, save
from symbolic.errors import DseError

__all__ = ["Said", "Told", "Words"]

#: What the disassembler tells of a word, and at which place it stood, from where branches count.
Told = Mapping[str, str]
Said = tuple[Told, int]
#: When to issue, wait and keep operands: bits that change nothing of what is told but ``.reuse``.
_CONTROL, _USUAL = ((1 << 21) - 1) << 105, 0x7F1 << 105
_SIZE = 16  # bytes a word
_MANY, _MOST = 8, 200_000  # words of a form that are not asked for each; words that are kept
#: Operations by the lowest 9 bits: arithmetic and conversions; loads and stores; branches.
_ARITHMETIC = frozenset(
    {*range(0x02, 0x1C), *range(0x1D, 0x80), *range(0x104, 0x113), 0x82, 0x90, 0x92, 0x99, 0x119}
)
_WHOLE = frozenset({0x02, 0x07, 0x0C, 0x10, 0x12, 0x17, 0x19, 0x35, 0x36, 0x82, 0x90, 0x92, 0x99})
_LOADS, _STORES = frozenset(range(0x181, 0x185)), frozenset(range(0x186, 0x189))
_BRANCHES, _COMPARES = frozenset({0x145, 0x147}), frozenset({0x0B, 0x0C, 0x2A, 0x34})
#: A field: its first bit and how many; registers have 8, numbers leave their sign.
Field = tuple[int, int]
_RESULT, _FIRST, _SECOND, _THIRD = (16, 8), (24, 8), (32, 8), (64, 8)
_REGISTERS = (_RESULT, _FIRST, _SECOND, _THIRD)
_NUMBER, _OFFSET = (32, 31), (40, 23)
#: Where branches lead; later architectures put the lowest bits into a field of their own.
_TARGET, _TARGET_LOW, _MEETING = (34, 48), (16, 8), (34, 32)
_REGISTER, _NO_REGISTERS = 8, (63, 255)
#: Registers and a number of our own, by field, of two words.
_OURS: Sequence[Mapping[Field, int]] = (
    {_RESULT: 32, _FIRST: 40, _SECOND: 48, _THIRD: 56, _NUMBER: 0x2340, _OFFSET: 0x2340},
    {_RESULT: 16, _FIRST: 24, _SECOND: 8, _THIRD: 52, _NUMBER: 0x1550, _OFFSET: 0x1550},
)


@lru_cache(maxsize=1 << 12)
def _fields(low: int) -> tuple[Field, ...]:
    """The fields that an operation may have, by its lowest 12 bits."""
    operation, kind = low & 0x1FF, low >> 9
    if operation in _BRANCHES:
        return (_MEETING,) if operation == 0x145 else (_TARGET, _TARGET_LOW)
    if operation in _LOADS:
        return (_RESULT, _FIRST, _OFFSET)
    if operation in _STORES:
        return (_FIRST, _SECOND, _OFFSET)
    if operation not in _ARITHMETIC:
        return ()
    found = (_FIRST,) if operation in _COMPARES else (_RESULT, _FIRST, _THIRD)
    if kind == 1:
        return (*found, _SECOND)
    return (*found, _NUMBER) if kind in (2, 4) and operation in _WHOLE else found


def _form(word: int) -> tuple[str, dict[Field, int]]:
    """The form of a word, and what stands in its fields."""
    held, form = {}, word
    for field in _fields(word & 0xFFF):
        begin, size = field
        ones = (1 << size) - 1
        value = word >> begin & ones
        if (field in _REGISTERS and value in _NO_REGISTERS) or (
            field in (_NUMBER, _OFFSET) and not value
        ):
            continue
        form &= ~(ones << begin)
        held[field] = value
    return f"{form:x}:{sum(1 << begin for begin, _ in held):x}", held


class Words:
    """The words of one architecture, kept under a name.

    ``ask`` asks the disassembler for some, in one go; it tells operations, operands and predicates.
    """

    def __init__(self, name: str, ask: Callable[[Sequence[int]], Sequence[Told]]) -> None:
        self._name, self._ask = name, ask
        kept = load(name)
        held: dict[str, Any] = json.loads(kept) if kept else {"words": {}, "forms": {}}
        self._words: dict[int, Said] = {
            int(word, 16): (told, at) for word, (told, at) in held["words"].items()
        }
        self._forms: dict[str, Any] = held["forms"]

    def told(self, words: Sequence[int]) -> list[Said]:
        """What each word says."""
        bare = [word & ~_CONTROL | _USUAL for word in words]
        found = {word: self._known(word) for word in dict.fromkeys(bare)}
        for turn in (True, False):  # the second for forms that turn out to be none
            unknown = [word for word, said in found.items() if said is None]
            if unknown:
                self._learn(unknown, forms=turn)
                found |= {word: self._known(word) for word in unknown}
        return [said for word in bare if (said := found[word]) is not None]

    def _known(self, word: int) -> Said | None:
        """What a word says, if it was told or its form is known."""
        if word in self._words:
            return self._words[word]
        form, held = _form(word)
        return None if self._forms.get(form) is None else _written(self._forms[form], held)

    def _learn(self, words: Sequence[int], *, forms: bool) -> None:
        """Ask for words; of a form that many have for one of them, and for two of our own."""
        by_form: dict[str, list[int]] = {}
        for word in words:
            by_form.setdefault(_form(word)[0], []).append(word)
        asked, new = [], {}
        for form, alike in by_form.items():
            if forms and form not in self._forms and _fields(alike[0] & 0xFFF):
                new[form] = alike[0]
                alike = alike[:1] if len(alike) > _MANY else alike
            asked += alike
        ours = [_ours(each, turn) for each in new.values() for turn in range(len(_OURS))]
        try:
            told = self._ask([*asked, *ours])
        except DseError:  # of our own words, or it is told again
            told, ours = self._ask(asked), []
            self._forms |= dict.fromkeys(new)
        self._words |= {word: (told[at], at) for at, word in enumerate(asked)}
        if ours:
            rest = iter(told[len(asked) :])
            for form, word in new.items():
                self._forms[form] = _learnt(word, self._words[word], [next(rest) for _ in _OURS])
        kept = {f"{word:x}": said for word, said in list(self._words.items())[:_MOST]}
        save(self._name, json.dumps({"words": kept, "forms": self._forms}).encode())


def _ours(word: int, turn: int) -> int:
    """A word with registers and numbers of our own."""
    for field in () if word & 0x1FF in _BRANCHES else _form(word)[1]:
        begin, size = field
        if field in _OURS[turn]:
            own = _OURS[turn][field]
            negative = size != _REGISTER and word >> begin + size & 1
            word &= ~((1 << size) - 1 << begin)
            word |= ((1 << size) - own if negative else own) << begin
    return word


def _learnt(word: int, said: Said, ours: Sequence[Told]) -> Any:
    """What is told of a form: operation, guard, parts of the operands, and fields that no part
    tells, which must be as they are; None where that is not all that is told.
    """
    told, at = said
    held = _form(word)[1]
    if _TARGET in held or _MEETING in held:
        before, comma, target = told["operands"].rpartition(",")
        ways = [[_MEETING, "t"]] if _MEETING in held else [[_TARGET, "t"], [_TARGET, "l"]]
        for field, kind in ways if target.startswith(("0x", "-0x")) else ():
            part = [*field, kind]
            if int(_text(part, held), 16) + at * _SIZE == int(target, 16):
                low = (
                    [[*_TARGET_LOW, held[_TARGET_LOW]]] if field == _TARGET and kind == "t" else []
                )
                return [told["opcode"], told["predicate"], [before + comma, part], low]
        return None
    parts, told_of = _parts(ours[0]["operands"], _form(_ours(word, 0))[1], word)
    needed = [[*field, value] for field, value in held.items() if field not in told_of]
    form = [told["opcode"], told["predicate"], parts, needed]
    if _written(form, held) != (told, 0):
        return None
    for turn, each in enumerate(ours):
        again = _written([*form[:3], []], _form(_ours(word, turn))[1])
        if again is None or again[0] != each:
            return None
    return form


def _parts(text: str, held: Mapping[Field, int], word: int) -> tuple[list[Any], set[Field]]:
    """The text of operands in parts, those that fields tell by how they are written."""
    by_text: dict[str, list[Any]] = {}
    for field, value in held.items():
        if field[1] == _REGISTER:
            by_text[str(value)] = [*field, "r"]
        else:
            kinds = "nu" if word >> sum(field) & 1 else "x"
            by_text |= {_text([*field, kind], held): [*field, kind] for kind in kinds}
    every = re.split(r"((?<=\bR)\d+\b|(?<=\bUR)\d+\b|-?0x[0-9a-f]+)", text)
    parts = [by_text.get(each, each) for each in every]
    return parts, {(part[0], part[1]) for part in parts if isinstance(part, list)}


def _written(form: Any, held: Mapping[Field, int]) -> Said | None:
    """A word of a form, by what stands in its fields."""
    opcode, predicate, parts, needed = form
    if any(held[begin, size] != value for begin, size, value in needed):
        return None
    text = "".join([part if isinstance(part, str) else _text(part, held) for part in parts])
    return {"opcode": opcode, "predicate": predicate, "operands": text}, 0


def _text(part: Sequence[Any], held: Mapping[Field, int]) -> str:
    """A field as it is told: a register, a number with or without sign, the target of a branch."""
    begin, size, kind = part
    value = held[begin, size]
    match kind:
        case "r":
            return str(value)
        case "n":
            return f"-{(1 << size) - value:#x}"
        case "u":
            return f"{value + (1 << size):#x}"
        case "t":
            return f"{_signed(value, size) * 4 + _SIZE:#x}"
        case "l":
            return f"{(_signed(value, size) * 256 + held[_TARGET_LOW]) * 4 + _SIZE:#x}"
    return f"{value:#x}"


def _signed(value: int, size: int) -> int:
    return value - (value >> size - 1 << size)
