"""Figures draw what the model yields; styles; errors."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm, Normalize, to_hex, to_rgb
from matplotlib.figure import Figure

import dse
from dse import plots
from dse.plots.axes import is_geometric
from dse.plots.data import complete_options
from dse.plots.kinds import KINDS
from dse.plots.style import (
    MEANINGS,
    PART_STYLES,
    STYLES,
    distinct_styles,
    meaning_of,
    style_of,
    style_variants,
)
from stochastic import Pmf, imbalance
from symbolic.answer import value_text
from symbolic.library import iterate_models
from symbolic.quantities import TABLE
from tests.long import draws

POINT = {"lanes_width": 200, "ms_peak": 1, "mem_latency": 400}
EXAMPLES = Path(__file__).parents[2] / "examples"
MERGE = ["sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"]


def energy(**more: Any) -> Any:
    given: dict[str, Any] = {
        "model": "ipp",
        "machine": "gtx280",
        "workload": "svm",
        "axes": {"core_clock": ["1.0 GHz", "1.3 GHz"], "active_sms": range(1, 31)},
        "set": {"threads_per_block": 256},
    }
    return dse.Study(**(given | more))


def line(ax: Axes, start: str) -> tuple[Any, Any]:
    """The points of the line whose label begins so."""
    (result,) = (
        x for x in ax.get_lines() if str(x.get_label()).replace("\n", " ").startswith(start)
    )
    return np.asarray(result.get_xdata()), np.asarray(result.get_ydata())


def title_text(ax: Axes) -> str:
    return ax.get_title().replace("\n", " ")


# --- transit
@settings(max_examples=draws(8), deadline=None)
@given(
    threads=st.floats(10, 2000),
    intensity=st.floats(1, 800),
    lanes=st.floats(10, 1000),
    peak=st.floats(0.05, 5),
    latency=st.floats(1, 1000),
    keep=st.floats(1, 30),
)
def test_transit_traces_both_curves(
    threads: float, intensity: float, lanes: float, peak: float, latency: float, keep: float
) -> None:
    given = {"lanes_width": lanes, "ms_peak": peak, "mem_latency": latency}
    given["arithmetic_latency"] = keep
    ax = plots.transit(threads=threads, intensity=intensity, **given)
    k, supply = line(ax, "supply")
    assert np.allclose(supply, np.minimum(peak, k / latency), rtol=1e-9)
    assert k.max() == pytest.approx(threads, rel=5e-3)
    k, demand = line(ax, "demand")
    expected = np.minimum(lanes, (threads - k) / keep) / intensity
    assert np.allclose(demand, expected, rtol=1e-6, atol=1e-9)
    assert k.min() <= 5e-3 * threads
    ds = dse.evaluate("transit", threads=threads, intensity=intensity, **given)
    x, y = line(ax, "k = ")
    assert (x[0], y[0]) == (float(ds.threads_in_ms), float(ds.ms_throughput))
    first, _, values = ax.get_title().partition("\n")
    assert first == f"{ds.bound.attrs['flag_meanings'].split()[int(ds.bound)]} bound"
    assert [part.split()[0] for part in values.replace("\n", " ").split(", ")] == [*"nZMRLl"]


def test_transit_draws_the_smooth_supply() -> None:
    ax = plots.transit(threads=450, intensity=200, supply="smooth", **POINT)
    k, supply = line(ax, "supply")
    assert np.allclose(supply, k / (400 + k), rtol=1e-9)


@pytest.mark.parametrize(
    ("threads", "intensity", "move"),
    [
        (450, 200, "threads"),
        (450, 200, "intensity"),
        (900, 150, "intensity"),
        (900, 150, "ms_peak"),
        (900, 400, "lanes_width"),
        (900, 200, "lanes_width + ms_peak"),
    ],
)
def test_transit_draws_where_advice_leads(threads: float, intensity: float, move: str) -> None:
    given = {"threads": threads, "intensity": intensity, **POINT}
    ax = plots.transit(move=move, **given)
    names = move.split(" + ")
    (advice,) = (
        m for m in dse.advise("transit", **given).moves if {m.quantity, *m.together} == set(names)
    )
    moved = given | {name: given[name] * advice.until / advice.value for name in names}
    ds = dse.evaluate("transit", **moved)
    (after,) = (x for x in ax.get_lines() if str(x.get_label()).endswith("wait after the move"))
    assert after.get_ydata()[0] == pytest.approx(float(ds.ms_throughput), rel=1e-12)  # type: ignore[index]
    assert after.get_xdata()[0] == pytest.approx(float(ds.threads_in_ms), rel=1e-9)  # type: ignore[index]
    assert f"computation throughput rises x {advice.gain:.3g}" in title_text(ax)
    assert "does not help" not in title_text(ax)


def test_the_regimes_of_transit_hold_where_the_curves_cross() -> None:
    """Whatever the threads: the point lies in the shade that is named as its bound."""
    for threads in (100, 460, 640, 910):
        for intensity in (50, 150, 300, 500):
            given = {"threads": threads, "intensity": intensity, **POINT}
            wanted = ["bound", "threads_in_ms", "threads_in_cs", "ms_transition", "cs_transition"]
            ds = dse.evaluate("transit", outputs=wanted, **given)
            full = float(ds.threads_in_ms) > float(ds.ms_transition)
            busy = float(ds.threads_in_cs) > float(ds.cs_transition)
            names = {(0, 0): 0, (1, 0): 1, (0, 1): 2, (1, 1): 3}
            assert int(ds.bound) == names[int(full), int(busy)]


@pytest.mark.parametrize(
    ("threads", "intensity", "move", "words"),
    [
        # Fig. 16; the paper takes the height of the crossing as unchanged, M/Z says it falls
        (900, 400, "intensity", "memory throughput falls x 0.5 (principle 1), computation "
         "throughput stays (principle 3): does not help"),
        (450, 200, "lanes_width", "memory throughput stays (principle 1), computation "
         "throughput stays (principle 2): does not help"),
        (450, 200, "mem_latency", "memory throughput falls x 0.6 (principle 1), computation "
         "throughput falls x 0.6 (principle 2): does not help"),
    ],
)  # fmt: skip
def test_a_move_that_does_not_help_is_drawn_and_said(
    threads: float, intensity: float, move: str, words: str
) -> None:
    given = {"threads": threads, "intensity": intensity, **POINT}
    ax = plots.transit(move=move, **given)
    assert words in title_text(ax)
    ds = dse.evaluate("transit", **{**given, move: 2 * given[move]})
    (after,) = (x for x in ax.get_lines() if str(x.get_label()).endswith("wait after the move"))
    assert after.get_ydata()[0] == pytest.approx(float(ds.ms_throughput), rel=1e-12)  # type: ignore[index]


def test_a_move_on_a_slide_has_a_short_title() -> None:
    """Three lines at most; the label of Z is not of operations in cycles."""
    import matplotlib as mpl

    given = {"threads": 450, "intensity": 200, **POINT}
    with mpl.rc_context({"font.size": 16}):
        title = plots.transit(move="threads", **given).get_title()
        axes = {"intensity": range(1, 100)}
        study = dse.Study(model="transit", axes=axes, set={"threads": 450, **POINT})
        label = plots.lines(study, "ms_throughput").get_xlabel()
    assert title.count("\n") < 3
    assert "principle" not in title
    assert "computation x " in title
    assert label == "computation between two\nrequests (Z) [cycle]"


def test_transit_refuses_to_move_what_is_no_input() -> None:
    with pytest.raises(dse.DseError, match=r"'lanes' is no move: expected inputs of transit.*adv"):
        plots.transit(threads=450, intensity=200, move="lanes", **POINT)


def test_counters_of_a_kernel_put_a_star_on_its_transit_figure() -> None:
    """Figs. 18-19: half a million requests in 100 us of 1 GHz are 0.5 a cycle."""
    given = {"occupancy": 0.5, "max_threads_per_sm": 1800, "issued_insts": 2e7, **POINT}
    given |= {"dram_reads": 3e4, "dram_writes": 2e4, "kernel_time": 1e-4, "core_clock": 1e9}
    ax = plots.transit(model="transit + transit_profiler", **given)
    x, y = line(ax, "measured")
    assert (x[0], y[0]) == (pytest.approx(200), 0.5)
    assert "requests 100.0% of prediction" in title_text(ax)
    assert "PCT 200, RCT 200 Gop/s an SM, accuracy 100.0%" in title_text(ax)


def test_a_table_of_counters_is_a_transit_figure_for_each_kernel() -> None:
    """Figs. 18-19: a star for each kernel, and the mean accuracy over all."""
    rows = {"kernel": ["short", "full"], "occupancy": [0.5, 1.0], "issued_insts": [2e6, 9e6]}
    rows |= {"dram_reads": [6e4, 1e3], "dram_writes": [2e4, 1e3], "kernel_time": [2e-4, 3e-4]}
    first = plots.kernels(rows, machine="c2075")
    figure: Any = first.figure
    given = {name: column for name, column in rows.items() if name != "kernel"}
    ds = dse.evaluate(
        "transit + transit_profiler",
        machine="c2075",
        outputs=["threads_in_ms", "measured_ms_throughput", "prediction_accuracy"],
        **given,
    )
    for k, (ax, name) in enumerate(zip(figure.axes, rows["kernel"], strict=True)):
        assert title_text(ax).startswith(f"{name}: ")
        x, y = line(ax, "measured")
        assert (x[0], y[0]) == (ds.threads_in_ms.values[k], ds.measured_ms_throughput.values[k])
    assert figure.get_suptitle().endswith(f"mean {float(ds.prediction_accuracy.mean()):.1%}")
    with pytest.raises(dse.DseError, match="17 kernels: expected 1 to 16 rows"):
        plots.kernels({"occupancy": [0.5] * 17})
    with pytest.raises(dse.DseError, match="the column 'occupanc' is no quantity"):
        plots.kernels({"occupanc": [0.5]})


# --- threads and blocks
def test_zigzag_is_least_where_passes_are_full() -> None:
    given: dict[str, Any] = {"model": "tmm", "machine": "gtx480", "outputs": ["sched_factor"]}
    study = dse.Study(axes={"blocks": range(1, 151)}, set={"active_blocks_per_sm": 1}, **given)
    x, y = line(plots.zigzag(study), "all passes")
    assert y.tolist() == study.run().sched_factor.values.tolist()
    assert x[y == 1].tolist() == list(range(15, 151, 15))  # Fig. 1


def test_a_spike_of_the_first_pass_leaves_room_for_all_others() -> None:
    ax = plots.zigzag(dse.Study.from_toml(EXAMPLES / "zigzag.toml"))
    later = max(line(ax, "4")[1][60:].max(), line(ax, "1")[1][15:].max())
    assert later < ax.get_ylim()[1] < 1.2 * later < 3
    assert ax.get_title() == "above the figure: up to 60 before the first pass is full"


def runs() -> Any:
    axes = {"tile_dim": [16, 32, 64], "threads_per_core": [1, 2, 4, 8, 16, 32]}
    entries: dict[str, Any] = {"machine": "gtx480", "workload": "apsp", "outputs": ["time"]}
    return dse.Study(model="apsp + tmm_calibrated", axes=axes, **entries)


def test_runtime_lies_on_one_line_then_level() -> None:
    ds = dse.Study(**{**vars_of(runs()), "outputs": ["time", "root_blocks_per_thread"]}).run()
    ax = plots.runtime(runs())
    x, y = line(ax, "32")
    assert y.tolist() == ds.time.sel(tile_dim=32).values.tolist()
    assert x.tolist() == ds.root_blocks_per_thread.sel(tile_dim=32).values.tolist()
    x, y = line(ax, "latency not hidden")
    slope, offset = np.polyfit(x, y, 1)
    assert (slope, offset) == (pytest.approx(0.957), pytest.approx(53.9))  # Eq. 15


def test_runtime_over_threads_and_blocks() -> None:
    x, y = line(plots.runtime(runs(), x="threads_per_core"), "64")
    assert x.tolist() == [1, 2, 4, 8, 16, 32]
    assert y[3:] == pytest.approx(y[-1])  # S_D = 64 flattens at 8 threads a core
    assert y[2] > 1.05 * y[3]
    x, y = line(plots.runtime(runs(), x="blocks"), "16")
    assert x.tolist() == [(8192 / s) ** 2 for s in (16, 32, 64)]


def test_mwp_is_the_smallest_of_its_terms() -> None:
    given: dict[str, Any] = {"machine": "8800gt", "workload": "mb4_c", "outputs": ["mwp"]}
    axes = {"warps_per_sm": range(1, 25)}
    study = dse.Study(model="mwp_cwp", axes=axes, set={"threads_per_block": 32}, **given)
    ax = plots.mwp(study)
    assert len(ax.get_lines()) == 4
    drawn = [np.broadcast_to(x.get_ydata(), 24) for x in ax.get_lines()]  # type: ignore[arg-type]
    assert np.array_equal(np.min(drawn[:3], axis=0), drawn[3])
    assert drawn[3].max() == pytest.approx(9.086, abs=5e-4)  # Fig. 22: up to 9
    assert plots.mwp(study.run(), quantity="mwp").get_lines()[0].get_ydata()[-1] == drawn[3][-1]  # type: ignore[index]


def test_mwp_of_labels_is_bars() -> None:
    given: dict[str, Any] = {"set": {"warps_per_sm": 48}, "outputs": ["mwp"]}
    axes = {"workload": ["cmem", "dmadd"]}
    ax = plots.mwp(dse.Study(model="throughput", machine="gtx580", axes=axes, **given))
    assert ax.get_lines()[:] == []
    app = [patch.get_width() for patch in ax.containers[0]]  # type: ignore[attr-defined]
    assert app[1] == 96  # 48 warps of two requests each
    assert len(ax.containers) == 4  # no departure delay is published: it never limits


# --- energy
def test_sms_are_shares_of_the_largest() -> None:
    study = energy()
    ax = plots.sms(study, at={"core_clock": "1.3 GHz"})
    ds = dse.Study(**{**vars_of(study), "outputs": ["insts_per_second", "power"]}).run()
    power = ds.power.sel(core_clock=1.3e9).values
    _, y = line(ax, "power of the machine")
    assert y.tolist() == (power / power.max()).tolist()
    with pytest.raises(dse.DseError, match="fix all axes but active_sms with at="):
        plots.sms(study)


def test_sms_that_the_equations_tell_where_the_model_yields_them() -> None:
    texts = line(plots.sms(energy(axes={"active_sms": range(1, 31)})), "by the equation: ")[0]
    ds = energy(outputs=["optimal_sms"], axes={}).run()
    assert texts.tolist() == [float(ds.optimal_sms)] * 2
    given: dict[str, Any] = {"machine": "gtx580", "workload": "dmadd"}
    given |= {"axes": {"active_sms": range(1, 17)}, "set": {"threads_per_block": 192}}
    study = dse.Study(model="occupancy + throughput + power", **given)
    ax = plots.sms(study, quantity="flops")
    result = dse.Study(**{**vars_of(study), "outputs": ["suggested_sms"]}).run().suggested_sms
    assert result.values[-1] == 3
    assert line(ax, "by the bandwidth: 3")[0].tolist() == [3, 3]
    assert not [x for x in ax.get_lines() if str(x.get_label()).startswith("by the equation")]


def test_the_shares_of_the_power_are_the_power() -> None:
    study = energy(workload=None, axes={"workload": MERGE})
    ax = plots.power_shares(study)
    widths = [[bar.get_width() for bar in each] for each in ax.containers]  # type: ignore[attr-defined]
    power = dse.Study(**{**vars_of(study), "outputs": ["power"]}).run().power.values
    assert np.sum(widths, axis=0) == pytest.approx(power, rel=1e-12)
    parts = dse.model("power").yields
    known = set(KINDS["power-shares"].row["series"])
    assert known <= set(parts)
    assert known <= set(PART_STYLES)
    unit = {name.replace("_unit_power", "_power") for name in parts if name.endswith("_unit_power")}
    assert unit <= known


def test_areas_where_the_axis_is_of_numbers() -> None:
    ax = plots.power_shares(energy(), at={"core_clock": "1.3 GHz"})
    top = max(area.get_paths()[0].vertices[:, 1].max() for area in ax.collections)  # type: ignore[union-attr]
    assert top == pytest.approx(float(energy(outputs=["power"]).run().power.max()))


def test_cooling_begins_where_heating_ends() -> None:
    axes = {"active_sms": [1, 30], "elapsed": range(0, 61, 10)}
    study = energy(model="ipp + temperature", axes=axes, outputs=["temperature"])
    ax = plots.temperature(study)
    x, y = line(ax, "30")
    heated = study.run().temperature.sel(active_sms=30).values
    assert y[:7].tolist() == heated.tolist()
    assert (x[6], x[7], y[7]) == (60, 60, y[6])
    assert y[7:] == pytest.approx(57 + (heated[-1] - 57) * np.exp(-np.arange(0, 61, 10) / 60))
    with pytest.raises(dse.DseError, match="expected a Study"):
        plots.temperature(study.run())  # type: ignore[arg-type]


def test_levels_go_down() -> None:
    given: dict[str, Any] = {"set": {"warps_per_sm": 48}, "outputs": ["flops"]}
    axes = {"workload": ["cmem", "madd"]}
    study = dse.Study(model="throughput", machine="gtx580", axes=axes, **given)
    bars = [each for each in plots.levels(study).containers if hasattr(each, "patches")]
    drawn = np.array([[bar.get_width() for bar in each] for each in bars])
    assert (np.diff(drawn, axis=0) <= 0).all()
    assert drawn[-1].tolist() == study.run().flops.values.tolist()


def test_bars_are_quantities_of_labels() -> None:
    given = {"workload": None, "axes": {"workload": MERGE[:3], "machine": ["8800gt", "gtx280"]}}
    study = energy(model="occupancy + mwp_cwp", machine=None, outputs=["mwp", "cwp"], **given)
    ds = study.run()
    ax = plots.bars(study, "mwp", over="workload")
    drawn = [[bar.get_width() for bar in each] for each in ax.containers]  # type: ignore[attr-defined]
    assert drawn == ds.mwp.transpose("machine", "workload").values.tolist()
    ax = plots.bars(ds, ["mwp", "cwp"], at={"machine": "gtx280"})
    drawn = [[bar.get_width() for bar in each] for each in ax.containers]  # type: ignore[attr-defined]
    assert drawn == [ds[name].sel(machine="gtx280").values.tolist() for name in ("mwp", "cwp")]
    ax = plots.bars(ds, ["mwp", "cwp"], at={"machine": "gtx280"}, relative=True)
    shares = np.array([[bar.get_width() for bar in each] for each in ax.containers])  # type: ignore[attr-defined]
    assert shares == pytest.approx(np.array(drawn) / np.max(drawn, axis=0))
    with pytest.raises(dse.DseError, match="several quantities over one axis, or one over two"):
        plots.bars(ds, ["mwp", "cwp"])


def test_a_statistic_is_drawn_where_any_point_of_its_axes_is_feasible() -> None:
    text = "best_low(time, active_sms)"  # infeasible at the middle of active_sms
    axes = {"workload": ["svm", "sepia"], "active_sms": range(1, 31)}
    study = energy(workload=None, axes=axes, where=["active_sms <= 3"])
    options = complete_options(KINDS["bars"], {"quantity": [text]}, study)
    assert "at" not in options
    (bars,) = plots.bars(study, **options).containers
    least = study.run().time.sel(active_sms=range(1, 4)).min("active_sms")
    assert [bar.get_width() for bar in bars] == pytest.approx(least.values)  # type: ignore[attr-defined]
    label = plots.bars(study, **options).get_xlabel()
    assert label == "least value of run time over active_sms [s]"
    with pytest.raises(dse.DseError, match="does not vary over active_sms: leave active_sms out"):
        plots.bars(study, text, at={"active_sms": 20})


def test_a_front_of_all_configurations_hides_no_points() -> None:
    ds = xr.Dataset({"time": ("n", [5e-4, 5e-3, 8e-2], {"units": "s"})}, {"n": [1.0, 2.0, 3.0]})
    ds["power"] = ("n", [300.0, 200.0, 100.0], {"units": "W"})
    ax = plots.pareto(ds, minimize=["time", "power"])
    (front,) = ax.get_lines()
    assert front.get_label() == "Pareto front: all 3 configurations"
    ax.figure.draw_without_rendering()
    assert "5 ms" in [label.get_text() for label in ax.get_xticklabels()]
    assert ax.get_xlabel() == "time"
    ds.power[1] = 400.0
    others, front = plots.pareto(ds, minimize=["time", "power"]).get_lines()
    assert others.get_label() == "3 configurations"
    assert front.get_label() == "Pareto front: 2 of them"
    title = plots.pareto(energy(), minimize=["time", "power"]).get_title()
    assert title == "gtx280, svm: better towards the lower left"


def test_bars_over_many_decades_are_logarithmic_and_missing_ones_are_named() -> None:
    kernels, machines = [f"k{number}" for number in range(10)], ["one", "two", "three"]
    times = np.geomspace(1e-6, 2e-3, 30).reshape(3, 10)
    times[1, 3], times[2] = np.nan, np.nan
    coords = {"machine": machines, "kernel": kernels}
    ds = xr.Dataset({"time": (("machine", "kernel"), times, {"units": "s"})}, coords)
    ds["feasible"] = ds.time.notnull()
    ax = plots.bars(ds, "time")
    assert ax.get_xscale() == "log"
    notes = [(text.get_text(), round(float(text.get_position()[1]), 3)) for text in ax.texts]
    places = [round(1 + (3 - 4.5) * 0.08, 3), 2.0]
    assert sorted(notes) == [("not feasible", place) for place in places]
    assert len({bars[0].get_facecolor() for bars in ax.containers}) == 10  # type: ignore[index]
    ax = plots.bars(ds.where(ds.time < 5e-5), "time")
    assert ax.get_xscale() == "linear"
    ax = plots.bars(ds.drop_vars("feasible"), "time")
    assert {text.get_text() for text in ax.texts} == {"no value"}


def test_more_groups_of_bars_than_one_can_read_are_refused() -> None:
    given: dict[str, Any] = {"model": "throughput", "machine": "gtx580", "workload": "dmadd"}
    for many in (17, 48_000):
        study = dse.Study(axes={"warps_per_sm": range(1, many + 1)}, **given)
        with pytest.raises(dse.DseError, match=f"bars for {many:,} values of warps_per_sm are too"):
            plots.levels(study)
    ax = plots.levels(dse.Study(axes={"warps_per_sm": range(1, 17)}, **given))
    assert len(ax.get_yticks()) == 16


# --- sharing
def shares(**more: Any) -> Any:
    axes = {"benchmark_series": range(1, 17), "gpu_share": [k / 10 for k in range(11)]}
    return dse.Study(model="energy_speedup", machine="hong2012_node", **({"axes": axes} | more))


def test_sixteen_series() -> None:
    ax = plots.efficiency(shares())
    series = [x for x in ax.get_lines() if len(x.get_xdata()) == 11]  # type: ignore[arg-type]
    ds = shares().run()
    for k, drawn in enumerate(series, start=1):
        assert drawn.get_ydata() == pytest.approx(ds.speedup.sel(benchmark_series=k).values)
        assert drawn.get_xdata() == pytest.approx(ds.energy_efficiency.sel(benchmark_series=k))
    assert len({(x.get_color(), x.get_marker()) for x in series}) == 16
    assert len({x.get_marker() for x in series}) == 16  # in grey
    words = [text.get_text() for text in ax.figure.axes[-1].get_legend().get_texts()]  # type: ignore[union-attr]
    assert words == [str(k) for k in range(1, 17)]  # the series of Table 16


def test_a_dataset_of_series_is_drawn_with_a_line_each() -> None:
    result = shares(axes={"benchmark_series": [5, 9], "gpu_share": [0, 0.5, 1]}).run()
    legend = plots.efficiency(result).figure.axes[-1].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["5", "9"]


# --- any Dataset
def test_lines_upon_each_other_mark_other_places() -> None:
    axes = {"max_power_fp": ["1 W", "2 W"], "active_sms": range(1, 9)}
    study = energy(axes=axes, outputs=["time", "power"])
    for quantity, apart in (("time", False), ("power", True)):
        ds = study.run()
        result = ds.broadcast_like(ds[["max_power_fp"]]) if quantity == "time" else ds
        first, second = plots.lines(result, quantity, over="active_sms").get_lines()
        marked = [
            set(range(8)[line.get_markevery()[0] :: line.get_markevery()[1]])
            for line in (first, second)
        ]
        assert bool(marked[0] & marked[1]) is apart, quantity


def test_lines_relative_to_their_largest() -> None:
    study = energy(
        outputs=["time"], axes={"core_clock": ["1.0 GHz", "1.3 GHz"], "active_sms": [1, 2]}
    )
    ax = plots.lines(study, "time", over="active_sms", maximize="time", relative=True)
    ds = study.run()
    drawn = np.array([x.get_ydata() for x in ax.get_lines()[:2]])
    assert drawn == pytest.approx((ds.time / ds.time.max("active_sms")).values)
    assert ax.get_ylabel() == "run time, share of its largest"
    assert set(np.ravel(ax.get_lines()[2].get_ydata())) == {1.0}


def test_lines_relative_to_growth_show_what_each_step_adds_less_than_the_first() -> None:
    axes = {"active_sms": [1, 2, 16], "workload": ["cmem", "dmadd"]}
    given = {"warps_per_sm": 32, "saturation": "requests"}
    study = dse.Study(model="throughput", machine="gtx580", axes=axes, set=given)
    ax = plots.lines(study, "flops", over="active_sms", relative="growth")
    flops = study.run().flops.transpose("workload", "active_sms").values
    drawn = np.array([line.get_ydata() for line in ax.get_lines()])
    assert drawn == pytest.approx(flops / flops[:, :1] / 16)
    assert ax.get_ylabel().endswith("of 16 times its first")


def test_heat_map_holds_the_values_the_optimum_and_the_borders() -> None:
    study = energy(outputs=["energy"], where=["power <= 150 W"])
    ax = plots.heatmap(study, "energy", minimize="energy", where="active_sms >= 3")
    (mesh,) = (x for x in ax.collections if isinstance(x, QuadMesh))
    ds = dse.Study(**{**vars_of(study), "outputs": ["energy", "power"]}).run()
    mask = ((ds.power <= 150) & (ds.active_sms >= 3)).transpose("core_clock", "active_sms").values
    drawn = np.ma.filled(mesh.get_array().reshape(2, 30), np.nan)  # type: ignore[union-attr]
    values = ds.energy.transpose("core_clock", "active_sms").values
    assert np.array_equal(drawn, np.where(mask, values, np.nan), equal_nan=True)
    best = dse.best_config(dse.optimum(ds, minimize="energy", where="active_sms >= 3"))
    x, y = line(ax, "minimum of energy")
    assert (x[0], y[0]) == (best["active_sms"], best["core_clock"])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["minimum of energy", "power <= 150 W", "active_sms >= 3", "not feasible"]


def test_maps_take_two_axes() -> None:
    study = energy(workload=None, axes={"workload": MERGE, **energy().axes})
    with pytest.raises(dse.DseError, match="a map has two axes"):
        plots.heatmap(study, "power")
    ax = plots.heatmap(study, "power", over="workload", by="active_sms", at={"core_clock": 1.3e9})
    assert [text.get_text() for text in ax.get_xticklabels()] == MERGE
    with pytest.raises(dse.DseError, match="no finite value where all constraints hold"):
        plots.heatmap(energy(), "power", where="power <= 1 W")


def test_cells_without_a_number_are_told_apart() -> None:
    ds = energy(outputs=["energy"]).run().transpose("core_clock", "active_sms")
    assert plots.heatmap(ds, "energy").get_legend() is None
    values = ds.energy.values.copy()
    values[0, :4], values[1, :3] = np.nan, np.inf
    ax = plots.heatmap(ds.assign(energy=ds.energy.copy(data=values)), "energy")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["no value", "infinite"]
    cells = [np.ma.count(x.get_array()) for x in ax.collections if isinstance(x, QuadMesh)]
    assert cells == [53, 4, 3]


def test_values_that_lie_apart_by_a_factor_are_drawn_so() -> None:
    axes = {"threads": [1, 10, 100, 1000, 10_000], "intensity": [1, 2, 4, 8, 16]}
    study = dse.Study(model="transit", axes=axes, set=POINT, outputs=["cs_throughput"])
    ax = plots.heatmap(study, "cs_throughput")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == pytest.approx((2**-0.5, 2**4.5))
    (mesh,) = (x for x in ax.collections if isinstance(x, QuadMesh))
    assert isinstance(mesh.norm, LogNorm)
    ax = plots.lines(study, "cs_throughput", over="threads")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    ax = plots.heatmap(energy(), "power")
    (mesh,) = (x for x in ax.collections if isinstance(x, QuadMesh))
    assert (ax.get_xscale(), type(mesh.norm)) == ("linear", Normalize)


@pytest.mark.parametrize(
    "ends", [(1e-300, 1e300), (1e-5, 1e300), (1e-300, 1e-290), (-1e300, 1e300)]
)
def test_values_near_the_ends_of_doubles_are_drawn(ends: tuple[float, float]) -> None:
    ds = energy(outputs=["energy"]).run()
    values = np.full(ds.energy.shape, ends[0])
    values[0, 0] = ends[1]
    ax = plots.heatmap(ds.assign(energy=ds.energy.copy(data=values)), "energy")
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]


@given(
    first=st.floats(1e-6, 1e6),
    step=st.floats(1e-3, 1e3),
    factor=st.floats(1.5, 100),
    many=st.integers(4, 9),
)
def test_steps_are_no_factors(first: float, step: float, factor: float, many: int) -> None:
    places = np.arange(many)
    assert is_geometric(first * factor**places) == (factor ** (many - 1) >= 4)
    assert not is_geometric(first + step * places)
    assert not is_geometric(-first * factor**places)


def test_categories_are_looks_of_the_table() -> None:
    axes = {"threads": range(50, 2001, 50), "intensity": range(20, 801, 20)}
    study = dse.Study(model="transit", axes=axes, set=POINT)
    ax = plots.categories(study, quantity="bound")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["0: thread", "1: memory", "2: computation", "3: capacity"]
    for handle, name in zip(ax.get_legend().get_patches(), texts, strict=True):  # type: ignore[union-attr]
        assert to_hex(handle.get_facecolor()) == style_of(name.split(": ")[1]).color
        assert handle.get_hatch() == style_of(name.split(": ")[1]).hatch
    bound = study.run().bound.values
    cells = [np.ma.count(x.get_array()) for x in ax.collections if isinstance(x, QuadMesh)]
    assert cells == [int((bound == flag).sum()) for flag in range(4)]
    with pytest.raises(dse.DseError, match="has no categories"):
        plots.categories(study, quantity="ms_throughput")


def test_lines_and_their_best() -> None:
    study = energy(workload=None, axes={"workload": MERGE, "active_sms": range(1, 31)})
    ax = plots.lines(study, "energy", minimize="energy")
    ds = dse.Study(**{**vars_of(study), "outputs": ["energy"]}).run()
    for name in MERGE:
        assert line(ax, name)[1].tolist() == ds.energy.sel(workload=name).values.tolist()
    assert line(ax, "best of each line")[1].tolist() == ds.energy.min("active_sms").values.tolist()
    best = dse.optimum(ds, minimize="energy")
    (text,) = (x.get_label() for x in ax.get_lines() if "minimum of" in str(x.get_label()))
    energies = value_text(float(best.energy), "J")
    assert text == f"minimum of energy:\n{energies} at {int(best.active_sms)}"
    assert [each.tolist() for each in line(ax, text.replace("\n", " "))] == [
        [int(best.active_sms)],
        [float(best.energy)],
    ]
    turned = {**vars_of(study), "axes": {"workload": MERGE, "active_sms": [30, 1, 15]}}
    assert line(plots.lines(dse.Study(**turned), "energy"), "svm")[0].tolist() == [1, 15, 30]
    colors = {x.get_label(): x.get_color() for x in ax.get_lines()}
    again = plots.lines(study, "time")
    assert colors["svm"] == line_color(again, "svm") == STYLES["memory"].color
    with pytest.raises(dse.DseError, match=r"too many .* or a longer axis with over= \(--ov"):
        plots.lines(energy(outputs=["time"]), "time", over="core_clock")
    swapped = energy(axes={"active_sms": range(1, 31), "core_clock": ["1.0 GHz", "1.3 GHz"]})
    ax = plots.lines(swapped, "time")  # over the axis with most values, in any order of the axes
    assert [len(each.get_xdata()) for each in ax.get_lines()] == [30, 30]


def test_a_sampled_curve_has_no_sparse_marks() -> None:
    """Marks at every fourth point of a period of four would lie on a smooth line."""
    few, many = (energy(axes={"active_sms": range(1, n)}) for n in (25, 31))
    assert [each.get_marker() for each in plots.lines(many, "time").get_lines()] == [""]
    marked = plots.lines(few, "time").get_lines()[0]
    assert marked.get_marker() != ""
    assert marked.get_markevery() in (1, (0, 1))


def test_the_title_of_a_legend_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"product_columns": [1024, 2048, 4096], "gemm_wave_overlap": [0, 1]}
    given = {"product_rows": 4096, "product_depth": 4096, "dtype": "bf16"}
    study = dse.Study(model="gemm", machine="h100_sxm", axes=axes, set=given)
    legend = plots.lines(study, "gemm_flops").get_legend()
    words = "share of the wait for the last\nwave filled by other work"
    assert legend.get_title().get_text() == words
    monkeypatch.setattr("dse.plots.data._MAX_HEADING", len(words) - 1)
    legend = plots.lines(study, "gemm_flops").get_legend()
    assert legend.get_title().get_text() == "gemm_wave_overlap"


def test_regimes_draw_the_case_that_is_named() -> None:
    axes = {"threads_per_block": range(32, 513, 32), "mem_bandwidth": [5e10, 1e11, 2e11]}
    study = dse.Study(
        model="occupancy + mwp_cwp", machine="gtx280", workload="svm", axes=axes,
        set={"core_clock": "1.3 GHz"},
    )  # fmt: skip
    for named in ({}, {"quantity": "case"}):  # limiter, the first output, varies over threads alone
        ax = plots.regimes(study, **named)
        title = ax.get_title()
        assert title.splitlines()[0].startswith("case of the workload")
        for part in ("occupancy + mwp_cwp", "svm", "gtx280", "core_clock = 1.3 GHz"):
            assert part in title.replace("\n", " ")
        (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
        (border,) = (c for c in ax.collections if hasattr(c, "get_segments"))
        ends = np.concatenate(border.get_segments())
        assert ends[:, 1].min() == pytest.approx(y0)
        assert ends[:, 1].max() == pytest.approx(y1)
        assert ends[:, 0].max() == pytest.approx(x1)
        assert ends[:, 0].min() > x0
    with pytest.raises(
        dse.DseError, match=r"limiter varies over threads_per_block, and a map .*--q"
    ):
        plots.regimes(study, quantity="limiter")
    with pytest.raises(dse.DseError, match="time has no categories; quantities with some: case"):
        plots.regimes(study, quantity="time")


def test_lines_of_cases_are_steps_between_names() -> None:
    axes = {"workload": ["svm", "linear"], "threads_per_block": range(32, 513, 32)}
    study = dse.Study(model="occupancy + mwp_cwp", machine="gtx280", axes=axes)
    ax = plots.lines(study, "case")
    assert ax.get_yticks().tolist() == [1, 2, 3]
    texts = ["1: not enough warps", "2: memory bound", "3: computation bound"]
    assert [text.get_text() for text in ax.get_yticklabels()] == texts
    assert {x.get_drawstyle() for x in ax.get_lines()} == {"steps-mid"}


def test_cases_that_mean_other_things_to_each_model_are_drawn_of_one() -> None:
    axes = {"threads": range(100, 1001, 100), "intensity": [10, 100, 400]}
    one = dse.Study(model="transit", axes=axes, set=POINT, outputs=["bound"]).run()
    both = xr.concat([one, one], xr.IndexVariable("model", ["a", "b"]))
    both["bound"].attrs.pop("flag_values")
    both["bound"].attrs.pop("flag_meanings")
    both["bound"].attrs["flag_values_by_model"] = '{"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}'
    flags = '{"a": "thread memory computation capacity", "b": "a b c d"}'
    both["bound"].attrs["flag_meanings_by_model"] = flags
    with pytest.raises(dse.DseError, match="have different meanings in the models: choose one"):
        plots.categories(both, quantity="bound", over="threads", by="intensity")
    ax = plots.categories(both, quantity="bound", at={"model": "a"})
    texts = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["0: thread", "1: memory", "2: computation"]


def line_color(ax: Axes, name: str) -> Any:
    return next(x.get_color() for x in ax.get_lines() if x.get_label() == name)


def test_points_that_are_not_feasible_are_not_drawn() -> None:
    study = energy(outputs=["time", "power"], where="power <= 120 W")
    ax = plots.lines(study.run(), "power", at={"core_clock": "1.3 GHz"})
    drawn = np.asarray(ax.get_lines()[0].get_ydata())
    assert np.nanmax(drawn) <= 120 < study.run().power.max()


def test_the_front_is_that_of_the_study() -> None:
    study = energy(outputs=["time", "power"])
    ax = plots.pareto(study, minimize=["time", "power"], where="active_sms >= 2")
    result = study.pareto(minimize=["time", "power"], where="active_sms >= 2").sortby("time")
    x, y = line(ax, "Pareto front")
    assert x.tolist() == result.time.values.tolist()
    assert y.tolist() == result.power.values.tolist()
    assert ax.get_yscale() == "linear"
    cover = plots.pareto(study, minimize="time", maximize="power", epsilon=0.05)
    front = study.pareto(minimize="time", maximize="power", epsilon=0.05)
    x, y = line(cover, "cover of the Pareto front within 5 %")
    assert sorted(y.tolist()) == sorted(front.power.values.tolist())
    low, high = line(cover, "no configuration is better")
    assert low == pytest.approx(x / 1.05, rel=1e-9)
    assert high == pytest.approx(y * (1 + 0.05 / 1.05), rel=1e-9)
    run = study.run()
    for time, power in zip(run.time.values.ravel(), run.power.values.ravel(), strict=True):
        assert np.any((low <= time) & (high >= power))
    with pytest.raises(dse.DseError, match="a Pareto front needs two goals, not time"):
        plots.pareto(study, minimize="time")
    with pytest.raises(dse.DseError, match="bound others by --where; dse pareto --epsilon lists"):
        plots.pareto(study, minimize=["time", "power", "active_sms"])


def test_of_a_large_study_only_the_front_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    study = energy(outputs=["time", "power"])
    at: dict[str, Any] = {"core_clock": "1.3 GHz"}
    small = plots.pareto(study, minimize=["time", "power"], at=at)
    monkeypatch.setattr("dse.plots.pareto_plots._MAX_RUN", study.grid().points - 1)
    monkeypatch.setattr("dse.plots.data.run", None)
    large = plots.pareto(study, minimize=["time", "power"], at=at)
    for ours, theirs in zip(line(large, "Pareto front"), line(small, "Pareto front"), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert len(large.get_lines()) == 1  # only the front
    text = f"Pareto front: {line(large, 'Pareto front')[0].size} of {study.grid().points:,} conf"
    assert line(large, text)[0].size
    whole = plots.pareto(study, minimize=["time * 2", "power"], at=at)
    twice, power = line(whole, "Pareto front")
    assert (twice / 2).tolist() == line(large, "Pareto front")[0].tolist()
    assert power.tolist() == line(large, "Pareto front")[1].tolist()


SUITE_AXES: dict[str, Any] = {
    "machine": ["gtx280", "8800gtx"],
    "workload": ["svm", "sepia", "nmat"],
    "threads_per_block": [64, 128, 256],
}


def test_a_front_shows_which_point_is_which_machine() -> None:
    study = dse.Study(model="occupancy + mwp_cwp", axes=SUITE_AXES, outputs=["time", "occupancy"])
    where = "workload != 'nmat'"
    goals: dict[str, Any] = {"minimize": "time * occupancy", "maximize": "occupancy"}
    ax = plots.pareto(study, **goals, where=where)
    ds = study.run()
    product = (ds.time * ds.occupancy).broadcast_like(ds.feasible).where(ds.feasible)
    for machine in SUITE_AXES["machine"]:
        x, y = line(ax, machine)
        own = product.sel(machine=machine, workload=["svm", "sepia"]).values.ravel()
        assert sorted(x.tolist()) == sorted(own[np.isfinite(own)].tolist())
        assert (y <= 1).all()
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == f"{len(x) + len(line(ax, 'gtx280')[0])} configurations"
    front = study.pareto(**goals, where=where)
    front_x, front_y = line(ax, "Pareto front")
    order = np.argsort((front.time * front.occupancy).values)
    assert front_x == pytest.approx((front.time * front.occupancy).values[order])
    assert front_y == pytest.approx(front.occupancy.values[order])
    names = {text.get_text() for text in ax.texts}
    assert names == {*front.workload.values.tolist()}
    markers = {x.get_marker() for x in ax.get_lines() if x.get_label() in SUITE_AXES["machine"]}
    assert len(markers) == 2  # also distinct in grey


def test_long_names_and_regrets_of_chances_fit_into_the_figure(tmp_path: Path) -> None:
    text = Path("examples/kernels/triad.toml").read_text(encoding="utf-8")
    files = [tmp_path / name / "triad.toml" for name in ("first", "second")]
    for path in files:
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    axes: dict[str, Any] = {"machine": ["l40s", "rtx3090", "v100_sxm2"]}
    axes |= {"workload": [str(path) for path in files], "threads_per_block": [128, 256]}
    model, random = "occupancy + latency_roofline + footprint", {"assumed": True, "draws": 64}
    study = dse.Study(model=model, axes=axes, outputs=["time"], random=random)
    ax = plots.chances(study, minimize="time")
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    names = [label.get_window_extent() for label in ax.get_yticklabels()]
    regrets = [text.get_window_extent() for text in ax.texts]
    assert max(len(label.get_text()) for label in ax.get_yticklabels()) > 40
    assert min(box.x0 for box in names) >= 0
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in itertools.pairwise(names))
    assert max(box.x1 for box in regrets) <= ax.bbox.x1
    assert all(re.search("regret .*s$|never the best", text.get_text()) for text in ax.texts)


def test_an_option_that_is_never_the_best_is_among_the_chances() -> None:
    axes: dict[str, Any] = {"machine": ["8800gtx", "gtx280"], "threads_per_block": [64, 128]}
    random = {"mem_latency_dram": "normal: 450 cycles, 1 %", "draws": 16}
    about: dict[str, Any] = {"model": "occupancy + mwp_cwp", "workload": "svm"}
    study = dse.Study(**about, axes=axes, outputs=["time"], random=random)
    ax = plots.chances(study, minimize="best(time, threads_per_block)")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(names) == axes["machine"]
    assert [bar.get_width() for bar in ax.patches] == [1, 0]
    assert [text.get_text().split()[0] for text in ax.texts] == ["regret", "never"]
    assert max(ax.get_xticks()) <= 1


def test_a_large_front_counts_the_designs_and_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The axis of a mean is no axis of the designs, and many markers would hide the line."""
    axes: dict[str, Any] = {**SUITE_AXES, "n_sms": range(1, 91), "core_clock": ["1 GHz", "2 GHz"]}
    study = dse.Study(model="occupancy + mwp_cwp", axes=axes, set={"active_sms": "n_sms"})
    goals = ["geomean(time, workload)", "n_sms * core_clock"]
    monkeypatch.setattr("dse.plots.pareto_plots._MAX_RUN", 100)
    ax = plots.pareto(study, minimize=goals, at={"machine": "gtx280"})
    assert f"of {2 * 3 * 90 * 2:,} configurations" in str(ax.get_lines()[0].get_label())
    x, _ = line(ax, "Pareto front")
    assert x.size > 60
    assert ax.get_lines()[0].get_marker() == ""
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert "geometric mean of run time over workload" in " ".join(ax.get_xlabel().split())
    assert ax.get_ylabel() == "n_sms * core_clock [1/s]"
    figure, legend = ax.get_figure(root=True), ax.get_legend()
    assert figure is not None
    assert legend is not None
    figure.draw_without_rendering()
    assert legend.get_window_extent().y1 <= ax.bbox.y0


