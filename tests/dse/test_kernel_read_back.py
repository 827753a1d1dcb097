"""Workload files of kernels are read back, with hostile names and long formulas, too."""

from __future__ import annotations

import random
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cuda.formulas import quantity_names
from symbolic.errors import DseError
from symbolic.quantities import TABLE
from tests.dse.guarding import ARCHS, draw
from tests.dse.suite import MACHINES, MODEL, SUITE, count_case
from tests.dse.test_kernel_source import compiling
from tests.long import long, mostly_long

HOSTILE = (
    "N", "n", "_N", "__n", "time", "blocks", "elements", "threads_per_block", "kernel_blocks",
    "machine", "workload", "model", "outputs", "floor", "minimum", "where", "mean", "chance",
    "_and", "draw", "draws", "s", "ms", "GB", "W", "inf", "nan", "lambda", "def_", "runs_line_3",
    "trips_line_3", "part_1", "Klasse", "KLASSE", "_", "___", "x" * 200, "X" * 200,
)  # fmt: skip


def test_names_of_quantities_are_different_and_can_be_declared() -> None:
    draws = random.Random(3)
    for _ in range(200):
        drawn = draws.sample(HOSTILE, draws.randint(1, len(HOSTILE)))
        names = quantity_names(drawn)
        assert len({*names}) == len(drawn)
        for name in names:
            assert name.isascii()
            assert name == name.lower()
            assert name[0].isalpha()
            assert name not in TABLE
    assert quantity_names(["n", "width"]) == ["n", "width"]


def _evaluate(counts: Any, path: Path, machine: str) -> Any:
    path.write_text(counts.toml(), encoding="utf-8")
    names = [*counts.formulas, "time"]
    return dse.evaluate(MODEL, machine=machine, workload=str(path), outputs=names)


def _read_back(counts: Any, path: Path) -> None:
    """The file says what was counted, and is evaluated on two machines."""
    for machine in MACHINES:
        ds = _evaluate(counts, path, machine)
        assert float(ds["time"]) > 0
        for name in counts.formulas:
            assert float(ds[name]) == pytest.approx(counts[name], rel=1e-6), name


@compiling
@pytest.mark.parametrize("at", mostly_long(range(0, len(HOSTILE), 6), lambda k, _: k < 2))
def test_a_kernel_with_hostile_names_is_written_and_read_back(tmp_path: Path, at: int) -> None:
    names = [name for name in HOSTILE[at : at + 6] if name not in ("_and", "__n")]
    arguments = ", ".join(f"int {name}" for name in names)
    kernel = tmp_path / 'a\'b "c".cu'
    kernel.write_text(
        f"__global__ void k(float *values, {arguments}) {{\n    float a = 0;\n"
        + "".join(
            f"#pragma unroll 1\n    for (int i = 0; i < {name}; i++) a += values[i * 32];\n"
            for name in names
        )
        + "    values[threadIdx.x] = a;\n}\n"
    )
    given = {name: 3 + k for k, name in enumerate(names)}
    result = dse.kernel(kernel, grid=64, set=given)
    assert result["global_insts"] == sum(given.values()) + 1
    _read_back(result, tmp_path / "k.toml")


@compiling
def test_a_loop_that_is_unrolled_by_the_compiler_is_read_back_and_asked_over_its_passes(
    tmp_path: Path,
) -> None:
    result = count_case("unrolled", "sm_80", tmp_path)
    path = tmp_path / "unrolled.toml"
    _read_back(result, path)
    for n in (1, 5, 63, 100):
        again = dse.kernel(tmp_path / "unrolled.cu", block=256, grid=16, set={"n": n})
        given: dict[str, Any] = {"outputs": ["comp_insts"], "machine": "a100_80"}
        ds = dse.evaluate("occupancy", workload=str(path), n=n, **given)
        assert float(ds.comp_insts) == pytest.approx(again["comp_insts"])


@compiling
def test_a_formula_of_any_size_is_read_back(tmp_path: Path) -> None:
    kernel = tmp_path / "many.cu"
    names = [f"n{k}" for k in range(40)]
    kernel.write_text(
        f"__global__ void many(volatile float *x, {', '.join(f'int {n}' for n in names)}) {{\n"
        + "".join(
            "#pragma unroll 1\n"
            f"    for (int i = 0; i < {n} / 3 + {names[k - 1]} % 5; i++) x[i] = {k};\n"
            for k, n in enumerate(names)
        )
        + "}\n"
    )
    result = dse.kernel(kernel, grid=4, set={n: 7 + k for k, n in enumerate(names)})
    _read_back(result, tmp_path / "many.toml")


@compiling
@pytest.mark.parametrize("name", mostly_long(SUITE, lambda k, _: k in (2, 12, 21)))
def test_kernels_of_suites_are_written_read_back_and_evaluated(tmp_path: Path, name: str) -> None:
    _read_back(count_case(name, "sm_80", tmp_path), tmp_path / f"{name}.toml")


