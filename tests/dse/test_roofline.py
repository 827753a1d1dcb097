"""Rooflines: roofs and kernels are quantities of models, in figures, on pages and from profiles."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from click.testing import Result
from matplotlib import style

import dse
from dse import DseError, plots
from dse.plots.kinds import KINDS
from dse.plots.roofline_plots import faults_of
from symbolic.library import load_model
from symbolic.models import _energy
from tests.browser import Browser, needs_chromium

Run = Callable[..., Result]

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels"
TRIAD, STENCIL = KERNELS / "triad.toml", KERNELS / "stencil.toml"
ROW = KINDS["roofline"].row
MODEL = "occupancy + latency_roofline + footprint + roofline"
PROFILE: Mapping[str, Any] = {
    "kernel": ["slow", "fast"],
    "time [s]": [1e-3, 1e-4],
    "work_flops": [1e9, 1e9],
    "dram_bytes [B]": [1e9, 1e9],
}


def lines_of(ax: Any) -> dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The lines and marks of a panel by their labels, before a colon or comma."""
    return {
        str(line.get_label()).partition(":")[0].partition(",")[0]: line.get_data()
        for line in ax.get_lines()
    }


@pytest.fixture(scope="module")
def analysis() -> Any:
    return dse.analyze(TRIAD, ["h100_sxm", "a100_80"], block=256, moves=False)


# --- the model
def test_a_triad_moves_three_numbers_for_a_multiply_add() -> None:
    """a[i] = b[i] + s * c[i]: two operations for 12 bytes, as counted by hand."""
    names = ["work_flops", "dram_bytes", "arithmetic_intensity", "l1_intensity", "attainable_flops"]
    ds = dse.evaluate(MODEL, machine="a100_80", workload=str(TRIAD), outputs=names)
    n = 16_777_216
    values = [float(ds[name]) for name in names]
    assert values == pytest.approx([2 * n, 12 * n, 1 / 6, 1 / 6, 2039e9 / 6])


@pytest.mark.parametrize("machine", ["a100_80", "h100_pcie", "h100_sxm", "l40", "mi210", "t4"])
def test_ceilings_at_the_boost_clock_are_the_printed_rates(machine: str) -> None:
    clock = float(dse.evaluate("roofline", machine=machine, outputs=["boost_clock"]).boost_clock)
    names = ["fp32_ceiling", "fp32_flops", "tensor_fp16_ceiling", "tensor_fp16_flops"]
    for share in (1.0, 0.5):
        ds = dse.evaluate("roofline", machine=machine, core_clock=share * clock, outputs=names)
        vector, printed, tensor, rate = (float(ds[name]) for name in names)
        assert vector == pytest.approx(share * printed, rel=0.01)
        assert tensor == pytest.approx(share * rate)


@pytest.mark.parametrize("workload", [TRIAD, STENCIL, KERNELS / "bodies.toml"], ids=str)
@pytest.mark.parametrize("machine", ["h100_sxm", "a100_80", "v100_sxm2", "l40", "rtx4090", "t4"])
def test_no_kernel_is_above_a_roof(machine: str, workload: Path) -> None:
    names = ["attained_flops", "attainable_flops"]
    ds = dse.evaluate(MODEL, machine=machine, workload=str(workload), outputs=names)
    assert 0 < ds.attained_flops <= ds.attainable_flops


# --- the figure
def test_roofs_and_kernels_are_quantities_of_the_models(analysis: Any) -> None:
    ax = plots.roofline(analysis)
    panels = ax.figure.axes
    assert [panel.get_title() for panel in panels] == ["h100_sxm", "a100_80"]
    for panel, answer in zip(panels, analysis.answers, strict=True):
        assert panel.get_xscale() == panel.get_yscale() == "log"
        assert answer.machine == panel.get_title()
        drawn = lines_of(panel)
        for level in ROW["levels"]:
            machine, name = answer.machine, level["bandwidth"]
            across, up = drawn[level["name"]]
            ds = dse.evaluate("roofline", machine=machine, outputs=[name])
            assert up / across == pytest.approx(float(ds[name]))
        values = answer.roofline
        kernel = next(key for key in drawn if "triad" in key)
        assert [float(each[0]) for each in drawn[kernel]] == pytest.approx(
            [values["arithmetic_intensity"], values["work_flops"] / answer.time]
        )
        (bar,) = [line.get_ydata() for line in panel.get_lines() if is_bar(line)]
        rates = [values["work_flops"] / time for time in (answer.time_high, answer.time_low)]
        assert bar == pytest.approx(np.minimum(rates, values["attainable_flops"]))