def test_a_front_of_statistics_has_a_point_for_each_choice() -> None:
    study = dse.Study(model="occupancy + mwp_cwp", axes=SUITE_AXES, outputs=["time", "occupancy"])
    goals = ["geomean(time, workload)", "mean(occupancy, workload)"]
    ax = plots.pareto(study, minimize=goals)
    assert sum(line(ax, machine)[0].size for machine in SUITE_AXES["machine"]) <= 6
    assert not [text for text in ax.texts if text.get_text()]


def test_a_comparison_has_a_line_each() -> None:
    both = energy(
        model=["ipp", "occupancy + mwp_cwp"], outputs=["time"], axes={"active_sms": [1, 2]}
    )
    legend = plots.lines(both, "time").get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["ipp", "occupancy + mwp_cwp"]


# --- all
FIGURES = [name for name in plots.__all__ if not name.endswith("_figure")]


def test_what_a_figure_lacks_is_named() -> None:
    ds = energy(outputs=["time"]).run()
    with pytest.raises(dse.DseError, match="the figure needs energy, which the Dataset lacks"):
        plots.lines(ds, "energy")
    with pytest.raises(dse.DseError, match=r"'core_clok' is no axis .* did you mean 'core_clock'"):
        plots.lines(ds, "time", at={"core_clok": 1})
    with pytest.raises(dse.DseError, match="over = 'active': time varies over"):
        plots.lines(ds, "time", over="active")
    with pytest.raises(dse.DseError, match="3 cannot be drawn: expected a Study"):
        plots.lines(3, "time")  # type: ignore[arg-type]


