"""More of a resource, or less of a latency or count, never costs time: any model, any machine."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.advice import Advice
from dse.inputs.merge import merge_inputs
from sweeps.grid.build import build_grid
from symbolic.advice import guides, move_directions
from symbolic.library import iterate_models, load_model
from symbolic.ops import interpret_arrays
from symbolic.quantities import Quantity
from tests.long import mostly_long

#: Unions of models that are used together.
UNIONS = ("occupancy + latency_roofline + footprint", "occupancy + mwp_cwp")
#: Random points of each model and machine.
POINTS = 10_000


@cache
def timed_models() -> tuple[str, ...]:
    """The models that yield a time."""
    return (*(model.name for model in iterate_models() if "time" in model.yields), *UNIONS)


def draw(row: Quantity, rng: np.random.Generator) -> Any:
    """Draw values of a quantity, half of them evenly by their logarithms."""
    low, high = row.typical or (0.0, 1.0)
    values = np.exp(rng.uniform(np.log(max(low, high * 1e-4)), np.log(high), POINTS))
    values = np.where(rng.random(POINTS) < 0.5, rng.uniform(low, high, POINTS), values)
    return np.maximum(np.rint(values), max(row.domain.low, 0)) if row.domain.whole else values


def worse_moves(name: str, machine: str, seed: int = 1) -> Iterator[tuple[str, float]]:
    """Yield resources and latencies whose improvement slows the time, and how much."""
    model, rng = load_model(name), np.random.default_rng(seed)
    known, drawn = set(dse.machine(machine, quantities=model.quantities).values), {}
    for need in model.needs("time"):
        row = model.quantity(need)
        follows = row.default in {*known, *model.yields} - {"comp_insts"}
        if need not in known and not follows and not row.is_label:
            drawn[need] = draw(row, rng)
    parts = merge_inputs(
        model,
        (),
        entries={"machine": machine},
        set_values={need: float(values[0]) for need, values in drawn.items()},
    )
    grid = build_grid(
        model,
        values=parts.values,
        labels=parts.fixed_labels,
        switches=parts.switches,
        outputs=["time"],
    )
    roots = [grid.graph.flat("time"), grid.feasible_node(())]
    at = {n: np.full(POINTS, leaf.array.item()) for n, leaf in grid.leaves[()].items()}
    at |= {n: values for n, values in drawn.items() if n in at}

    def compute(values: dict[str, Any]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return tuple(np.broadcast_to(x, (POINTS,)) for x in interpret_arrays(roots, values))

    here, allowed = compute(at)
    for each, way in sorted(move_directions(grid.graph, "time").items()):
        row = model.quantity(each)
        is_resource = row.lever == "designer" or each in (
            *("active_sms", "departure_delay", "core_clock"),
        )
        if each not in at or not is_resource or way not in ("up", "down"):
            continue
        factor = np.exp(rng.uniform(0, 1.5, POINTS) * rng.integers(0, 2, POINTS)) + 1e-3
        there = at[each] * factor if way == "up" else at[each] / factor
        if row.domain.whole:
            there = np.ceil(there) if way == "up" else np.floor(there)
        there = np.where(row.domain.is_inside(there), there, at[each])
        moved, also = compute({**at, each: there})
        compared = allowed & also & np.isfinite(here) & (here > 0)
        worst = float(np.max(moved[compared] / here[compared], initial=1))
        if worst > 1 + 1e-9:
            yield each, worst


@cache
def machine_names() -> tuple[str, ...]:
    """The shipped machines with multiprocessors."""
    needed = {"n_sms", "mem_bandwidth"}
    return tuple(name for name, entry in dse.machines().items() if needed <= entry.values.keys())


def exceptions(name: str) -> str:
    """Return what the pages of a model's parts say of improvements that slow it."""
    parts = ["mwp_cwp" if part == "ipp" else part for part in name.split(" + ")]
    pages = [importlib.import_module(f"symbolic.models.{part}").__doc__ or "" for part in parts]
    return "".join(page.partition("Not monotone: ")[2].partition("\n\n")[0] for page in pages)


CASES = [(model, machine) for model in timed_models() for machine in machine_names()]


@pytest.mark.parametrize(
    ("model", "machine"), mostly_long(CASES, lambda _, case: case[1] in ("gtx280", "h100_pcie"))
)
def test_resources_never_cost_time(model: str, machine: str) -> None:
    stated, moves = exceptions(model), worse_moves(model, machine)
    worse = {name: loss for name, loss in moves if f"``{name}``" not in stated}
    assert not worse, "name it after 'Not monotone: ' in the docstring of the model"


def test_the_default_model_has_no_exception() -> None:
    assert not exceptions(UNIONS[0])


def test_a_page_names_no_exception_without_need() -> None:
    for model in ("throughput", "tmm_calibrated", "occupancy + mwp_cwp"):
        stated = set(re.findall(r"``(\w+)``", exceptions(model)))
        machines = ("gtx280", "gtx580", "a100_40", "h100_pcie", "gh200", "c2075", "e5645_x2")
        worse = {name for machine in machines for name, _ in worse_moves(model, machine)}
        assert stated - worse <= {"active_sms", "max_threads_per_sm"}, model