def test_four_machines_are_drawn_in_two_rows() -> None:
    for count, (wide, high) in {3: (3, 1), 4: (2, 2), 5: (3, 2)}.items():
        machines = ["a100_80", "h100_sxm", "l40s", "b200", "v100_sxm2"][:count]
        figure = plots.roofline([], machines=machines).figure
        assert [panel.get_title() for panel in figure.axes] == machines
        sizes = figure.get_size_inches()  # type: ignore[union-attr]
        assert sizes.tolist() == pytest.approx([7.4 * wide, 4.8 * high])


def test_panels_of_a_slide_are_below_each_other(analysis: Any) -> None:
    """Side by side, a slide would shrink their text."""
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 16}):
        panels = plots.roofline(analysis).figure.axes
    boxes = [panel.get_position() for panel in panels]
    assert boxes[0].y0 > boxes[1].y1
    assert boxes[0].x0 == pytest.approx(boxes[1].x0, abs=0.02)


def test_a_predicted_time_is_named_as_one(analysis: Any) -> None:
    words = "predicted by the model alone; dse analyze adds the measured error"
    titles = [each.get_legend().get_title() for each in plots.roofline(analysis).figure.axes]
    assert {title.get_text() for title in titles} == {words}
    measured = plots.roofline(PROFILE, machines="a100_80").get_legend()
    assert measured.get_title().get_text() in ("", "None")


def test_marks_of_the_caches_differ_and_ceilings_have_units(analysis: Any) -> None:
    for panel in plots.roofline(analysis).figure.axes:
        marks = {str(line.get_label()): line for line in panel.get_lines()}
        fills = [marks[f"at the bytes of {name}"].get_fillstyle() for name in ("L2", "L1/shared")]
        assert fills == ["none", "left"]
        small = [line.get_fillstyle() for line in panel.get_lines() if line.get_markersize() == 5.5]
        assert sorted(small) == sorted(2 * fills)
        ceilings = ", ".join(text.get_text() for text in panel.texts)
        assert re.search(r"tensor INT8 \d+ TOP/s", ceilings)
        assert re.search(r"tensor FP16 [\d.]+ TFLOP/s", ceilings)
        assert " T/s" not in ceilings
        assert "[FLOP/B]" in panel.get_xlabel()


def is_bar(line: Any) -> bool:
    """True if a line is upright."""
    return len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0


def test_a_machine_without_a_level_has_the_roofs_that_it_gives() -> None:
    """Nobody published the bandwidths of the caches of a P100, and it has no tensor units."""
    ax = plots.roofline((), machines="p100")
    names = set(lines_of(ax))
    assert "DRAM" in names
    assert not {"L2", "L1/shared"} & names
    assert not any("tensor" in text.get_text() for text in ax.texts)
    assert any("FP64" in text.get_text() for text in ax.texts)


def test_answers_in_a_file_draw_the_same(analysis: Any, tmp_path: Path) -> None:
    path = tmp_path / "triad.json"
    path.write_text(json.dumps(analysis.to_dict()))
    drawn = [lines_of(plots.roofline(each)) for each in (path, analysis)]
    ends = [[v for key, v in each.items() if "triad" in key] for each in drawn]
    assert np.array_equal(ends[0], ends[1])