def test_without_a_number_nothing_is_drawn() -> None:
    ds = energy(outputs=["time"], axes={"active_sms": range(1, 31)}).run()
    for source in (ds * np.nan, ds.where(ds.time < 0)):
        with pytest.raises(dse.DseError, match="time has no finite value where all constraints"):
            plots.lines(source, "time")
    with pytest.raises(dse.DseError, match="the Dataset has no values of active_sms"):
        plots.lines(ds.isel(active_sms=[]), "time")
    with pytest.raises(
        dse.DseError, match=r"^active_sms varies over active_sms, and a map has two"
    ):
        plots.heatmap(ds, "active_sms")
    with pytest.raises(dse.DseError, match=r"^time varies over no axis: give the study one"):
        plots.lines(ds, "time", at={"active_sms": 3})


def test_what_is_no_name_axis_or_axes_is_named() -> None:
    ds = energy(outputs=["time"]).run()
    for draw in (plots.lines, plots.heatmap):
        with pytest.raises(dse.DseError, match=r"\['time'\] is no quantity: expected one name"):
            draw(ds, ["time"])  # type: ignore[operator]
        with pytest.raises(dse.DseError, match="at = 3: expected a mapping from axes to values"):
            draw(ds, "time", at=3)  # type: ignore[operator]
        with pytest.raises(dse.DseError, match="ax = 3: expected an Axes"):
            draw(ds, "time", over="active_sms", ax=3)  # type: ignore[operator]
    with pytest.raises(dse.DseError, match="quantity = 3: expected text"):
        plots.mwp(ds, quantity=3)  # type: ignore[arg-type]
    with pytest.raises(dse.DseError, match="one configuration, but threads has several values"):
        plots.transit(machine="c2075", threads=[3, 4], intensity=4)
    with pytest.raises(dse.DseError, match="move = 3: expected the name of a quantity"):
        plots.transit(move=3, threads=450, intensity=200, **POINT)  # type: ignore[arg-type]


