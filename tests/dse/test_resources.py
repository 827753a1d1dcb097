"""The table of signs: which moves never cost time, and which never save power.

More of a resource, a lower latency or count, a smaller problem, and a higher limit of power never
cost time. More of a resource and a lower latency never save power. These signs hold for any model
on any machine, except for the quantities that the page of the model names with a reason.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.advice import Advice
from dse.inputs.merge import merge_inputs, with_declared, workload_entries
from sweeps.grid.build import build_grid
from symbolic.advice import guides
from symbolic.library import iterate_models, load_model
from symbolic.ops import interpret_arrays
from symbolic.quantities import Quantity
from tests.long import mostly_long

#: Unions of models that are used together.
UNIONS = ("occupancy + latency_roofline + footprint", "occupancy + mwp_cwp")
POWER_UNION = "throughput + power"
#: Random points of each model and machine.
POINTS = 10_000
#: Sizes of a problem; a larger size is more work.
SIZES = frozenset(
    {
        *("elements", "rows", "cols", "nonzeros", "product_rows", "product_columns"),
        *("product_depth", "batch", "context", "seq_len", "tokens", "heads", "kv_heads"),
        *("head_dim", "hidden", "intermediate", "experts", "topk", "window", "work_flops"),
    }
)
#: A window of 0 hides no key, so it is the largest.
NOT_ZERO = frozenset({"window"})


@cache
def models_with(goal: str) -> tuple[str, ...]:
    """Return the models and the unions of models that yield a quantity."""
    unions = (POWER_UNION,) if goal == "power" else UNIONS if goal == "time" else ()
    return (*(model.name for model in iterate_models() if goal in model.yields), *unions)


def timed_models() -> tuple[str, ...]:
    """The models that yield a time."""
    return models_with("time")


def draw(row: Quantity, rng: np.random.Generator) -> Any:
    """Draw values of a quantity, half of them evenly by their logarithms."""
    ends = (row.domain.low, row.domain.high)
    low, high = row.typical or (ends if np.isfinite(ends).all() else (0.0, 1.0))
    values = np.exp(rng.uniform(np.log(max(low, high * 1e-4)), np.log(high), POINTS))
    values = np.where(rng.random(POINTS) < 0.5, rng.uniform(low, high, POINTS), values)
    return np.maximum(np.rint(values), max(row.domain.low, 0)) if row.domain.whole else values


def sign(row: Quantity, goal: str) -> str | None:
    """Return the direction of moves that never cost time and save no power, or None."""
    if row.name == "power_limit":
        return "up"
    if row.lever == "designer" or row.name in ("active_sms", "departure_delay", "core_clock"):
        return row.direction if row.direction in ("up", "down") else None
    if goal == "power":  # less work may draw less
        return None
    return "down" if row.name in SIZES or row.direction == "down" else None


def worse_moves(
    name: str, machine: str, goal: str = "time", workload: str | None = None
) -> Iterator[tuple[str, float]]:
    """Yield quantities whose moves contradict their sign, and the factor of time or power."""
    model, rng, drawn = with_declared(load_model(name), workload), np.random.default_rng(1), {}
    entries = {"machine": machine} | ({"workload": workload} if workload else {})
    known = set(dse.machine(machine, quantities=model.quantities).values)
    known |= {each for entry in workload_entries(model, workload) for each in entry.values}
    known -= {"elements", "threads_per_block"}  # any launch of a kernel
    for need in model.needs(goal):
        row = model.quantity(need)
        follows = row.default in {*known, *model.yields} - {"comp_insts"}
        if need not in known and not follows and not row.is_label:
            drawn[need] = draw(row, rng)
    parts = merge_inputs(
        model,
        (),
        entries=entries,
        set_values={need: float(values[0]) for need, values in drawn.items()},
    )
    grid = build_grid(
        model,
        values=parts.values,
        labels=parts.fixed_labels,
        switches=parts.switches,
        outputs=[goal],
    )
    roots = [grid.graph.flat(goal), grid.feasible_node(())]
    at = {n: np.full(POINTS, leaf.array.item()) for n, leaf in grid.leaves[()].items()}
    at |= {n: values for n, values in drawn.items() if n in at}

    def compute(values: dict[str, Any]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return tuple(np.broadcast_to(x, (POINTS,)) for x in interpret_arrays(roots, values))

    here, allowed = compute(at)
    for each in sorted(at):
        row = model.quantity(each)
        way = sign(row, goal)
        if way is None:
            continue
        factor = np.exp(rng.uniform(0, 1.5, POINTS) * rng.integers(0, 2, POINTS)) + 1e-3
        there = at[each] * factor if way == "up" else at[each] / factor
        if row.domain.whole:
            there = np.ceil(there) if way == "up" else np.floor(there)
        keeps = row.domain.is_inside(there) & ((there > 0) | (each not in NOT_ZERO))
        there = np.where(keeps, there, at[each])
        moved, also = compute({**at, each: there})
        compared = allowed & also & np.isfinite(here) & (here > 0) & ~np.isnan(moved)
        before, after = here[compared], moved[compared]
        ratio = before / after if goal == "power" else after / before
        worst = float(np.max(ratio, initial=1))
        if worst > 1 + 1e-9:
            yield each, worst


@cache
def machine_names() -> tuple[str, ...]:
    """The shipped machines with multiprocessors."""
    needed = {"n_sms", "mem_bandwidth"}
    return tuple(name for name, entry in dse.machines().items() if needed <= entry.values.keys())


def pages(name: str) -> list[str]:
    """Return the models whose pages describe a model or a union."""
    parts = name.replace("ipp", "occupancy + mwp_cwp + power").split(" + ")
    return [*dict.fromkeys(parts)]


def stated_on(page: str, goal: str) -> set[str]:
    """Return the quantities that a page names because their moves contradict their sign."""
    text = importlib.import_module(f"symbolic.models.{page}").__doc__ or ""
    begin = "Power not monotone: " if goal == "power" else "Not monotone: "
    return set(re.findall(r"``(\w+)``", text.partition(f"\n{begin}")[2].partition("\n\n")[0]))


def exceptions(name: str, goal: str = "time") -> set[str]:
    """Return the quantities that the pages name; exceptions of the time also hold for power."""
    goals = ("time", "power") if goal == "power" else ("time",)
    return {each for page in pages(name) for about in goals for each in stated_on(page, about)}


GOALS = ("time", "sustained_time", "power")
CASES = [
    (goal, model, machine)
    for goal in GOALS
    for model in models_with(goal)
    for machine in machine_names()
]


@pytest.mark.parametrize(
    ("goal", "model", "machine"),
    mostly_long(CASES, lambda _, case: case[2] in ("gtx280", "h100_pcie")),
)
def test_no_model_contradicts_the_table_of_signs(goal: str, model: str, machine: str) -> None:
    stated, moves = exceptions(model, goal), worse_moves(model, machine, goal)
    worse = {name: loss for name, loss in moves if name not in stated}
    assert not worse, "name it after '(Power) not monotone: ' in the docstring of the model"


@pytest.mark.parametrize(
    ("kernel", "machine"),
    mostly_long(
        product(("bodies", "options", "stencil", "triad"), machine_names()),
        lambda _, case: case[1] in ("gtx280", "h100_pcie"),
    ),
)
def test_no_counted_kernel_contradicts_the_table_of_signs(kernel: str, machine: str) -> None:
    moves = dict(worse_moves(UNIONS[0], machine, workload=f"examples/kernels/{kernel}.toml"))
    # blocks share the positions of all bodies: with more blocks, fewer wait for DRAM (0.4 %)
    assert kernel != "bodies" or moves.pop("elements", 1) < 1.005
    assert {*moves} <= exceptions(UNIONS[0])


def test_the_default_model_has_no_exception_of_resources() -> None:
    rows = [load_model(UNIONS[0]).quantity(name) for name in exceptions(UNIONS[0])]
    assert rows
    # with more resident blocks, each has less of the caches for the bytes that it reads again
    resident = {"max_warps_per_sm", "registers_per_sm", "reserved_shared_mem_per_block"}
    assert {row.name for row in rows if row.lever == "designer"} == resident


#: Named on pages because they follow from ``n_sms`` and ``max_warps_per_sm``.
FOLLOWERS = {"active_sms", "max_threads_per_sm"}
PAGES = sorted(
    {
        (goal, page)
        for goal in ("time", "power")
        for name in models_with(goal)
        for page in pages(name)
        if stated_on(page, goal)
    }
)


@pytest.mark.parametrize(("goal", "page"), PAGES)
def test_a_page_names_no_exception_without_need(goal: str, page: str) -> None:
    missing = stated_on(page, goal)
    found_on = product([name for name in models_with(goal) if page in pages(name)], machine_names())
    for name, machine in found_on:
        missing -= {each for each, _ in worse_moves(name, machine, goal)} | FOLLOWERS
        if not missing:
            return
    raise AssertionError(f"no machine has these: {missing}")


def test_the_faq_lists_the_models_with_exceptions() -> None:
    text = Path("docs/faq.md").read_text().partition("| model | cause |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", text)) == {page for _, page in PAGES} | {"ipp"}


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
