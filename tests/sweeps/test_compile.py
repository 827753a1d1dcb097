"""Loop nests: their text, where steps stand, names, and what one process compiles."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import sweeps.nest.emit
import sweeps.nest.run
from stochastic.compile_cache.native import NativeCodeError
from sweeps.nest.emit import compile_nest, emit, row_axis_count
from symbolic.ops import (
    constant,
    divide,
    equal,
    exp,
    floor,
    log,
    minimum,
    negate,
    power,
    reference,
    where,
)
from tests.long import long
from tests.oracles.compare import same_bits, ulps

a, b, c = (reference(name) for name in "abc")


def run(nest: Any, sizes: list[int], scalars: list[float], *arrays: Any) -> Any:
    """Every output of a nest over all its axes."""
    bounds = np.array([[0, size] for size in sizes], dtype=np.int64).reshape(-1)
    types = {"float": np.float64, "flag": np.int8, "bool": np.bool_}
    results = [np.empty(math.prod(sizes), dtype=types[kind]) for kind in nest.kinds]
    inputs = [np.array(array, dtype=np.float64).reshape(-1) for array in arrays]
    numbers = np.array(scalars, dtype=np.float64)
    compile_nest(nest)(bounds, np.array(sizes), 0, numbers, *inputs, *results)
    return [result.reshape(sizes) for result in results]


def loops(source: str) -> list[ast.For]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)]


def depth_of(source: str, text: str) -> int:
    """Return the number of loops around the line that holds a text."""
    line = next(i for i, row in enumerate(source.splitlines(), 1) if text in row)
    return sum(
        node.lineno < line <= (node.end_lineno or 0)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.For)
    )


def test_steps_stand_in_the_loop_that_binds_their_inputs() -> None:
    node = exp(a) + power(b, 0.5) * divide(c, a, at_zero=0.0)
    leaves = {"a": ("x",), "b": ("y",), "c": ("z",)}
    nest = emit(outer=("x", "y"), row=("z",), leaves=leaves, outputs=[(node, "float")], names={})
    assert depth_of(nest.source, " exp(") == 2  # pieces of the row, x
    assert depth_of(nest.source, ", 0.5)") == 3  # and y
    x, y, z = np.array([0.0, 2.0]), np.array([4.0, 9.0, 2.0]), np.arange(5.0)
    (result,) = run(nest, [2, 3, 5], [], *({"a": x, "b": y, "c": z}[n] for n in nest.arrays))
    ratio = np.where(x[:, None, None] == 0, 0, z / np.where(x == 0, 1, x)[:, None, None])
    expected = np.exp(x)[:, None, None] + (y**0.5)[:, None] * ratio
    assert np.all(np.abs(result - expected) <= 4e-16 * np.abs(expected))


def test_a_nest_that_finds_the_smallest_is_compiled_once_for_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSE_CACHE", str(tmp_path))
    outputs = [(minimum(a, 6.25), "float")]
    nest = emit(outer=(), row=("x",), leaves={"a": ("x",)}, outputs=outputs, names={}, reduce=True)
    best, places = np.full(3, np.inf), np.full(3, -1)
    ends, values = np.array([0, 5]), np.array([9.0, 7.0, 8.0, 6.0, 7.0])
    compile_nest(nest)(ends, ends[1:], 0, np.empty(0), values, best, places)
    assert (best.tolist(), places.tolist()) == ([6.0, 6.25, 6.25], [3, 0, 1])
    assert len(list((tmp_path / "code").iterdir())) == 1


@pytest.mark.parametrize("by", ["numba", "python"])
def test_a_nest_runs_where_no_machine_code_is_kept(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called by Numba, where it is not to be called without; as Python, where nothing compiles."""
    monkeypatch.setenv("DSE_CACHE", "")
    if by == "python":
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    else:
        monkeypatch.setattr("stochastic.compile_cache.build.build_code", refuse)
    own = {"numba": 0.5, "python": 0.25}[
        by
    ]  # another text than that of the other, which is compiled
    node = where(floor(a) < 2, log(a + 1), minimum(exp(c) * a, 40)) + own
    leaves = {"a": ("x",), "c": ("z",)}
    given: dict[str, Any] = {"outer": ("x",), "row": ("z",), "leaves": leaves, "names": {}}
    nest = emit(
        outputs=[(node, "float"), (a < 2, "bool"), (where(a < 2, 1.0, -1), "flag")], **given
    )
    x, z = np.array([1.5, 3, 2]), np.array([1.0, 2, 1, 5])
    arrays = [{"a": x, "c": z}[name] for name in nest.arrays]
    result, truth, flag = run(nest, [3, 4], [], *arrays)
    wide, far = x[:, None], np.minimum(np.exp(z) * x[:, None], 40)
    expected = np.where(wide < 2, np.log(wide + 1), far) + own
    np.testing.assert_allclose(result, expected, rtol=4e-16)
    assert truth[:, 0].tolist() == [True, False, False]
    assert flag[:, 0].tolist() == [1, -1, -1]
    fused = emit(outputs=[(node, "float")], reduce=True, **given)
    best, places = np.full(6, np.inf), np.full(6, -1)
    bounds, sizes = np.array([0, 3, 0, 4]), np.array([3, 4])
    compile_nest(fused)(bounds, sizes, 0, np.empty(0), *arrays, best, places)
    order = np.argsort(result.reshape(-1), kind="stable")[:6]
    assert places.tolist() == order.tolist()
    assert best.tolist() == result.reshape(-1)[order].tolist()