def test_numbers_that_cannot_be_drawn_are_named() -> None:
    for points in ([], [[1]], [[1, 2, "a", 3]]):
        with pytest.raises(dse.DseError, match=r"points = .*expected pairs of numbers"):
            plots.scatter(points=points, across="x", up="y")
    with pytest.raises(dse.DseError, match=r"warps = 0, .*expected at least one warp"):
        plots.timeline(warps=0, comp=1, memory=3)
    for work in ([], [0, 0], [3, -1]):
        with pytest.raises(dse.DseError, match=r"work = .*expected the iterations of each item"):
            plots.lockstep(work=work)


def test_each_figure_takes_an_axes_and_returns_it() -> None:
    for name in FIGURES:
        function = getattr(plots, name)
        assert inspect.signature(function).parameters["ax"].default is None
        assert function.__doc__, name
    ax = Figure().subplots()
    assert plots.lines(energy(outputs=["time"]), "time", over="active_sms", ax=ax) is ax
    assert plots.transit(threads=450, intensity=200, ax=ax, **POINT) is ax


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dse.plots.notebook_figure", raising=False)
    for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(dse.DseError, match=r"pip install matplotlib"):
        plots.transit(threads=450, intensity=200, **POINT)


# --- looks
def grey(color: str) -> float:
    """The lightness of a colour in print."""
    return float(np.dot(to_rgb(color), (0.2126, 0.7152, 0.0722)))