def test_a_measured_kernel_above_a_roof_is_a_fault_that_is_said(run: Run, tmp_path: Path) -> None:
    ax = plots.roofline(PROFILE, machines="a100_80")
    (fault,) = faults_of(ax)
    assert (
        "fast on a100_80 is 4.9 times above the lowest roof (10 TFLOP/s of 2.039 TFLOP/s)" in fault
    )
    assert "above a roof" in [t.get_text() for t in ax.get_legend().get_texts()][-1] or any(
        t.get_text() == "fast: 100 µs, above a roof" for t in ax.get_legend().get_texts()
    )
    rows = zip(*PROFILE.values(), strict=True)
    text = "\n".join([",".join(PROFILE), *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "rows.csv").write_text(text)
    result = run("plot", "roofline", "rows.csv", "--machine", "a100_80", "--out", "a.png")
    assert "warning: a100_80: fast on a100_80 is 4.9 times above the lowest roof" in result.stderr
    assert (tmp_path / "a.png").stat().st_size > 0


def test_a_profile_with_other_bytes_has_small_marks() -> None:
    rows = {**PROFILE, "time [s]": [1e-3, 2e-3], "l2_bytes [B]": [2e9, 4e9]}
    ax = plots.roofline(rows, machines="a100_80")
    assert faults_of(ax) == []
    marks = [line.get_xdata() for line in ax.get_lines() if line.get_markersize() == 5.5]
    assert [float(each[0]) for each in marks if len(each)] == pytest.approx([0.5, 0.25])


def test_counters_of_nsight_compute_are_a_profile(tmp_path: Path) -> None:
    """Two operations of each of 3e8 fused multiply-adds, 1e8 additions and 1e8 products."""
    head = "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size"
    first = '0,1,a,localhost,gemm,1,7,"(256, 1, 1)","(1024, 1, 1)"'
    columns = {"gpu__time_duration.sum": ("ns", 1e6)}
    columns |= {f"dram__bytes_{way}.sum": ("byte", 4e8) for way in ("read", "write")}
    for name, many in (("fadd", 1e8), ("fmul", 1e8), ("ffma", 3e8)):
        columns[f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"] = ("inst", many)
    units, numbers = zip(*columns.values(), strict=True)
    lines = [",".join([head, *columns]), ",".join(["," * 8, *units])]
    path = tmp_path / "ncu.csv"
    path.write_text("\n".join([*lines, ",".join([first, *map(str, numbers)])]))
    drawn = lines_of(plots.roofline(path, machines="a100_80"))
    assert [float(each[0]) for each in drawn["gemm"]] == pytest.approx([1.0, 8e11])


def test_a_kernel_without_operations_is_named() -> None:
    rows = {**PROFILE, "work_flops": [0, 1e9], "time [s]": [1e-3, 1e-3]}
    assert faults_of(plots.roofline(rows, machines="a100_80")) == [
        "a100_80: not shown, without floating-point operations: slow"
    ]


@pytest.mark.parametrize(
    ("sources", "machines", "words"),
    [
        (PROFILE, None, "a profile is of one machine, and none is given"),
        (PROFILE, ["a100_80", "t4"], "a profile is of one machine, and a100_80, t4 is given"),
        ((), None, "no machine is given"),
        (TRIAD, None, "name the machines"),
        ((), "e5645_x2", "e5645_x2 has no roofs"),
        ({"time [s]": [1.0]}, "a100_80", "lacks"),
    ],
)
def test_what_cannot_be_drawn_is_said(sources: Any, machines: Any, words: str) -> None:
    with pytest.raises(DseError, match=words):
        plots.roofline(sources, machines=machines)


def test_other_options_are_refused(run: Run) -> None:
    options = ("--machine", "t4", "--quantity", "time", "--out", "a.png")
    assert "roofline does not take --quantity" in run("plot", "roofline", *options, status=2).stderr


# --- the page
@needs_chromium
def test_the_page_has_the_numbers_of_the_figure(page: Browser, tmp_path: Path) -> None:
    study = dse.Study.from_toml(ROOT / "examples" / "roofline.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    assert page.errors == []
    assert page.run("explorer.view.kind") == "roofline"
    machines = study.axes["machine"]
    page.run(f"explorer.LEVERS.get('machine').move(explorer.here, {machines.index('l40')})")
    page.run("explorer.changed()")
    names = ["attained_flops", "attainable_flops", *ROW["ceilings"]]
    names += [level[key] for level in ROW["levels"] for key in ("intensity", "bandwidth")]
    shown = page.run(f"{json.dumps(names)}.map((name) => String(explorer.here.get(name)))")
    ds = dse.evaluate(MODEL, machine="l40", workload=str(TRIAD), outputs=names)
    assert [float(each) for each in shown] == pytest.approx([float(ds[name]) for name in names])
    text = page.run("document.getElementById('figure-note').textContent")
    share = float(ds.attained_flops / ds.attainable_flops)
    assert f"({100 * share:.3g} %)" in text
    assert "Fault" not in text
    figure = page.run("document.getElementById('figure').textContent")
    assert all(word in figure for word in ("triad", "stencil", "bodies", "DRAM", "FP32", "FP16"))


def test_the_power_limit_slows_products_of_a_small_board() -> None:
    """Measured products on an L4 (72 W) took 1.8 to 3.2 times as long as without the limit."""
    model = "occupancy + latency_roofline + footprint"
    counts: dict[str, Any] = {
        "comp_insts": 10_000,
        "fp_insts": 9_000,
        "coalesced_insts": 1,
        "uncoalesced_insts": 0,
        "threads_per_block": 256,
        "blocks": 10_240,
        "launch_bytes": 10_240 * 1024,
        "registers_per_thread": 32,
        "shared_mem_per_block": 0,
        "bytes_per_thread": 4,
        "warp_bytes": 128,
        "block_bytes": 1024,
        "outputs": ["time", "power_time", "dynamic_energy", "throughput_time"],
    }

    def evaluate(machine: str, **more: Any) -> xr.Dataset:
        return dse.evaluate(model, machine=machine, **counts, **more)

    limited, free = evaluate("l4"), evaluate("l4", power_limit_share=100)
    assert 1.8 < float(limited.time / free.time) < 3.3
    # by hand: 10.4 pJ an instruction on an A100, 13.9 on an H100; 1,024 bytes of each block
    energy = 10_240 * (256 * 10_001 * 12.15e-12 + 1024 * (56e-12 + 65.5e-12))
    assert float(limited.dynamic_energy) == pytest.approx(energy)
    low = 0.881**2  # of the energy, at the lowest voltage
    assert float(limited.power_time) == pytest.approx(low * energy / (72 * (1 - 0.1745 * low)))
    assert float(limited.time) == float(limited.power_time)
    for machine in ("a100_80", "v100_pcie", "h100_sxm"):
        ds = evaluate(machine)
        assert float(ds.power_time) < 0.9 * float(ds.throughput_time)
        assert float(ds.time) == float(evaluate(machine, power_limit_share=100).time)
    assert float(evaluate("mi250x").power_time) == 0  # its board power is not known
    with pytest.raises(dse.DseError, match="power_limit_share > idle_power_share"):
        evaluate("l4", power_limit_share=0.135)  # nothing is left of the idle power
    assert float(evaluate("mi250x", power_limit_share=0.1).time) < 1
    # without board power, a machine has no limit; both kinds may stand on an axis
    names, inputs = ["l4", "mi250x"], {n: v for n, v in counts.items() if n != "outputs"}
    study = dse.Study(model=model, axes={"machine": names}, set=inputs, outputs=["power_time"])
    assert [bool(each > 0) for each in study.run().power_time] == [True, False]
    share = {"power_limit_share": [0.1, 0.5]}
    study = dse.Study(model=model, axes={"machine": names, **share}, set=inputs, outputs=["time"])
    assert study.run().feasible.values.tolist() == [[False, True], [True, True]]


def test_a_power_limit_that_is_not_reached_has_no_effect() -> None:
    """A limit of 420 W slowed a kernel that draws 346 W; one of 300 W slowed it too much."""
    outputs = ["time", "dynamic_energy", "average_power", "bound_by", "launch_warps"]
    outputs += ["total_insts", "l2_bytes", "dram_bytes", "latency_bound_time", "core_time"]
    study = dse.Study(
        model=MODEL,
        machine="h100_sxm",
        workload=str(KERNELS / "bodies.toml"),
        axes={"threads_per_block": [512, 1024], "power_limit_share": [100, 0.6, 0.5, 300 / 700]},
        outputs=outputs,
    )
    rows = study.run().sel(threads_per_block=512)
    free, *below, limited = (rows.isel(power_limit_share=place) for place in range(4))
    for each in below:  # at 350 W, power_time is between latency_bound_time and time
        assert float(each.time) == float(free.time) == pytest.approx(5.339e-3, rel=1e-3)
    idle = 0.183 * 700
    energy = float(32 * free.launch_warps * free.total_insts * 13.9e-12)
    energy += float(56e-12 * free.l2_bytes + 70e-12 * free.dram_bytes)
    assert float(free.dynamic_energy) == pytest.approx(energy, rel=1e-3)
    assert float(free.average_power) == pytest.approx(idle + energy / float(free.time))
    times = []  # at five voltages, of which the highest waits at its clock
    both = math.hypot(float(limited.core_time), float(limited.latency_bound_time))
    for voltage in np.linspace(0.881, 1, 5):
        waits = energy * voltage**2 / (300 - idle * voltage**2)
        slower = 1 - (1 - voltage) / 0.792
        times.append(waits if voltage == 1 else max(waits, 3.5e-6 + both / slower))
    assert float(limited.time) == pytest.approx(min(times), rel=1e-3)
    assert min(times) < min(times[0], times[-1])
    assert float(limited.average_power) == pytest.approx(300)
    numbers = rows.bound_by.attrs["flag_values"]
    labels = dict(zip(numbers, rows.bound_by.attrs["flag_meanings"].split(), strict=True))
    assert labels[12] == "power"  # stores hold this number
    assert [labels[int(each)] for each in rows.bound_by] == ["latency"] * 3 + ["power"]
    # blocks that leave half of the multiprocessors idle were the best at 300 W
    best = study.optimum(minimize="time", where=["power_limit_share < 0.45"])
    assert int(best.threads_per_block) == 512
    unlimited = "power_limit_share > 0.45"
    drawn = study.optimum(minimize="time", where=["average_power <= 340 W", unlimited])
    assert int(drawn.threads_per_block) == 1024


def test_the_energy_of_a_counted_kernel_is_its_mean_power_times_its_time() -> None:
    options: dict[str, Any] = {
        "machine": "h100_sxm",
        "workload": str(KERNELS / "bodies.toml"),
        "axes": {"core_clock": [0.6e9, 1.62e9, 1.98e9]},
        "outputs": ["average_power", "time", "energy"],
    }
    study = dse.Study(model=MODEL, set={"threads_per_block": 512}, **options)
    ds = study.run()
    assert np.allclose(ds.energy, ds.average_power * ds.time)
    assert float(study.optimum(minimize="energy").core_clock) == 1.62e9
    flat = {"threads_per_block": 512, "lowest_voltage_ratio": 1}
    constant = dse.Study(model=MODEL, set=flat, **options).optimum(minimize="energy")
    assert float(constant.core_clock) == 1.98e9  # idle for a shorter time
    # a model that yields the power of the kernel also decides its energy, as without mean power
    for other, prefer in (("energy_roofline", None), ("clock_scaling", "latency_roofline")):
        union = load_model(f"occupancy + latency_roofline + {other}", prefer=prefer)
        assert union.variants("energy") == (_energy.energy,)


def test_the_power_limit_is_the_bottleneck_only_where_it_is_reached() -> None:
    workload, words = KERNELS / "bodies.toml", {"machine": "h100_sxm", "moves": False}
    for share, bottleneck in ((0.5, "latency"), (300 / 700, "power")):
        given = {"threads_per_block": 512, "power_limit_share": share}
        best = dse.analyze(workload, **words, set=given).best
        assert best.bottleneck == bottleneck
        assert best.limits["power"] > best.limits["latency"]  # share of the allowed energy
    point: dict[str, Any] = {"threads_per_block": 512, "power_limit_share": 300 / 700}
    advice = dse.advise(MODEL, machine="h100_sxm", workload=str(workload), **point)
    moves = {move.quantity: move for move in advice.moves if move.helps}
    assert advice.bound == "power"
    assert {"power_limit_share", "instruction_energy"} <= {*moves}
    assert "board_power" not in moves  # the same move as power_limit_share
    raised = moves["power_limit_share"]
    assert (raised.next_bound, raised.gain) == ("latency", pytest.approx(1.081, rel=1e-3))


def test_idle_power_is_assumed_where_it_is_not_measured() -> None:
    for machine, share, spread in (("h100_sxm", 0.183, 0), ("b200", 0.1745, 0.55)):
        value = dse.machine(machine).values["idle_power_share"]
        assert (value.value, value.spread or 0) == (pytest.approx(share), spread)
    limited = {"power_limit_share": 0.3, "workload": str(KERNELS / "bodies.toml")}
    ds = dse.evaluate(MODEL, machine="b200", outputs=["time"], **limited)
    assert "idle_power_share" in ds.attrs["assumed"]
    low, high = ds.time.attrs["interval"]
    one = {"idle_power_share": 0.1745, "instruction_energy": 12.15e-12}
    near = dse.evaluate(MODEL, machine="b200", outputs=["time"], **limited, **one)
    assert "interval" not in near.time.attrs or low < near.time.attrs["interval"][0]
    assert high > 1.6 * float(ds.time)  # 0.3 - 0.21 is left of 0.3 - 0.135, or 40 % more energy


def test_the_energy_of_instructions_and_bytes_gives_the_power_of_kernels() -> None:
    """The energies of bytes are fitted to these kernels; that of an instruction to n-body alone."""
    folder = Path("docs/gpu-validation")
    power = pd.read_csv(folder / "kernel-power-h100.csv").fillna({"defines": ""})
    counted = pd.read_csv("docs/counted-kernels.csv").fillna({"defines": ""})
    keys = ["kernel", "defines", "problem", "block_x", "block_y"]
    rows = power.merge(counted.drop_duplicates(keys), on=keys, suffixes=(" [s]", ""))
    assert len(rows) == len(power) == 12
    off, baseline = {}, {}
    for row in rows.to_dict("records"):
        given = {n: row[n] for n in counted.columns if n not in (*keys, "time")}
        ds = dse.evaluate(
            "occupancy + latency_roofline + footprint",
            machine="h100_sxm",
            outputs=["average_power", "time"],
            **{**given, "mem_strength": max(1, given["mem_strength"])},
        )
        drawn = (float(ds.average_power) - 128.1) * float(ds.time)
        watts = 128 + drawn / row["time [s]"]
        off[row["kernel"]] = abs(watts / row["power [W]"] - 1)
        others = power["power [W]"][power.kernel != row["kernel"]].median()
        baseline[row["kernel"]] = abs(others / row["power [W]"] - 1)
    assert off.pop("spmv_csr") > 0.3  # gathers move more bytes than are counted
    assert off.pop("gemm_mma") > 0.2  # the energy of tensor units is not counted
    assert median(off.values()) < 0.06 < 0.09 < median(baseline.values())
    assert max(off.values()) < 0.2


def test_no_roof_or_frame_crosses_the_name_of_a_ceiling(analysis: Any) -> None:
    """Nor does the name of another ceiling, in the large text of slides."""
    slides = Path(plots.__file__).parent / "slides.mplstyle"
    with style.context(slides):
        ax = plots.roofline(analysis, machines=["h100_sxm"])
        ax.figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in ax.texts if "OP/s" in text.get_text()]
        assert len(boxes) >= 4
        assert all(box.x0 > ax.bbox.x1 for box in boxes)
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
