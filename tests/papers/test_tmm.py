"""Published numbers and trends of the TMM model, calibrated and applied to APSP: Ma 2014."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import apsp, shared_mem_padding, tmm, tmm_calibrated
from tests.long import draws
from tests.papers._solve import run_doctests, solve

MODELS = "apsp + tmm_calibrated + occupancy + shared_mem_padding"

EXAMPLES = Path(__file__).parents[2] / "examples"

whole = st.integers
positive = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 1000))


@cache
def zigzag() -> tuple[Any, Any]:
    """Blocks and run time of Fig. 1: one active block, 15 multiprocessors, T_P set to 1."""
    blocks = np.arange(1, 151)
    given = {"active_blocks_per_sm": 1, "n_sms": 15, "time_steps": 1}
    ds = dse.evaluate("tmm", blocks=blocks, outputs=["relative_time"], **given)
    return blocks, ds["relative_time"].values


@cache
def example(**changed: Any) -> dict[str, float]:
    """§V: sub-blocks of edge 32, four threads a core; blocks of 32 threads give as many."""
    given = {"tile_dim": 32, "threads_per_core": 4, "threads_per_block": 32} | changed
    ds = dse.evaluate(MODELS, machine="gtx480", workload="apsp", **given)
    return {str(name): float(ds[name]) for name in ds.data_vars}


@cache
def curves() -> Any:
    """Run time over sub-blocks and threads of a core, as in Figs. 2-4."""
    axes = {"tile_dim": [16, 32, 64, 128], "threads_per_core": {"start": 1, "stop": 48}}
    outputs = ["time", "bound", "root_blocks_per_thread", "latency_steps", "blocks"]
    return dse.Study(
        model="apsp + tmm_calibrated", machine="gtx480", workload="apsp", axes=axes, outputs=outputs
    ).run()


# --- Eqs. 1-8


def test_the_example_is_exact_in_fractions() -> None:
    """§V through every equation: n = 8192, S_D = 32, 𝒯 = 4, B_a = 4 on 15 SMs of 32 cores."""
    given = {"vertices": 8192, "tile_dim": 32, "chunk": 32, "mem_latency": 512 * 32, "span": 0}
    given |= {"n_sms": 15, "cores_per_sm": 32, "threads_per_block": 32, "active_blocks_per_sm": 4}
    got = solve("apsp", **{name: Fraction(value) for name, value in given.items()}, squarings=13)
    assert got["work"] == 8192**3 * 13
    assert got["transactions"] == Fraction(8192**3 * 13, 32 * 32)  # Eq. 10
    assert got["blocks"] == 65536
    assert got["threads_per_core"] == 4
    assert got["n_cores"] == 480
    assert got["latency_steps"] == Fraction(8192**3 * 13 * 512, 32 * 4 * 480)  # Eq. 1
    assert got["work_steps"] == Fraction(8192**3 * 13, 480)
    assert (got["time_steps"], got["bound"]) == (got["latency_steps"], 2)
    assert got["sched_factor"] == Fraction(1093 * 60, 65536)  # Eq. 3
    assert got["relative_time"] == got["time_steps"] * got["sched_factor"]  # Eq. 6
    assert got["hiding_threads_per_core"] == 16


def test_the_three_bounds_and_their_ties() -> None:
    def bound(work: float, span: float, latency: float) -> float:
        steps = tmm.time_steps(work, span, latency)
        return float(tmm.bound(steps, work, span))

    assert [bound(3, 2, 1), bound(2, 3, 1), bound(1, 2, 3)] == [0, 1, 2]
    assert [bound(3, 3, 3), bound(1, 3, 3), bound(3, 1, 3)] == [0, 1, 0]
    assert bound(0.1 + 0.2, 0, 0.3) == bound(0.3, 0, 0.1 + 0.2) == 0


def test_eq_7_is_eq_8() -> None:
    """P/Q is the multiprocessors, the Q of Eq. 8 is the cores of one; else they disagree."""
    model = dse.model("tmm")
    names = ("work", "transactions", "mem_latency", "threads_per_core", "blocks", "n_sms")
    work, moved, latency, threads, blocks, sms = map(model.symbol, names)
    cores, active, passes = map(model.symbol, ("cores_per_sm", "active_blocks_per_sm", "passes"))
    regimes = {r.label: r.outputs["relative_time"] for r in model.regimes("time_steps")}
    terms = {"computation": work, "memory": moved * latency / threads}  # Eq. 8
    factor = {model.symbol("sched_factor"): passes * active * sms / blocks}
    inner = {
        model.symbol("latency_steps"): moved * latency / (threads * model.symbol("n_cores")),
    }
    for label, term in terms.items():
        eq_7 = regimes[label].xreplace(inner).xreplace(factor)
        eq_7 = eq_7.subs(model.symbol("n_cores"), sms * cores)
        assert sympy.simplify(eq_7 - term * passes * active / (cores * blocks)) == 0


def test_both_forms_agree_where_latency_is_hidden_and_the_working_set_fits() -> None:
    given = {"work": 1e9, "transactions": 1e6, "mem_latency": 400, "n_sms": 15, "cores_per_sm": 32}
    given |= {"threads_per_core": 8, "active_blocks_per_sm": 4, "blocks": 1000}
    given |= {"cache_hit_rate": 0.5, "cache_miss_slowdown": 4}
    runs = {
        (how, fits): dse.evaluate("tmm", latency_hiding=how, fits_on_chip=fits, **given)
        for how in ("modelled", "assumed")
        for fits in (0, 1)
    }
    time = {key: float(ds["relative_time"]) for key, ds in runs.items()}
    assert int(runs["modelled", 1]["bound"]) == 0
    assert time["assumed", 1] == time["modelled", 1] == time["modelled", 0]
    assert time["assumed", 0] == time["assumed", 1] * 2.5


def test_span_binds_where_it_is_given() -> None:
    given = {"work": 1000, "transactions": 1, "mem_latency": 1, "threads_per_core": 1}
    given |= {"n_sms": 10, "cores_per_sm": 10, "active_blocks_per_sm": 1, "blocks": 10}
    assert float(dse.evaluate("tmm", **given)["relative_time"]) == 10
    ds = dse.evaluate("tmm", span=50, **given)
    assert (float(ds["relative_time"]), int(ds["bound"])) == (50, 1)


def test_no_more_threads_than_a_core_can_have() -> None:
    """X of Table I: 1536 threads on 32 cores are 48 each."""
    study = dse.Study(
        model="apsp",
        machine="gtx480",
        workload="apsp",
        axes={"threads_per_core": [47, 48, 49]},
        set={"tile_dim": 32, "active_blocks_per_sm": 1},
    )
    assert study.run()["feasible"].values.tolist() == [True, True, False]


# --- Fig. 1


def test_the_zigzag() -> None:
    """15 ⌈B/15⌉ / B: 1 at the multiples of 15, a jump after each, smaller teeth further on."""
    blocks, time = zigzag()
    assert time.tolist() == [15 * -(-int(count) // 15) / int(count) for count in blocks]
    assert set(blocks[time == 1].tolist()) == set(range(15, 151, 15))
    teeth = time[15::15]  # 16, 31, ...
    assert np.all(np.diff(teeth) < 0)
    inside = blocks[:-1] % 15 != 0
    assert np.all(np.diff(time)[inside] < 0)
    assert np.all(np.diff(time)[~inside] > 0)


@given(whole(1, 10**7), whole(1, 32), whole(1, 256))
def test_sched_factor_between_its_bounds(blocks: int, active: int, sms: int) -> None:
    given = {"active_blocks_per_sm": Fraction(active), "n_sms": Fraction(sms)}
    got = solve("tmm", blocks=Fraction(blocks), **given)
    slots = active * sms
    assert 1 <= got["sched_factor"] <= 1 + Fraction(slots - 1, blocks)
    assert (got["sched_factor"] == 1) == (blocks % slots == 0)


@given(*[positive] * 6, st.integers(0, 1), st.fractions(0, 1))
def test_invariants(
    work: Fraction,
    moved: Fraction,
    latency: Fraction,
    threads: Fraction,
    more: Fraction,
    slowdown: Fraction,
    fits: int,
    hits: Fraction,
) -> None:
    def run(threads: Fraction) -> dict[str, Any]:
        return solve(
            "tmm",
            work=work,
            transactions=moved,
            mem_latency=latency,
            threads_per_core=threads,
            n_cores=Fraction(480),
            span=Fraction(0),
            cache_hit_rate=hits,
            cache_miss_slowdown=1 + slowdown,
            fits_on_chip=fits,
        )

    few, many = run(threads), run(threads + more)
    assert few["time_steps"] >= many["time_steps"] >= work / 480
    hiding = few["hiding_threads_per_core"]
    assert (few["bound"] == 0) == (threads * (1 + Fraction(1, 10**11)) >= hiding) or (
        abs(threads / hiding - 1) < Fraction(1, 10**9)
    )
    assert 1 <= few["cache_factor"] <= 1 + slowdown
    assert fits == 0 or few["cache_factor"] == 1


# --- Eqs. 10-14


def test_eqs_11_to_14_follow() -> None:
    """S_D = n/√B_r turns Eq. 11 into Eqs. 13 and 14, in each regime."""
    model = dse.model("apsp")
    names = ("vertices", "squarings", "tile_dim", "chunk", "mem_latency", "threads_per_core")
    n, lg, edge, chunk, latency, threads = map(model.symbol, names)
    cores, factor, blocks = map(model.symbol, ("n_cores", "sched_factor", "blocks"))
    steps = {
        model.symbol("work"): model.closed_form("work"),
        model.symbol("latency_steps"): model.closed_form("latency_steps", expand="transactions"),
    }
    result = {
        regime.label: regime.outputs["relative_time"].xreplace(steps)
        for regime in model.regimes("time_steps")
    }
    eq_13 = n**3 * lg / cores * factor
    eq_14 = n**2 * lg * latency * sympy.sqrt(blocks) / (chunk * threads * cores) * factor
    by_blocks = {edge: n / sympy.sqrt(blocks)}
    assert sympy.simplify(result["computation"] - eq_13) == 0
    assert sympy.simplify(result["memory"].xreplace(by_blocks) - eq_14) == 0
    assert sympy.simplify(model.closed_form("latency_steps_by_blocks") * factor - eq_14) == 0
    printed = model.closed_form("latency_steps_by_blocks", printed=True)
    assert sympy.simplify(printed * factor - n * eq_14) == 0


def test_computation_bounds_where_threads_times_edge_times_chunk_exceed_the_latency() -> None:
    model = dse.model("apsp")
    inside = {model.symbol(name): model.closed_form(name) for name in ("work", "transactions")}
    names = ("mem_latency", "tile_dim", "chunk", "threads_per_core")
    latency, edge, chunk, threads = map(model.symbol, names)
    border = model.border("memory", "computation", solve_for="threads_per_core")
    assert sympy.simplify(border.xreplace(inside) - latency / (edge * chunk)) == 0
    border = model.border("memory", "computation", solve_for="mem_latency")
    assert sympy.simplify(border.xreplace(inside) - threads * edge * chunk) == 0


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(3, 13), st.integers(0, 6), st.integers(1, 64), positive, st.integers(1, 48))
def test_both_forms_of_the_memory_term_agree(
    lg: int, part: int, chunk: int, latency: Fraction, threads: int
) -> None:
    """Eq. 12 holds where S_D divides n; as printed Eq. 12 is n times as large."""
    given = {"vertices": 2.0**lg, "tile_dim": 2.0 ** min(part, lg), "chunk": float(chunk)}
    given |= {"mem_latency": float(latency), "threads_per_core": float(threads), "n_cores": 480.0}
    right, printed = (solve("apsp", printed=flag, **given) for flag in (False, True))
    steps = right["latency_steps"]
    assert right["latency_steps_by_blocks"] == pytest.approx(steps, rel=1e-12)
    assert printed["latency_steps_by_blocks"] == pytest.approx(steps * 2.0**lg, rel=1e-12)


def test_sub_blocks_at_the_border_are_blocks() -> None:
    assert solve("apsp", vertices=100.0, tile_dim=32.0)["blocks"] == 16


# --- Figs. 2-4


def test_fig_2_run_time_is_a_line_and_then_flat() -> None:
    ds = curves()
    x, time = ds["root_blocks_per_thread"], ds["time"]
    memory = (ds["bound"] == 2).values
    assert np.array_equal(memory, (x > 16).values)
    assert np.allclose(time.values[memory], (0.957 * x + 53.9).values[memory], rtol=1e-14)
    flat = time.values[~memory]
    assert np.all(flat == flat[0])
    assert time.values[memory].min() > flat[0]
    # Eq. 15 is Eq. 14 but for the scale
    scale = (ds["latency_steps"] / x).values
    assert np.allclose(scale, scale.flat[0], rtol=1e-14)


def test_fig_3_run_time_falls_with_the_threads_and_flattens_sooner_for_larger_sub_blocks() -> None:
    ds = curves()
    time = ds["time"]
    assert np.all(time.diff("threads_per_core") <= 0)
    assert np.all(time.diff("tile_dim") <= 0)  # larger sub-blocks are never slower
    flat = time.min()
    for edge, threads in ((16, 32), (32, 16), (64, 8), (128, 4)):
        curve = time.sel(tile_dim=edge)
        steep = curve.sel(threads_per_core=slice(1, threads))
        inverse = (steep - 53.9) * steep["threads_per_core"]
        assert np.allclose(inverse, inverse[0], rtol=1e-12)
        assert np.all(curve.sel(threads_per_core=slice(threads, None)) == flat)
        assert edge * threads == 512  # L/C


def test_fig_4_run_time_rises_with_the_root_of_the_blocks() -> None:
    ds = curves()
    blocks = ds["blocks"].values
    assert blocks.tolist() == [(8192 // edge) ** 2 for edge in (16, 32, 64, 128)]
    for threads in (1, 2, 4, 8, 16, 32):
        curve = ds["time"].sel(threads_per_core=threads).values
        assert np.all(np.diff(curve[::-1]) >= 0)
        above = np.sqrt(blocks) / threads > 16
        assert np.allclose((curve[above] - 53.9) / np.sqrt(blocks[above]), 0.957 / threads)
        assert np.all(curve[~above] == ds["time"].values.min())
    # the curves of 16 and 32 threads lie on the flat level but for the most blocks
    assert np.all(ds["time"].sel(threads_per_core=32) == ds["time"].min())
    assert int((ds["time"].sel(threads_per_core=16) > ds["time"].min()).sum()) == 1


def test_the_border_of_the_calibrated_regimes() -> None:
    """At the level that the workload assumes, the line ends where √B_r/𝒯 = nC/L = 16."""
    model = dse.model("tmm_calibrated")
    names = ("memory_time_slope", "memory_time_offset", "compute_bound_time", "blocks")
    slope, offset, level, blocks = map(model.symbol, names)
    border = model.border("latency", "flat", solve_for="threads_per_core")
    assert sympy.simplify(border - sympy.sqrt(blocks) * slope / (level - offset)) == 0
    values = {slope: 0.957, offset: 53.9, level: example()["compute_bound_time"], blocks: 65536}
    assert float(border.xreplace(values)) == pytest.approx(16)


def test_the_coefficients_are_quantities_like_any_other() -> None:
    """Each can be an axis; each acts in one regime alone, so that both can be fitted apart."""
    axes = {
        "memory_time_slope": [0.5, 1],
        "memory_time_offset": [0, 5],
        "compute_bound_time": [0, 90],
    }
    axes["threads_per_core"] = [1, 2, 64]
    ds = dse.Study(model="tmm_calibrated", axes=axes, set={"blocks": 4096}).run()
    assert ds["time"].dims == tuple(axes)
    line = ds["memory_time_slope"] * 64 / ds["threads_per_core"] + ds["memory_time_offset"]
    assert (ds["time"].sel(compute_bound_time=0) == line).all()
    assert (ds["time"] == np.maximum(line, ds["compute_bound_time"])).all()


# --- advice


def test_advice_on_shortest_paths_is_that_of_the_paper() -> None:
    """§III: memory bound, larger sub-blocks or more threads help until the latency is hidden."""
    given = {"machine": "gtx480", "workload": "apsp", "tile_dim": 32, "threads_per_block": 32}
    advice = dse.advise("apsp", threads_per_core=4, active_blocks_per_sm=4, **given)
    assert (advice.state, advice.bound, advice.goal) == ("bound", "memory", "relative_time")
    threads = advice["threads_per_core"]
    assert (threads.until, threads.next_bound) == (pytest.approx(16), "computation")
    assert threads.gain == pytest.approx(4)
    assert advice["tile_dim"].until == 128  # 𝒯 S_D = 512 = L / C
    assert not {"vertices", "chunk"} & {move.quantity for move in advice.moves}
    (passes,) = advice.suggestions
    assert (passes.quantity, passes.value, passes.now) == ("full_pass_blocks", 65580, 65536)
    hidden = dse.advise("apsp", threads_per_core=20, active_blocks_per_sm=4, **given)
    assert hidden.bound == "computation"
    assert {move.quantity for move in hidden.moves if move.helps} == {"n_sms", "cores_per_sm"}


def test_advice_on_the_zigzag_fills_the_last_pass() -> None:
    """Fig. 1: one block beyond a full pass costs another one; 15 blocks or 30 are best."""
    given = {"machine": "gtx480", "active_blocks_per_sm": 1, "blocks": 16}
    advice = dse.advise("tmm", goal="sched_factor", **given)
    assert advice.values == {"sched_factor": 1.875, "passes": 2}
    fewer = next(move for move in advice.moves if move.direction == "lower")
    assert (fewer.quantity, fewer.until, fewer.gain) == ("blocks", 15, 1.875)
    (passes,) = advice.suggestions
    assert (passes.value, passes.gain) == (30, 1.875)


def test_advice_tells_which_calibrated_term_dominates() -> None:
    """Eq. 15 at §V: 61.2 of 115.1 s are latency, which four times the threads would hide."""
    given = {"workload": "apsp", "blocks": 65536}
    advice = dse.advise("tmm_calibrated", threads_per_core=4, **given)
    assert (advice.goal, advice.bound) == ("time", "latency")
    assert advice.terms == {"latency": pytest.approx(115.148), "flat": pytest.approx(69.212)}
    assert advice.values["latency_time"] == pytest.approx(61.248)
    assert advice.values["memory_time_offset"] == 53.9
    assert advice["threads_per_core"].until == pytest.approx(16)
    hidden = dse.advise("tmm_calibrated", threads_per_core=32, **given)
    assert (hidden.bound, hidden.moves) == ("flat", ())


# --- §V


def test_padding_lowers_the_active_blocks_to_each_number() -> None:
    """Cost of each B_a with 𝒯 fixed, and where fewer blocks are fewer threads."""
    study = {
        "model": "apsp + tmm_calibrated + occupancy + shared_mem_padding",
        "machine": "gtx480",
        "workload": "apsp",
        "axes": {"most_blocks_per_sm": {"start": 1, "stop": 8}},
        "outputs": ["active_blocks_per_sm", "shared_mem_padding", "sched_factor", "time"],
    }
    state = dse.Study(
        **study, set={"tile_dim": 32, "threads_per_block": 32, "threads_per_core": 4}
    ).run()
    assert state["active_blocks_per_sm"].values.tolist() == [1, 2, 3, 4, 4, 4, 4, 4]
    padding = state["shared_mem_padding"].values.tolist()
    assert padding == [12289, 4097, 1, 0, 0, 0, 0, 0]
    factor = state["sched_factor"].round(5).values.tolist()
    assert factor == [1.00021, 1.00021, 1.00044] + [1.00067] * 5
    assert state["time"].dims == ()
    assert float(state["time"]) == pytest.approx(115.148)
    loose = dse.Study(**study, set={"tile_dim": 32, "threads_per_block": 32}).run()
    assert np.all(loose["time"].diff("most_blocks_per_sm") <= 0)
    assert loose["time"].values[0] == pytest.approx(0.957 * 256 + 53.9)


def fitting(memory: int, block: int, *, unit: int = 1, reserved: int = 0, most: int) -> int:
    """Blocks placed one after the other in the shared memory."""
    if block > most:
        return 0
    used = -(-(block + reserved) // unit) * unit
    count = 0
    while used > 0 and (count + 1) * used <= memory:
        count += 1
    return count


@settings(max_examples=draws(150), deadline=None)
@given(
    st.integers(1, 4000),
    st.integers(0, 4000),
    st.integers(1, 16),
    st.sampled_from([1, 7, 64]),
    st.integers(0, 40),
    st.sampled_from(["none", "cuda"]),
)
def test_the_padding_is_the_least(
    memory: int, needed: int, most: int, unit: int, reserved: int, granularity: str
) -> None:
    given = {
        "granularity": granularity,
        "shared_mem_per_sm": memory,
        "shared_mem_needed": needed,
        "most_blocks_per_sm": most,
        "max_shared_mem_per_block": memory,
        "shared_mem_allocation_unit": unit,
        "reserved_shared_mem_per_block": reserved,
        "blocks_by_registers": 12,
        "max_blocks_per_sm": 16,
        "blocks_by_threads": 14,
    }
    got = solve(
        "shared_mem_padding",
        **{k: v if k == "granularity" else Fraction(v) for k, v in given.items()},
    )
    padding = got["shared_mem_padding"]
    assert got["shared_mem_per_block"] == needed + padding
    cuda = {"unit": unit, "reserved": reserved} if granularity == "cuda" else {}

    def blocks(shared: Any) -> int:
        if int(shared) + cuda.get("reserved", 0) == 0:
            return 12
        return min(12, fitting(memory, int(shared), **cuda, most=memory))

    if blocks(needed) <= most:
        assert padding == 0
    else:
        assert blocks(needed + padding) <= most < blocks(needed + padding - 1)


def test_padding_to_one_block_needs_a_block_that_may_use_more_than_half() -> None:
    """Compute capability 3.7: 112 KiB, of which a block may use 48."""
    given = {"threads_per_block": 64, "registers_per_thread": 16, "shared_mem_needed": 4096}
    study = dse.Study(
        model="occupancy + shared_mem_padding",
        machine="cc3.7",
        axes={"most_blocks_per_sm": [1, 2, 3]},
        set={**given, "granularity": "cuda"},
        outputs=["active_blocks_per_sm"],
    )
    ds = study.run()
    assert ds["feasible"].values.tolist() == [False, True, True]
    assert ds["active_blocks_per_sm"].values[1:].tolist() == [2, 3]


# --- examples and docstrings


def test_the_zigzag_study() -> None:
    study = dse.Study.from_toml(EXAMPLES / "zigzag.toml")
    ds = study.run()
    got = ds["relative_time"].sel(active_blocks_per_sm=1).values
    assert np.array_equal(got, zigzag()[1])
    best = study.optimum(**study.best)
    assert best["blocks"].values.tolist() == [15, 30, 60]
    assert np.all(best["relative_time"] == 1)


def test_the_padding_study() -> None:
    study = dse.Study.from_toml(EXAMPLES / "apsp-padding.toml")
    best = study.optimum(**study.best)
    assert best["time"].round(3).values.tolist() == [69.212] * 3
    assert (best["tile_dim"] * best["threads_per_core"]).min() >= 512


@pytest.mark.parametrize("module", [apsp, shared_mem_padding, tmm, tmm_calibrated])
def test_docstrings(module: Any) -> None:
    failed, attempted = run_doctests(module)
    assert failed == 0
    assert attempted > 0
