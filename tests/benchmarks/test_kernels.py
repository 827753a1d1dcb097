"""A tuning space of a kernel, compiled and counted, against the compiler alone.

Time of the processor is told beside that of the clock, which others on the machine lengthen.
"""

from __future__ import annotations

import gzip
import json
import resource
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

import dse.cuda.tuning_space
from dse.cuda.compile import _run_nvrtc

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "profiles" / "coulomb"
FILE, FLAGS = FOLDER / "CoulombSum3d.cu", ("-use_fast_math",)
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/data is not beside the project"),
]
ROUNDS = 5
TOLD: dict[str, Any] = {
    "entry": "",
    "arch": "sm_75",
    "options": FLAGS,
    "block": ("WORK_GROUP_SIZE_X", "WORK_GROUP_SIZE_Y"),
    "grid": (16, 64, 64),
    "set": {"numberOfAtoms": 64, "gridSize": 256},
    "times": {},
}


def _variants() -> list[dict[str, Any]]:
    with gzip.open(FOLDER / "coulomb_2080_full_search_space.json.gz") as file:
        results = json.load(file)["Results"]
    return [{each["Name"]: each["Value"] for each in one["Configuration"]} for one in results]


def _cpu_seconds() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _took(work: Any) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    clock, spent = time.perf_counter(), _cpu_seconds()
    work()
    return time.perf_counter() - clock, _cpu_seconds() - spent


def test_what_is_ours_takes_little_beside_the_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In turn: the compiler alone, and variants each of which compiles to code of its own; of
    machine code nothing is known from the rounds before.
    """
    distinct = list({str(_observed_counts(each)): each for each in _variants()}.values())
    text, ratios = FILE.read_text(), []

    def compile_all() -> None:  # as the compiler's manual says, with nothing of ours
        for each in distinct:
            macros = [f"-D{name}={value}" for name, value in each.items()]
            _run_nvrtc(text, FILE.name, ["-arch=sm_75", *FLAGS, *macros], "", {})

    def count_all() -> None:
        dse.cuda.tuning_space.count_variants(FILE, distinct, TOLD, processes=1, use_cache=False)

    for at in range(ROUNDS):
        monkeypatch.setenv("DSE_CACHE", str(tmp_path / str(at)))
        first, second = (compile_all, count_all)[:: 1 if at % 2 else -1]
        took = {work: _took(work) for work in (first, second)}
        both = zip(took[count_all], took[compile_all], strict=True)
        ratios.append([ours / alone for ours, alone in both])
    clock, spent = (statistics.median(each) for each in zip(*ratios, strict=True))
    print(
        f"\n{len(distinct)} variants of which each compiles to its own: {spent:.2f} times the "
        f"compiler's processor time, {clock:.2f} of its clock (medians of {ROUNDS})"
    )
    assert spent < 1.3


def _observed_counts(variant: dict[str, Any]) -> list[Any]:
    return sorted((k, v) for k, v in variant.items() if not k.startswith("WORK_GROUP"))


def test_a_thousand_variants_on_two_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Repeats are told apart by a macro that the source does not name."""
    monkeypatch.setenv("DSE_CACHE", str(tmp_path))
    drawn = [{**each, "REPEATED": number} for number in range(5) for each in _variants()][:1000]

    def count_all(keep: bool) -> None:
        dse.cuda.tuning_space.count_variants(FILE, drawn, TOLD, processes=2, use_cache=keep)

    clock, spent = _took(lambda: count_all(keep=False))
    print(f"\n1,000 variants: {clock:.1f} s of the clock, {spent:.1f} s of processors")
    count_all(keep=True)
    warm, _ = _took(lambda: count_all(keep=True))
    print(f"kept: {warm:.2f} s")
    assert spent < 120
    assert warm < 1