def refuse(*_: Any) -> bytes:
    raise NativeCodeError("not here")


def test_what_varies_along_the_row_alone_is_kept_in_a_buffer() -> None:
    node = where(exp(c) < 2, exp(c), a)
    leaves = {"a": ("x",), "c": ("z",)}
    nest = emit(outer=("x",), row=("z",), leaves=leaves, outputs=[(node, "float")], names={})
    assert nest.source.count(" exp(") == 1
    assert depth_of(nest.source, " exp(") == 2  # pieces of the row, its places; not x
    z = np.linspace(0, 1, 3000)
    arrays = {"a": [5.0, 6.0], "c": z}
    (result,) = run(nest, [2, 3000], [], *(arrays[name] for name in nest.arrays))
    rows = [np.where(np.exp(z) < 2, np.exp(z), value) for value in (5.0, 6.0)]
    assert np.all(np.abs(result - rows) <= 4e-16 * np.abs(rows))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, math.nan),
        (math.inf, math.inf),
        (-math.inf, -math.inf),
        (-0.0, -0.0),
        (-3, -3.0),
        (0.1, 0.1),
        (5e-324, 5e-324),
        (1e308, 1e308),
        (2**63, 2.0**63),
        (True, 1.0),
    ],
)
def test_constants(value: Any, expected: float) -> None:
    node = constant(value)
    others = where(a < 7.5, node, a)  # a constant where it is used
    nest = emit(
        outer=(),
        row=("x",),
        leaves={"a": ("x",)},
        outputs=[(node, "float"), (others, "float")],
        names={},
    )
    result, chosen = run(nest, [2], [], [7.0, 8.0])
    assert same_bits(result, [expected, expected])
    assert same_bits(chosen, [expected, 8.0])


def test_negative_constants_in_every_place() -> None:
    two = constant(-2)
    nodes = [
        a - two,
        two - a,
        a * two,
        a / two,
        power(a, reference("b")),
        two + two,
        minimum(two, a),
    ]
    nest = emit(
        outer=(),
        row=("x",),
        leaves={"a": ("x",), "b": ()},
        outputs=[(node, "float") for node in nodes],
        names={},
    )
    result = run(nest, [1], [-1.0] if nest.scalars else [], [4.0])
    assert [float(value[0]) for value in result] == [6.0, -6.0, -8.0, -2.0, 0.25, -4.0, -2.0]


def test_flags_and_conditions() -> None:
    low = a < 2
    outputs = [(where(low, 1.0, -1.0), "flag"), (low, "bool"), (negate(equal(a, 3)), "bool")]
    nest = emit(outer=(), row=("x",), leaves={"a": ("x",)}, outputs=outputs, names={})
    flags, lows, others = run(nest, [3], [], [1.0, 2.0, 3.0])
    assert flags.tolist() == [1, -1, -1]
    assert lows.tolist() == [True, False, False]
    assert others.tolist() == [True, True, False]


def test_a_text_is_compiled_once() -> None:
    make = lambda: emit(  # noqa: E731
        outer=(), row=("x",), leaves={"a": ("x",)}, outputs=[(a + 1, "float")], names={}
    )
    first, second = make(), make()
    assert first == second
    assert first.key == second.key
    assert compile_nest(first) is compile_nest(second)
    other = emit(outer=(), row=("x",), leaves={"a": ("x",)}, outputs=[(a + 2, "float")], names={})
    assert other.key != first.key