def style_groups() -> Iterator[list[Any]]:
    """Looks that stand in one figure."""
    for names in (
        ("memory", "computation", "threads", "capacity", "span"),
        ("departures", "memory", "threads", "application", "result"),
        ("performance", "power", "work per energy", "published"),
        ("peak", "no memory", "no ilp", "performance"),
        [name for name in STYLES if any(word in name for word in ("warps", "saturated", "enough"))],
    ):
        yield [STYLES[name] for name in names]
    for kind in ("power-shares", "lost"):
        yield [PART_STYLES[name] for name in KINDS[kind].row["series"]]
    for count in range(1, 17):
        yield distinct_styles([str(k) for k in range(count)])


def test_looks_differ_in_colour_and_without() -> None:
    for looks in style_groups():
        assert len({(x.color, x.line, x.marker, x.hatch) for x in looks}) == len(looks)
        for k, one in enumerate(looks):
            for other in looks[:k]:
                apart = abs(grey(one.color) - grey(other.color)) > 0.1
                line = (str(one.line), one.marker) != (str(other.line), other.marker)
                assert apart or line or one.hatch != other.hatch, (one, other)


LABELS = {
    eq.name: list(eq.flags.values())
    for model in iterate_models()
    for eq in model.equations
    if eq.flags and eq.name != "gemm_tile"  # 30 tiles, of which a figure shows a few
}


