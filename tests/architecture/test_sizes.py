"""Every size stands in the table of ``stochastic/sizes.py``; other whole constants have a kind."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from stochastic import sizes
from stochastic.compile_cache import CompiledFunction, LazyImport
from sweeps.cluster.scheduler import version_differences, versions

ROOT = Path(__file__).parents[2]
PACKAGES = ("dse", "sweeps", "symbolic", "stochastic")

#: Whole module-level constants that are no sizes: a kind, then files, each with names or with all.
#: What decides how much is done together, by which method, or at most, belongs in the table.
NO_SIZES = """
what is shown to people, drawn or part of a page
    dse/cli/*
    dse/cuda/compile.py _MAX_ERRORS
    dse/cuda/kernel_file.py _MAX_SHOWN
    dse/verbs/study.py
    dse/catalog/models.py
    dse/importers/records.py _REASONS
    dse/page/*
    dse/plots/*
    dse/validation/__init__.py MAX_LABEL_SCORES
    stochastic/work/pmf.py _LONG
    sweeps/certify/certificate.py _LONG
    stochastic/work/arguments.py _SHORT
    symbolic/resolve.py _MAX_NAMED
    symbolic/answer.py
    dse/analysis/draft.py
    dse/citations.py
    dse/analysis/report.py
    dse/analysis/subject.py MAX_ADVISED _STUDY_BLOCKS
formats, flags and codes
    dse/inverse/borders.py INFEASIBLE
    dse/cuda/instruction_counts.py FLOPS
    dse/cuda/cubin.py
    dse/cuda/instructions.py WORD _BYTES
    dse/cuda/ptx.py
    dse/cuda/register_values.py _SIGNED_SHIFT
    dse/importers/profilers/profiler_csv.py _PREFIXES
    sweeps/nest/statistics.py MEAN STD
    sweeps/certify/borders.py NO_BORDER
    sweeps/certify/certificate.py _PRECEDENCE
    sweeps/store/untrusted.py _SLACK
    symbolic/expression.py _NOT_PRECEDENCE _SIGN_PRECEDENCE
    symbolic/units.py _BINARY _SCALES
numbers that doubles and integers have
    dse/importers/*.py _EXACT _LARGEST
    dse/uncertain/draws.py _BINARY_DIGITS
    stochastic/kernels/recurrence.py _SPLIT
    stochastic/loss/*.py _MAX_EXACT_INTEGER _MAX_EXACT_PRODUCT
    stochastic/work/distribution.py _MAX_VALUE
    sweeps/grid/axes.py _MAX_VALUES
    symbolic/primitives/*.py _SPLIT ULPS FRACTION ONE ROOT _TRIAL_SIZE
    symbolic/terms.py _LARGEST_EXACT
hardware, the C library and the operating system
    dse/gpu/*
    dse/analysis/launch.py
    dse/analysis/subject.py _OLDEST_ARCH _OTHER_ARCH
    dse/cuda/memory_accesses.py SECTOR WORD BANKS QUARTERS
    dse/cuda/tensor_instructions.py _WARPGROUP
    stochastic/validation.py
    sweeps/files/export.py
    sweeps/nest/intrinsics.py _LINE
loops that are written out, and sums of which two places have the same order
    stochastic/kernels/launch_counts.py AT_ONCE
    symbolic/statistics.py _LONG _PARTS
factors of formulas that are tried
    dse/rules/problem.py _FILLS _PARTS _ROOTS
draws, samples and other statistics
    dse/uncertain/model_errors.py
    dse/analysis/prediction.py
    dse/importers/runs.py RESAMPLES _PARTS
    dse/uncertain/draws.py DRAWS REPLICATES SEED _FRESH_SEED_OFFSET
    dse/validation/__init__.py MIN_INTERVAL_ROWS
    sweeps/scan/winners_per_draw.py _REPLICATES
    symbolic/statistic_laws.py _RESAMPLES
steps of a search or a series, of which more are more precise
    dse/advice/advise.py
    dse/sensitivity_analysis.py _STEP_RATIO
    dse/fitting/*.py
    dse/cuda/compile.py _ROUNDS
    stochastic/loss/timing_model.py
    stochastic/launch_time/block_counts.py _ROUNDS
    stochastic/work/*.py _TERMS _ROUNDS _FAR
    sweeps/certify/tolerances.py ROUNDS
    sweeps/certify/tolerances.py _CELLS_PER_INPUT _FINE_CELLS_PER_INPUT
    symbolic/crossings.py _DIGITS
how far a quantity is followed, or is asked about
    dse/study/plan.py _UNUSUAL_FACTOR
    sweeps/certify/borders.py OCTAVES
    symbolic/advice.py STEPS_PER_OCTAVE OCTAVES
bounds of rounding
    stochastic/launch_time/block_counts.py _LAW _SUM _CIRCLE
retries, threads, seconds, bytes that are always there, speeds
    stochastic/compile_cache/cache.py
    stochastic/remedies/binning.py _MOST
    sweeps/cluster/*.py _CONNECT_TIMEOUT _TASKS_PER_THREAD _MIN_TASKS
    stochastic/launch_time/block_counts.py _TAILS _FEW
    sweeps/runtime/resources.py _MIN_CHECKED_BYTES
    sweeps/sources/grid_proof.py SCAN_POINTS_PER_SECOND COVER_POINTS_PER_SECOND
    sweeps/store/*.py RETRIES _READERS _MAX_CONSECUTIVE_FAILURES _TRIES
limits of what a text may hold
    stochastic/work/parse.py _LONGEST
    dse/cuda/formulas.py
    dse/importers/formats.py _COLUMNS
    dse/toml_text.py _DEPTH
    sweeps/files/export.py
    sweeps/files/tabular.py _MAX_VALUE_BYTES
    sweeps/store/*.py _MAX_BYTES
    symbolic/errors.py
    symbolic/json_text.py
    symbolic/node.py _READABLE_SIZE
    symbolic/file_access.py
    symbolic/expression.py MAX_DEPTH MAX_OPERATORS
    symbolic/ops.py MAX_POWER
    symbolic/terms.py MAX_DIGITS MAX_LENGTH _MAX_BITS
    symbolic/units.py MAX_EXPONENT MAX_LENGTH
published models: their own numbers, ties and exact ranges
    symbolic/models/*
"""


def is_whole(node: ast.expr) -> bool:
    """True for an expression of numbers alone whose value is whole, or for several of these."""
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(is_whole(value) for value in node.values)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(is_whole(value) for value in node.elts)
    if any(not isinstance(part, NUMBERS) for part in ast.walk(node)):
        return False
    value = eval(compile(ast.Expression(node), "", "eval"))
    if isinstance(value, float):  # small ones are shares, seconds, factors
        return value.is_integer() and 1000 <= abs(value) < 1e15
    return isinstance(value, int) and not isinstance(value, bool)


NUMBERS = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names in capitals that a module binds, with what they are bound to."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        for target in targets:
            value = node.value  # type: ignore[union-attr]
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
            for name, bound in pairs:
                if isinstance(name, ast.Name) and name.id.isupper() and bound is not None:
                    yield name.id, bound


@cache
def uses() -> list[tuple[str, str, bool]]:
    return list(read_sizes())


@cache
def trees() -> dict[str, ast.Module]:
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def kinds() -> list[tuple[str, set[str]]]:
    """The rows of NO_SIZES: a pattern of files, and names, or none where all are meant."""
    rows = [line.split() for line in NO_SIZES.splitlines() if line.startswith("    ")]
    return [(pattern, set(names)) for pattern, *names in rows]


def unlisted_sizes() -> set[str]:
    return {
        f"{file}: {name}"
        for file, tree in trees().items()
        if file != "stochastic/sizes.py"
        for name, value in constants(tree)
        if is_whole(value)
        if not any(fnmatch(file, p) and (not names or name in names) for p, names in kinds())
    }


def test_every_size_stands_in_the_table() -> None:
    assert unlisted_sizes() == set(), (
        "name them in the table of stochastic/sizes.py, or say in NO_SIZES what they are"
    )


def test_nothing_is_listed_that_is_not_there() -> None:
    there = {
        (file, name)
        for file, tree in trees().items()
        for name, value in constants(tree)
        if is_whole(value)
    }
    for pattern, names in kinds():
        listed = {name for file, name in there if fnmatch(file, pattern)}
        assert listed, pattern
        assert names <= listed, (pattern, names - listed)


def test_a_new_constant_is_found() -> None:
    text = "BATCH = 1 << 12\nA, B = 3, 2 * 1000\nC = {1: 2}\nEPS = 1e-9\nMOST = 5e8\nlow = 7\n"
    result = {name for name, value in constants(ast.parse(text)) if is_whole(value)}
    assert result == {"BATCH", "A", "B", "C", "MOST"}


def read_sizes() -> Iterator[tuple[str, str, bool]]:
    """Yield each use of ``sizes.NAME`` in capitals: file, name, and whether a constant takes it."""
    for file, tree in trees().items():
        top = {id(part) for name, value in constants(tree) for part in ast.walk(value)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "sizes"
                and node.attr.isupper()
            ):
                yield file, node.attr, id(node) in top


def test_every_row_is_read_by_one_module() -> None:
    read = {(name, file) for file, name, _ in uses() if name in sizes.TABLE}
    assert sorted(name for name, _ in read) == sorted(sizes.TABLE)


def has_compiled_functions(tree: ast.Module) -> bool:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    decorators = (ast.unparse(each) for node in functions for each in node.decorator_list)
    return any(re.search("compiled|njit|intrinsic|jit", each) for each in decorators)


def test_modules_of_compiled_functions_take_sizes_as_constants() -> None:
    compiled = {file for file, tree in trees().items() if has_compiled_functions(tree)}
    assert len(compiled) > 10
    late = {f"{file}: {name}" for file, name, top in uses() if not top and file in compiled}
    assert late == set(), "a compiled body would not know its value"


def test_the_table_is_readable() -> None:
    for name, (shipped, tiny, why) in sizes.TABLE.items():
        assert name.isupper()
        assert shipped > 0
        assert tiny is None or 1 < tiny < 2 * shipped, name
        assert len(why) > 8, name
        assert why[0].islower(), name
    assert sum(tiny is not None for _, tiny, _ in sizes.TABLE.values()) > 100


def run_with_sizes(setting: str, code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "DSE_SIZES": setting, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_a_process_has_the_sizes_of_its_setting() -> None:
    code = "from sweeps.scan.optimum import BLOCK; from sweeps.nest.emit import ROW_PIECE; "
    code += "print(BLOCK, ROW_PIECE)"
    assert run_with_sizes("", code).stdout == "2097152 1024\n"
    assert run_with_sizes("tiny", code).stdout == "29 7\n"
    assert run_with_sizes("tiny,SCAN_BLOCK=11", code).stdout == "11 7\n"


def test_tiny_sizes_can_leave_out_compilation() -> None:
    values = sizes.resolve_sizes("tiny,numpy")
    assert values["PASS_SMALL"] == sizes.TABLE["PASS_SMALL"][0]
    assert values["SCAN_BLOCK"] == sizes.TABLE["SCAN_BLOCK"][1]


def test_a_seed_draws_other_sizes_the_same_each_time() -> None:
    drawn = [sizes.resolve_sizes(f"tiny:{seed}") for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert all(drawn[0][name] == shipped for name, (shipped, t, _) in sizes.TABLE.items() if not t)
    assert drawn[0]["BINS_DIGIT"] == 4, "64 bits have no seven-bit digits"


@pytest.mark.parametrize("setting", ["small", "tiny:x", "SCAN_BLOK=3", "SCAN_BLOCK=0", "tiny=3"])
def test_an_unknown_setting_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"DSE_SIZES = {setting!r}: expected tiny")):
        sizes.resolve_sizes(setting)


def test_machine_code_is_kept_by_the_values_of_the_sizes_in_it() -> None:
    def key(block: int) -> str:
        space: dict[str, object] = {"BLOCK": block}
        exec("def body(x):\n    return x + BLOCK", space)
        return CompiledFunction(space["body"], {}).key(())  # type: ignore[arg-type]

    assert key(7) == key(7)
    assert key(7) != key(11)


def test_a_compiled_body_cannot_read_the_table() -> None:
    def body(x: int) -> int:
        return x + sizes.SCAN_BLOCK

    with pytest.raises(TypeError, match="cannot use"):
        CompiledFunction(body, {}).key(())  # type: ignore[arg-type]


def test_what_only_numba_knows_reads_no_size() -> None:
    """It is known by the text of its module, in which the value of a size does not stand."""
    texts = {file: (ROOT / file).read_text() for file in trees()}
    later = {m for text in texts.values() for m in re.findall(r'LazyImport\("([\w.]+)"', text)}
    assert later
    for module in later:
        assert "sizes." not in texts[module.replace(".", "/") + ".py"], module
    assert LazyImport("sweeps.nest.intrinsics", "room").identity()


def test_workers_with_other_sizes_are_refused() -> None:
    other = {**versions(), "DSE_SIZES": "tiny:3"}
    assert version_differences(versions(), other) == f"DSE_SIZES {sizes.SETTING}, not tiny:3"