def test_the_text_is_a_readable_program() -> None:
    study = dse.Study(
        model="transit",
        axes={"threads": [1, 2], "mem_latency": [3, 4]},
        set={"intensity": 1, "ms_peak": 1, "lanes_width": 1},
    )
    grid = study.grid()
    nodes = [(grid.output_node(name, (), tuple(grid.axes)), "float") for name in grid.outputs]
    source = sweeps.nest.run.prepare(grid, (), ("threads", "mem_latency"), nodes).nest.source
    ast.parse(source)
    for name in ("q_threads", "q_mem_latency", "q_ms_throughput", "q_thread_limit", "q_bound"):
        assert name in source


@pytest.mark.parametrize(
    ("sizes", "count"),
    [([], 0), ([1], 1), ([5000], 1), ([3, 5000], 1), ([2, 2, 2], 3), ([10, 200], 1), ([1] * 5, 5)],
)
def test_the_row_takes_in_axes_until_it_is_long(sizes: list[int], count: int) -> None:
    assert row_axis_count(sizes) == count


@pytest.mark.parametrize("size", range(1, 60))
def test_a_row_is_long_where_the_axes_allow(size: int) -> None:
    sizes = [size] * 6
    row = size ** row_axis_count(sizes)
    assert row >= min(32, size**6)
    assert row <= 1024 or row // size < 32


# --- names

COLLIDING = """
import dse
from symbolic.ops import divide, where
share_quotient = dse.quantity("share_quotient", domain="[0, inf)")
pick_yes = dse.quantity("pick_yes", domain="[0, inf)")
t0 = dse.quantity("t0", domain="[0, inf)", default=3)
OUTPUTS = ("mixed", "pick")

@dse.equation(source="here")
def pick_no(share_quotient, threads):
    return share_quotient * 3 + threads

@dse.equation(source="here")
def share(threads, share_quotient):
    return divide(threads, share_quotient, at_zero=7.0)

@dse.equation(source="here")
def pick(share, pick_yes, pick_no):
    return where(share < 2, share + 1, pick_no * 2)

@dse.equation(source="here")
def mixed(pick_no, share, pick, pick_yes, share_quotient, t0):
    return pick_no + 2 * share + 4 * pick + 8 * pick_yes + 16 * share_quotient + t0
"""


def test_helpers_do_not_meet_quantities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "colliding.py"
    path.write_text(COLLIDING)
    spec: dict[str, Any] = {
        "model": str(path),
        "axes": {"threads": [1, 5, 9], "share_quotient": [0, 1, 2, 3], "pick_yes": [0, 10]},
    }
    expected = dse.Study(**spec).run()
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.run, "row_axis_count", lambda sizes: 1)
    result = dse.Study(**spec).run()
    for name in expected.data_vars:
        assert same_bits(result[name].values, expected[name].values)


@pytest.mark.parametrize("names", [("row", "b"), ("b", "row"), ("a b", "class"), ("x=1\n", "ﬁ")])
def test_dimensions_may_bear_any_name(
    names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = xr.DataArray(np.arange(1.0, 7).reshape(2, 3), dims=names)
    latency = xr.DataArray([100.0, 900.0], dims=names[:1])
    given = {"threads": threads, "mem_latency": latency}
    rest: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1}
    expected = dse.evaluate("transit", **given, **rest)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.run, "row_axis_count", lambda sizes: 1)
    result = dse.evaluate("transit", **given, **rest)
    assert result.ms_throughput.dims == names
    xr.testing.assert_identical(result, expected)


def logarithms(values: Any) -> Any:
    """The logarithms that a nest computes."""
    leaves = {"a": ("x",)}
    nest = emit(outer=(), row=("x",), leaves=leaves, outputs=[(log(a), "float")], names={})
    return run(nest, [len(values)], [], values)[0]


def test_the_logarithm_of_a_nest_is_within_2_ulp() -> None:
    """Compare with the C library's, over all magnitudes, and where sign or exponent changes."""
    rng = np.random.default_rng(0)
    near = 2.0 ** rng.integers(-4, 4, 20_000) * (1 + rng.uniform(-1e-3, 1e-3, 20_000))
    parts = (
        np.exp(rng.uniform(-740, 709, 50_000)),
        rng.uniform(0.5, 2, 50_000),
        1 + rng.uniform(-1e-12, 1e-12, 10_000),
        near,
        near * math.sqrt(0.5),
        rng.uniform(5e-324, 1e-307, 1_000),
        np.array([5e-324, 2.0**-1022, 1.0, np.finfo(float).max, np.nextafter(1, 0)]),
    )
    values = np.concatenate(parts)
    assert int(ulps(logarithms(values), [math.log(value) for value in values]).max()) <= 2