@pytest.mark.parametrize("model", [model.name for model in iterate_models()])
def test_every_label_of_the_shipped_models_has_a_look(model: str) -> None:
    for name in dict.fromkeys(eq.name for eq in dse.model(model).equations):
        words = LABELS.get(name, [])
        looks = distinct_styles(words)
        assert len({(look.color, look.hatch) for look in looks}) == len(words), words
        for word, look in zip(words, looks, strict=True):
            assert meaning_of(word) is not None, word
            assert look == style_of(word) == style_of(word.replace(" ", "_"))


@given(
    st.lists(st.sampled_from(sorted({w for words in LABELS.values() for w in words}))), st.data()
)
def test_a_label_has_one_look_whatever_stands_beside_it(words: list[str], data: Any) -> None:
    others = data.draw(st.lists(st.text("xyz", min_size=1, max_size=2), max_size=3))
    names = data.draw(st.permutations([*words, *others]))
    for name, look in zip(names, distinct_styles(names), strict=True):
        if name in words:
            assert look == style_of(name)
        elif len(words) == 1:
            assert look.color != style_of(words[0]).color


def test_the_same_case_is_the_same_colour_in_both_models() -> None:
    colors = {}
    for model in ("occupancy + mwp_cwp", "occupancy + transit + transit_time"):
        axes = {"workload": MERGE, "threads_per_block": range(32, 513, 32)}
        ax = plots.categories(dse.Study(model=model, machine="gtx280", axes=axes), quantity="case")
        legend = ax.get_legend()
        assert legend is not None
        for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True):
            color = to_hex(patch.get_facecolor())
            assert colors.setdefault(text.get_text(), color) == color
    assert colors["2: memory bound"] == STYLES["memory"].color
    assert colors["3: computation bound"] == STYLES["computation"].color