# --- advice follows the directions and keeps the work

KERNELS = ("bodies", "options", "stencil", "triad")


def kernel_advice(kernel: str, **options: Any) -> Advice:
    workload = f"examples/kernels/{kernel}.toml"
    advice: Advice = dse.advise(UNIONS[0], machine="h100_pcie", workload=workload, **options)
    return advice


@pytest.mark.parametrize("goal", [None, "time", "throughput_time"])
def test_a_kernel_bound_by_memory_is_advised_more_bandwidth(goal: str | None) -> None:
    advice = kernel_advice("triad", goal=goal)
    assert (advice.goal, advice.bound) == (goal or "time", "dram")
    ways = {move.quantity: move.direction for move in advice.moves if move.helps}
    assert ways["mem_bandwidth"] == "raise"
    assert not {"elements", "blocks", "launch_bytes", "fp_insts", "n"} & ways.keys()  # the work
    assert advice["mem_bandwidth"].gain > 1.5


@pytest.mark.parametrize("kernel", KERNELS)
def test_moves_improve_the_time_of_the_same_work(kernel: str) -> None:
    advice = kernel_advice(kernel)
    assert advice.goal == "time"  # the default
    entries: dict[str, Any] = {
        "machine": "h100_pcie",
        "workload": f"examples/kernels/{kernel}.toml",
    }
    here = dse.evaluate(UNIONS[0], **entries)
    threads = float(here.blocks * here.threads_per_block)
    for move in advice.moves:
        row = load_model(UNIONS[0]).quantity(move.quantity)
        assert move.helps
        assert row.direction in ("both", {"raise": "up", "lower": "down"}[move.direction]), move
        if np.isnan(move.until):
            continue
        place: dict[str, Any] = {move.quantity: move.until}
        there = dse.evaluate(UNIONS[0], **entries, **place)
        assert float(here.time / there.time) == pytest.approx(move.gain, rel=1e-9)
        assert float(there.dram_bytes) >= float(here.dram_bytes) * (1 - 1e-9)
        fewest = float((there.blocks - 1) * there.threads_per_block)
        assert fewest < threads < float((there.blocks + 1) * there.threads_per_block)


def test_a_launch_of_given_blocks_keeps_its_threads() -> None:
    """Smaller blocks of a constant grid would do less work."""
    advice = kernel_advice("bodies", blocks=4096)
    assert not {"blocks", "threads_per_block"} & {move.quantity for move in advice.moves}


def test_counts_of_one_block_size_forbid_to_move_it(tmp_path: Path) -> None:
    text = Path("examples/kernels/bodies.toml").read_text()
    one = text.replace("comp_insts = { ", 'comp_insts = { holds_for = ["threads_per_block"], ')
    (tmp_path / "one.toml").write_text(one)
    listed = []
    for name in ("examples/kernels/bodies.toml", str(tmp_path / "one.toml")):
        advice = dse.advise(UNIONS[0], machine="h100_pcie", workload=name)
        listed.append("threads_per_block" in {move.quantity for move in advice.moves})
    assert listed == [True, False]


def test_no_advice_gains_where_a_paper_is_not_monotone() -> None:
    given: dict[str, Any] = {"threads_per_block": 128, "elements": 9e6}
    advice = dse.advise("occupancy + mwp_cwp", machine="8800gt", workload="blackscholes", **given)
    for move in advice.moves:
        assert not (move.quantity == "mem_bandwidth" and move.direction == "lower" and move.helps)


@pytest.mark.parametrize("model", timed_models())
def test_time_is_the_first_goal_of_a_model_that_yields_it(model: str) -> None:
    assert guides(load_model(model))[0].goal == "time"


# --- the start of blocks

MEASURED = Path("docs/gpu-validation/kernels-h100.csv")


def test_no_measured_launch_starts_blocks_faster_than_predicted() -> None:
    """Small blocks of a large launch are bound by their start, whatever the kernel."""
    import pandas as pd

    rows = pd.read_csv(MEASURED)
    blocks, times = rows.grid_x * rows.grid_y, rows["time [s]"]
    values = dse.machine("h100_sxm").values
    floor = blocks * float(values["dispatch_cycles"].value) / 1.98e9
    assert (times >= 0.995 * floor).all()
    many = rows[(blocks >= 2**20) & (rows.block_x * rows.block_y <= 64)]
    assert len(many) > 5
    assert (times[many.index] <= 1.02 * floor[many.index]).all()
    streaming: dict[str, Any] = {"workload": "examples/kernels/triad.toml", "elements": 2**27}
    ds = dse.evaluate(UNIONS[0], machine="h100_sxm", threads_per_block=32, **streaming)
    meanings = ds.bound_by.attrs["flag_meanings"].split()
    assert meanings[[*ds.bound_by.attrs["flag_values"]].index(int(ds.bound_by))] == "dispatch"
