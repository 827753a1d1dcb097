"""Words of machine code, written from what is known of their forms, against the disassembler."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dse.kernels.compiling import compiled
from dse.kernels.cubin import functions
from dse.kernels.disassembly import asked
from dse.kernels.words import Words
from symbolic.errors import DseError
from tests.dse.test_kernel_source import LOOPS, compiling


@compiling
@pytest.mark.parametrize("arch", [75, 100])
def test_words_of_known_forms_say_what_the_disassembler_tells(
    arch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the words teach forms; of the others few are asked for, and all say the same."""
    monkeypatch.setenv("DSE_CACHE", str(tmp_path))
    code = b"".join(one.code for one in functions(compiled(LOOPS, arch)[0]).values())
    every = sorted({int.from_bytes(code[at : at + 16], "little") for at in range(0, len(code), 16)})
    random.Random(4).shuffle(every)
    many: list[int] = []

    def ask(words: Sequence[int]) -> list[dict[str, str]]:
        many.append(len(words))
        return asked(words, arch)

    Words("learnt", ask).told(every[::2])
    many.clear()
    found = Words("learnt", ask).told(every)
    assert 0 < sum(many) < len(every) / 2 * 0.8
    for at, (word, (told, place), plain) in enumerate(
        zip(every, found, asked(every, arch), strict=True)
    ):
        text = {name: each.replace(".reuse", "") for name, each in plain.items()}
        if word & 0x1FF in (0x144, 0x145, 0x147, 0x150):  # targets count from a place
            texts = (told["operands"], text.pop("operands"))
            told = {name: each for name, each in told.items() if name != "operands"}
            here, there = (int(each.rpartition(",")[2], 16) for each in texts)
            assert here - 16 * place == there - 16 * at
        assert told == text
    many.clear()
    Words("learnt", ask).told(every)
    assert not many


def test_a_form_that_tells_more_than_its_fields_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disassembler that names one register in another way, and refuses what is not real."""
    monkeypatch.setenv("DSE_CACHE", str(tmp_path))
    real = [0x202 | 1 << 9 | number << 16 | 7 << 32 for number in range(1, 30)]

    def told(word: int) -> Mapping[str, str]:
        result = word >> 16 & 0xFF
        name = "MOV.ODD" if result == 16 else "MOV"
        return {"opcode": name, "predicate": "", "operands": f"R{result},R{word >> 32 & 0xFF}"}

    found = Words("odd", lambda words: [told(each) for each in words]).told(real)
    assert [each for each, _ in found] == [told(each) for each in real]

    def strict(words: Sequence[int]) -> list[Mapping[str, str]]:
        if any(word >> 32 & 0xFF != 7 for word in words):
            raise DseError("an illegal word")
        return [told(each) for each in words]

    found = Words("strict", strict).told(real)
    assert [each for each, _ in found] == [told(each) for each in real]