def test_what_looks_alike_means_the_same() -> None:
    for name, meaning in MEANINGS.items():
        assert meaning in STYLES
        assert name in TABLE or " " in name or any(name in words for words in LABELS.values())
    assert style_of("memory_bound") is style_of("memory") is style_of("mwp_peak_bw")
    assert meaning_of("tile_dim") is None
    assert (
        distinct_styles(["svm"])
        == distinct_styles(["svm", "linear"])[:1]
        == distinct_styles(["linear", "svm"])[1:]
    )
    apart = {look.color for look in distinct_styles(["1", "2", "3"], ["memory"])}
    assert STYLES["memory"].color not in apart
    assert len({str(look.line) for look in style_variants(STYLES["memory"], 4)}) == 4


def vars_of(study: Any) -> dict[str, Any]:
    """The arguments of a study."""
    names = ("model", "machine", "workload", "axes", "set", "where")
    return {name: getattr(study, name) for name in names}


# --- words, units and labelled bars
@pytest.mark.parametrize(("lanes", "lines"), [(32, 1), (2, 2)])
def test_a_law_is_named_and_marks_that_coincide_share_a_line(lanes: int, lines: int) -> None:
    """Mean loss 3.979 and slowdown 3.981 of 32 lanes are one line; those of 2 lanes are two."""
    law = imbalance(Pmf.parse("geometric:0.05"), lanes=lanes)
    ax = plots.law(distribution="geometric:0.05", lanes=lanes, groups=1000)
    assert ax.get_title() == f"Loss of geometric(0.05), {lanes} lanes"
    words = [text.get_text() for text in ax.get_legend().get_texts()]  # type: ignore[union-attr]
    assert "1,000 simulated groups,\n± 2 standard errors" in words
    marks = [f"mean loss {law.mean():.4g}", f"slowdown {float(law.slowdown()):.4g}"]
    marks = marks if lines == 2 else [" and ".join(marks)]
    assert [word for word in words if "loss" in word or "slowdown" in word] == marks
    upright = [line for line in ax.get_lines() if str(line.get_label()) in marks]
    assert (
        [line.get_xdata()[0] for line in upright]
        == pytest.approx(  # type: ignore[index]
            [float(law.mean()), float(law.slowdown())][:lines]
        )
    )
    # the bars are light, so that black points are visible in grey
    (points,) = ax.containers
    assert to_hex(points[0].get_color()) == "#000000"


