"""No answer is physically impossible: limits of the hardware are checked at every one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.inputs.merge import merge_inputs
from dse.study.possible import Impossible, impossible_points
from sweeps.grid.axes import Axis
from sweeps.grid.build import build_grid
from sweeps.grid.grid import Leaf
from symbolic.errors import DseError
from symbolic.expression import parse_value
from symbolic.library import load_model
from symbolic.physical_limits import LIMITS
from symbolic.quantities import TABLE
from tests.dse.test_resources import UNIONS, draw, machine_names
from tests.long import mostly_long

#: Points of each machine.
POINTS = 10_000
#: Four times the work that H100 has units for, by the print of 2012: a core issues a warp a cycle.
TWICE: dict[str, Any] = {
    "printed": True,
    "fp_insts": 100,
    "mem_insts": 1,
    "elements": 1e7,
    "threads_per_block": 256,
    "active_blocks_per_sm": 4,
}


def found_at_random(name: str, machine: str, **switches: bool) -> list[Impossible]:
    """Return the limits that predictions of a model at random points pass."""
    model, rng = load_model(name), np.random.default_rng(2)
    known = set(dse.machine(machine, quantities=model.quantities).values)
    drawn = {}
    for need in sorted(model.needs("time")):
        row = model.quantity(need)
        follows = row.default in {*known, *model.yields} - {"comp_insts"}
        if need not in known and not follows and not row.is_label:
            drawn[need] = draw(row, rng)
    parts = merge_inputs(
        model, (), entries={"machine": machine}, set_values=switches, replaced=dict.fromkeys(drawn)
    )
    index = np.arange(POINTS)
    axis = Axis(name="place", kind="index", coordinate=index, values=index.astype(float))
    grid = build_grid(
        model,
        axes=[axis],
        values={**parts.values, **{n: Leaf(axes=("place",), array=v) for n, v in drawn.items()}},
        labels=parts.fixed_labels,
        switches=parts.switches,
        outputs=["time"],
    )
    return impossible_points(grid, parts, {"place": index})


@pytest.mark.parametrize(
    "machine", mostly_long(machine_names(), lambda _, name: name in ("h100_pcie", "mi210", "t4"))
)
def test_the_default_model_predicts_nothing_impossible(machine: str) -> None:
    # a launch that touches more than the memory is given, not predicted
    assert not [each for each in found_at_random(UNIONS[0], machine) if not each.is_given]


def test_a_model_of_2009_is_caught_below_the_issue_limit() -> None:
    """The printed CPI is below four cycles in some points; the default CPI is in none."""
    printed, corrected = (
        {each.limit.name for each in found_at_random(UNIONS[1], "gtx280", printed=printed)}
        for printed in (True, False)
    )
    assert "issue" in printed
    assert "issue" not in corrected


def test_limits_are_formulas_in_quantities() -> None:
    from symbolic.expression import parse

    for limit in LIMITS:
        parse(limit.least, TABLE)
        parse(limit.most, TABLE)
        assert {*limit.uses, *limit.without} <= {*TABLE}


# --- what answers say


def test_python_marks_what_is_impossible() -> None:
    outputs = ["time", "flops"]
    ds = dse.evaluate("throughput", machine="h100_pcie", outputs=outputs, **TWICE)
    (row,) = json.loads(ds.attrs["impossible"])
    assert (row["quantity"], row["limit"], row["points"]) == ("flops", "operations", 1)
    assert row["factor"] == pytest.approx(4)  # 128 units a core, and a warp of 32 lanes a cycle
    assert "a fault of the model" in row["why"]
    good = dse.evaluate("throughput", machine="gtx580", outputs=outputs, **TWICE)
    assert "impossible" not in good.attrs


def test_arrays_are_checked_point_by_point() -> None:
    more = {**TWICE, "fp_insts": np.array([10.0, 100.0, 1000.0])}
    ds = dse.evaluate("throughput", machine="h100_pcie", outputs=["time", "flops"], **more)
    (row,) = json.loads(ds.attrs["impossible"])
    assert row["points"] == 3


def test_a_value_that_the_machine_cannot_have_is_no_fault_of_the_model() -> None:
    given: dict[str, Any] = {"total_insts": 10, "fp_insts": 1, "dram_bytes": 1e6, "blocks": 1e4}
    given |= {"threads_per_block": 256, "mem_insts": 1, "active_blocks_per_sm": 16}
    ds = dse.evaluate("latency_roofline", machine="h100_pcie", **given)
    rows = json.loads(ds.attrs["impossible"])
    assert {row["quantity"] for row in rows} == {"active_blocks_per_sm"}
    assert all("as it is given" in row["why"] for row in rows)


def run(*words: str) -> str:
    result = CliRunner().invoke(main, [*words])
    assert result.exit_code == 0, result.output
    return result.output


WORDS = [f"{name}={json.dumps(value)}" for name, value in TWICE.items()]


def test_evaluate_prints_no_impossible_value() -> None:
    command = ("evaluate", "throughput", *WORDS, "--outputs", "time,flops")
    text = run(*command, "machine=h100_pcie")
    assert "flops     impossible" in text
    assert "flops is impossible, a fault of the model: " in text
    data = json.loads(run(*command, "machine=h100_pcie,gtx580", "--json"))
    assert [row["flops"] is None for row in data["rows"]] == [True, False]
    assert data["impossible"][0]["points"] == 1


def test_explain_and_optimum_say_what_is_impossible(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in TWICE.items() if name != "fp_insts"]
    path.write_text(
        'model = "throughput"\nmachine = "h100_pcie"\noutputs = ["time", "flops"]\n'
        "[axes]\nfp_insts = [10, 100]\n[set]\n" + "\n".join(lines)
    )
    explanation = dse.explain(dse.Study.from_toml(path))
    assert explanation.impossible[0].startswith("flops is impossible, a fault of the model")
    assert "impossible" in run("explain", str(path))
    assert "flops is impossible" in run("optimum", str(path), "--maximize", "flops")
    data = json.loads(run("optimum", str(path), "--maximize", "flops", "--json"))
    assert data["impossible"][0]["limit"] == "operations"


def test_a_launch_touches_at_most_the_memory_of_the_machine(tmp_path: Path) -> None:
    """Road, row 30: 79 GB were counted for arrays of 0.24 GB."""
    kernel = tmp_path / "gather.cu"
    kernel.write_text(
        "__global__ void gather(const float *v, const int *at, float *to, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) { float sum = 0; for (int k = 0; k < 64; k++) sum += v[at[i] * (k + 1)];\n"
        "    to[i] = sum; }\n"
        "}\n"
    )
    known: dict[str, Any] = {"set": {"n": 2**26}, "block": 256, "moves": False}
    with pytest.raises(DseError, match="launch_bytes is impossible, as it is given: a launch"):
        dse.analyze(kernel, "rtx3080", **known)
    answer = dse.analyze(kernel, "rtx3080", **known, array_bytes={"v": 2**28}).best
    assert answer.roofline["dram_bytes"] == 2**28 + 2 * 4 * 2**26
    # a card whose memory holds what is counted
    assert dse.analyze(kernel, "mi300x", **known).best.time > 0


@pytest.mark.parametrize(
    ("model", "sizes", "grown", "cause"),
    [
        ("decode_attention", {"batch": 156, "context": 131072}, "batch", "the KV cache"),
        ("prefill_attention", {"batch": 32, "seq_len": 131072}, "batch", "queries to results"),
        ("moe", {"experts": 80, "tokens": 64, "topk": 8}, "experts", "the experts of a rank"),
        ("gemm", dict.fromkeys(("product_rows", "product_columns", "product_depth"), 1e5),
         "product_rows", "both factors and the result"),
    ],
)  # fmt: skip
def test_data_of_a_layer_must_fit_into_the_memory(
    model: str, sizes: dict[str, Any], grown: str, cause: str
) -> None:
    """The twin counts the bytes of 16-bit numbers."""
    known: dict[str, Any] = dict(sizes)
    if model.endswith("attention"):
        known |= {"heads": 64, "kv_heads": 8, "head_dim": 128, "kv_dtype": "bf16"}
        words = 2 * 8 if model == "decode_attention" else 2 * 64 + 2 * 8
        per_unit = 2 * words * 128 * 131072
    elif model == "moe":
        known |= {"hidden": 16384, "intermediate": 8192, "dtype": "bf16", "gated": "true"}
        per_unit = 2 * 3 * 16384 * 8192
    else:
        per_unit = 4 * 1e5
    text = str(dse.machine("h100_sxm").values["mem_size"].value)
    size = parse_value(text, TABLE["mem_size"], TABLE)
    assert isinstance(size, float)
    most = int((size - (2e10 if model == "gemm" else 0)) / per_unit)
    for count, limits in (most, []), (most + 1, ["memory"]):
        ds = dse.evaluate(model, machine="h100_sxm", **known | {grown: count})
        rows = json.loads(ds.attrs.get("impossible", "[]"))
        assert [row["limit"] for row in rows] == limits
        for row in rows:
            assert row["why"].startswith(f"{grown} is impossible, as it is given: {cause}")
        assert float(ds.time) > 0


def test_data_are_not_compared_with_a_memory_of_unknown_size() -> None:
    names = ("product_rows", "product_columns", "product_depth")
    sizes: dict[str, Any] = dict.fromkeys(names, 1e6)
    outputs = ["weight_bytes", "activation_bytes", "result_bytes"]
    assert "mem_size" not in dse.machine("v100_sxm2").values
    ds = dse.evaluate("gemm", machine="v100_sxm2", dtype="fp16", outputs=outputs, **sizes)
    assert "impossible" not in ds.attrs


def test_an_input_without_effect_is_not_listed_as_assumed() -> None:
    known: dict[str, Any] = {"machine": "l4", "workload": "examples/kernels/triad.toml"}
    for atomics, listed in ({}, False), ({"atomic_words": 32, "atomic_bytes": 1024}, True):
        ds = dse.evaluate("occupancy + latency_roofline + footprint", **known, **atomics)
        names = {row["quantity"] for row in json.loads(ds.attrs["assumed"])}
        assert ("atomic_cycles" in names) is listed
        assert "l2_latency" in names