def test_the_logarithm_of_a_nest_where_there_is_none() -> None:
    odd = np.array([0.0, -0.0, -1.0, -np.inf, np.nan, np.inf])
    with np.errstate(all="ignore"):
        assert same_bits(logarithms(odd), np.log(odd))


def long_steps() -> Any:
    """A value of many steps along the row around two logarithms, one of the other."""
    before = a
    for k in range(1, 12):
        before = minimum(before * (1 + 1 / k) + b, before + 7 * k)
    first = log(before)
    between = first * 0.5 + before / (b + 1)
    result = where(first < between, log(between + 3) + c, between * first)
    for k in range(1, 12):
        result = minimum(result + before * k, result * 2 + first)
    return result


def test_a_long_loop_is_cut_at_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cut, the numbers are the same, stored or reduced, and buffers are few."""
    node = long_steps()
    leaves = {"a": ("x", "y"), "b": ("y",), "c": ("x",)}
    rng = np.random.default_rng(1)
    given = {"a": rng.uniform(1, 2, (3, 1500)), "b": rng.uniform(1, 2, 1500), "c": rng.random(3)}

    def values(outputs: list[Any]) -> tuple[str, Any]:
        nest = emit(outer=("x",), row=("y",), leaves=leaves, outputs=outputs, names={})
        return nest.source, run(nest, [3, 1500], [], *(given[name] for name in nest.arrays))

    outputs = [(node, "float"), (log(a) < 1, "bool"), (log(b), "float"), (equal(c, 0), "flag")]
    cut, pieces = values(outputs)
    monkeypatch.setattr(sweeps.nest.emit, "_MAX_LOOP_STEPS", 10**6)
    whole, together = values(outputs)
    assert [len(loops(text)) for text in (cut, whole)] == [8, 4]
    for one, other in zip(pieces, together, strict=True):
        assert np.array_equal(one, other)
    assert cut.count("] = ") - whole.count("] = ") <= 8  # values kept for a later loop


@long
def test_a_cut_optimum_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    spec: dict[str, Any] = {
        "model": "ipp",
        "machine": "gtx280",
        "workload": "linear",
        "axes": {
            "threads_per_block": range(32, 513, 32),
            "active_sms": range(1, 31),
            "core_clock": np.linspace(0.8e9, 1.6e9, 80),
        },
    }
    cut = dse.Study(**spec)
    assert cut.plan().points > sweeps.nest.run.NUMPY_POINTS
    best = cut.optimum(minimize="energy", top=5)
    skipped = {key: best.attrs[key] for key in ("tiles_skipped", "points_skipped")}
    of_run = dse.optimum(cut.run(), minimize="energy", top=5)
    assert best.identical(of_run.assign_attrs(skipped))
    monkeypatch.setattr(sweeps.nest.emit, "_MAX_LOOP_STEPS", 10**6)
    assert best.identical(dse.Study(**spec).optimum(minimize="energy", top=5))


def test_defaults_and_zeros_are_known() -> None:
    """They are folded into the text; values of a study compile nothing anew."""
    axes = {"active_sms": range(1, 31), "core_clock": np.linspace(0.8e9, 1.6e9, 1000)}
    given = {"machine": "gtx280", "workload": "svm", "axes": axes, "outputs": ["power"]}

    def source(**values: Any) -> str:
        grid = dse.Study(model="ipp", set={"threads_per_block": 128, **values}, **given).grid()
        (part,) = (
            group for group in sweeps.nest.run.output_groups(grid) if "power" in group.outputs
        )
        nodes = [(grid.output_node(name, (), part.dims), "float") for name in part.outputs]
        return str(sweeps.nest.run.prepare(grid, (), part.dims, nodes).nest.source)

    plain = source()
    assert re.search(r"pow\(\w+, 3\.0\)", plain)  # the exponent of clock_power_factor
    assert "q_sfu" not in plain
    assert "q_sfu_insts = scalars[" in source(sfu_insts=5) == source(sfu_insts=7)
    assert source(sfu_insts=0) == plain