def test_lines_name_the_machine_the_sizes_and_the_fixed_axes() -> None:
    study = dse.Study.from_toml(EXAMPLES / "skewed-experts.toml")
    ax = plots.lines(study, "time", over="tokens", at={"expert_parallel": 32})
    first, second = ax.get_title().split("\n")
    assert first == "moe, h100_sxm"
    assert re.fullmatch(r"expert_parallel = 32, hidden = 7168, .*, and \d more", second)
    many = energy(outputs=["time"], axes={"active_sms": range(1, 31)})
    assert title_text(plots.lines(many, "time")) == "ipp, svm, gtx280 threads_per_block = 256"
    own = xr.Dataset({"time": ("n", [1.0, 2.0], {"units": "s"})}, {"n": [1, 2]})
    assert plots.lines(own, "time").get_title() == ""


def test_a_tornado_has_a_labelled_bar_for_each_index() -> None:
    study = energy(axes={"active_sms": range(1, 9), "core_clock": ["1 GHz", "1.2 GHz"]})
    table = study.sensitivity("energy").sel(output="energy")
    ax = plots.tornado(study, "energy")
    right = ax.figure.axes[-1]
    order = ax.get_yticklabels()
    names = [text.get_text().partition("\n")[0] for text in order]
    assert [text.get_text() for text in right.get_legend().get_texts()] == [  # type: ignore[union-attr]
        "first-order: alone",
        "total: with interactions",
    ]
    for bars, index in zip(right.containers, ("first", "total"), strict=True):
        drawn = dict(zip(names, [bar.get_width() for bar in bars], strict=True))  # type: ignore[union-attr]
        for name, width in drawn.items():
            assert width == pytest.approx(100 * float(table[index].sel(axis=name)))
    assert [text.get_text() for text in right.texts] == [
        f"{bar.get_width():.0f} %"
        for bars in right.containers
        for bar in bars  # type: ignore[union-attr]
    ]
    assert "multiprocessors in use" in order[names.index("active_sms")].get_text()
    assert "variance [%]" in right.get_xlabel()


def test_axes_of_random_figures_have_words_and_units() -> None:
    study = energy(
        axes={"core_clock": ["1 GHz", "1.2 GHz", "1.3 GHz"]}, outputs=["time"],
        random={"mem_bandwidth": "normal: 140 GB/s, 5 %", "draws": 64},
    )  # fmt: skip
    ax = plots.fan(study, "time", over="core_clock")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("clock of the cores", "run time")
    assert ax.xaxis.get_major_formatter()(1.2e9) == "1.2 GHz"
    assert ax.yaxis.get_major_formatter()(2e-3) == "2 ms"
    assert plots.outcome(study, "time", at={"core_clock": 1.2e9}).get_xlabel() == "run time"


def test_the_best_lines_of_parallel_coordinates_differ_in_grey() -> None:
    study = energy(axes={"active_sms": range(1, 31), "core_clock": ["1 GHz", "1.2 GHz"]})
    rest, best = plots.parallel(study, quantity=["time"], minimize="energy").collections
    assert not rest.get_path_effects()
    assert best.get_path_effects()  # a white edge


def test_tails_have_a_colour_for_an_axis_and_dashes_for_another() -> None:
    study = dse.Study.from_toml("examples/launch-tail.toml")
    ax = plots.tail(study, at={"threads_per_block": 32})
    lines = [x for x in ax.get_lines() if not str(x.get_label()).startswith("1 %")][:3]
    assert len({x.get_color() for x in lines}) == 3
    lines = [x for x in plots.tail(study).get_lines() if " = " in str(x.get_label())]
    looks: Any = {str(x.get_label()): (x.get_color(), str(x._unscaled_dash_pattern)) for x in lines}
    assert len({*looks.values()}) == len(looks) == 15
    assert len({color for color, _ in looks.values()}) == 5
    assert len({dashes for _, dashes in looks.values()}) == 3


def test_ticks_share_one_prefix_on_a_linear_scale() -> None:
    clocks = energy(axes={"core_clock": {"start": "0.5 GHz", "stop": "1.9 GHz", "step": "0.1 GHz"}})
    ax = plots.lines(clocks, "time")
    ax.figure.draw_without_rendering()
    texts = [label.get_text() for label in ax.get_xticklabels()]
    assert texts
    assert all(text.endswith(" GHz") for text in texts)


def test_titles_name_the_kernel_and_keep_equations_together() -> None:
    path = EXAMPLES / "kernels" / "triad.toml"
    study = dse.Study(
        model="occupancy + latency_roofline + footprint", machine="h100_sxm", workload=str(path),
        axes={"core_clock": ["1 GHz", "1.5 GHz"], "mem_bandwidth": ["2 TB/s", "3 TB/s"]},
        set={"threads_per_block": 256}, outputs=["time"],
    )  # fmt: skip
    for ax in (plots.lines(study, "time"), plots.heatmap(study, "time", minimize="time")):
        assert "kernels.cu (triad), compiled for sm_80, h100_sxm" in title_text(ax)
        assert "threads_per_block = 256" in ax.get_title()  # on one line
    (star,) = (each for each in ax.get_lines() if each.get_label() == "minimum of time")
    assert not star.get_clip_on()


def test_colours_are_logarithmic_above_a_factor_of_ten() -> None:
    for most, kind in ((9.0, Normalize), (11.0, LogNorm)):
        ds = xr.Dataset({"time": (("a", "b"), [[1.0, 2.0], [3.0, most]])})
        ds = ds.assign_coords(a=[1, 2], b=[1, 2])
        (mesh,) = (each for each in plots.heatmap(ds, "time").collections)
        assert type(mesh.norm) is kind


def test_a_random_output_is_drawn_by_its_mean() -> None:
    study = energy(random={"mem_latency": "normal: 600 cycles, 10 %"}, outputs=["mean(time)"])
    ds = study.run()
    _, drawn = line(plots.lines(study, "time", over="active_sms"), "1 GHz")
    assert np.allclose(drawn, ds["mean(time)"].sel(core_clock=1e9))
