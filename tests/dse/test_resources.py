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
from typing import Any

import numpy as np
import pytest

import dse
from dse.inputs.merge import merge_inputs, with_declared, workload_entries
from sweeps.grid.build import build_grid
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
    # a kernel updates more bytes with more elements: a constant would be that of another kernel
    known |= {"launch_updated_bytes"} if workload else set()
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


def test_the_exceptions_of_the_default_model_are_resources_that_share_a_cache() -> None:
    rows = [load_model(UNIONS[0]).quantity(name) for name in exceptions(UNIONS[0])]
    assert rows
    # with more resident blocks, each has less of the caches for the bytes that it reads again
    resident = {"n_sms", "max_blocks_per_sm", "max_threads_per_sm", "max_warps_per_sm"}
    resident |= {"registers_per_sm", "shared_mem_per_sm", "reserved_shared_mem_per_block"}
    resident |= {"l1_size"}  # the share of requests to L2 that misses is larger
    resident |= {"core_clock"}  # the voltage rises
    assert {row.name for row in rows if row.lever == "designer"} == resident