def _fixed_inputs(counts: Any, name: str) -> set[str]:
    """Return the arguments for whose values alone a quantity, and what it needs, holds.

    A rule of the model compares the memory instructions, so that these are needed, too.
    """
    needed, waiting = set(), [name, "coalesced_insts", "uncoalesced_insts"]
    while waiting:
        needed.add(last := waiting.pop())
        words = re.findall(r"[A-Za-z_]\w*", counts.formulas.get(last, ""))
        waiting += [word for word in words if word not in needed]
    return {pinned for each in needed for pinned in counts.holds_for.get(each, ())}


@compiling
@pytest.mark.parametrize("seed", mostly_long(range(500, 540), lambda k, _: k < 2))
def test_drawn_kernels_are_written_and_read_back(tmp_path: Path, seed: int) -> None:
    kernel = draw(seed)
    path = tmp_path / "drawn.cu"
    path.write_text(kernel.source)
    given: dict[str, Any] = {"block": kernel.block, "grid": kernel.grid}
    given |= {"arch": ARCHS[seed % len(ARCHS)]}
    result = dse.kernel(path, set=kernel.arguments, **given)
    _read_back(result, tmp_path / "drawn.toml")
    draws = random.Random(seed)
    for _ in range(3):  # at other arguments the file says what is counted there, or refuses
        other = {name: draws.choice([1, 2, 5, 9, 16, 40]) for name in kernel.arguments}
        again = dse.kernel(path, set=other, **given)
        names = dict(zip(quantity_names([*other]), other, strict=True))
        named = {each: other[of] for each, of in names.items()}
        for name in result.formulas:
            refused = pytest.raises(DseError, match="count the kernel again")
            changed = {each for each in named if named[each] != kernel.arguments[names[each]]}
            fixed = _fixed_inputs(result, name)
            with refused if changed & fixed else nullcontext():
                ds = dse.evaluate(
                    MODEL, machine=MACHINES[0], workload=str(tmp_path / "drawn.toml"),
                    outputs=[name], **named,
                )  # fmt: skip
                assert float(ds[name]) == pytest.approx(again[name], rel=1e-6), (name, other)


@compiling
def test_counts_of_one_launch_are_not_told_of_others(tmp_path: Path) -> None:
    result = count_case("tail", "sm_80", tmp_path)
    assert result.holds_for["comp_insts"] == ["elements", "len", "reps"]
    path = tmp_path / "tail.toml"
    path.write_text(result.toml())
    given: dict[str, Any] = {"machine": "a100_80", "workload": str(path)}
    ds = dse.evaluate(MODEL, outputs=["time"], **given)
    same = dse.evaluate(MODEL, outputs=["time"], len=512, threads_per_block=128, **given)
    assert float(same.time) == float(ds.time)
    wrong: list[dict[str, Any]] = [
        {"len": 511}, {"len": [512, 1024]}, {"len": "reps * 2"}, {"elements": 1024},
    ]  # fmt: skip
    for other in wrong:
        with pytest.raises(DseError, match=r"was counted for .* alone.*count the kernel again"):
            dse.evaluate(MODEL, outputs=["time"], **given, **other)
    study: dict[str, Any] = {"model": MODEL, "machine": "a100_80", "workload": str(path)}
    with pytest.raises(DseError, match="count the kernel again"):
        dse.Study(**study, axes={"len": [512, 256]}, outputs=["time"]).run()
    with pytest.raises(DseError, match="count the kernel again"):
        dse.Study(**study, axes={"reps": [1, 2]}).optimum(minimize="time")
    ds = dse.Study(**study, axes={"threads_per_block": [128, 256]}, outputs=["time"]).run()
    assert ds.time.size == 2  # counts do not change with the size of a block


@compiling
def test_a_workload_based_on_another_does_not_change_what_that_was_counted_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "tail.toml").write_text(count_case("tail", "sm_80", tmp_path).toml())
    other = tmp_path / "other.toml"
    text = 'title = "other"\nbase = "tail.toml"\n[quantities]\nlen = {{ meaning = "argument len of '
    text += 'the kernel" }}\n[values]\nlen = {{ value = {0}, source = "mine" }}\n'
    other.write_text(text.format(512))
    given: dict[str, Any] = {"machine": "a100_80", "outputs": ["time"]}
    assert float(dse.evaluate(MODEL, workload=str(other), **given).time) > 0
    other.write_text(text.format(500))
    with pytest.raises(DseError, match="was counted for len = 512 alone"):
        dse.evaluate(MODEL, workload=str(other), **given)


@pytest.mark.parametrize(
    ("holds_for", "words"),
    [("3", "expected a list"), ('["m"]', "gives no number"), ("[1]", "gives no number")],
)
def test_a_file_that_holds_for_what_it_does_not_give_is_refused(
    tmp_path: Path, holds_for: str, words: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'title = "own"\n[values]\n'
        f'comp_insts = {{ value = 3, source = "mine", holds_for = {holds_for} }}\n'
    )
    with pytest.raises(DseError, match=words):
        dse.workload(str(path))


@long
@compiling
def test_every_kernel_of_the_suite_is_read_back_on_every_architecture(tmp_path: Path) -> None:
    for arch in ARCHS:
        for name in list(SUITE)[::5]:
            _read_back(count_case(name, arch, tmp_path), tmp_path / f"{name}.toml")
