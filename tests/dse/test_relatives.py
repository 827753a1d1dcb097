"""Every GPU of today gives a time: inputs that nobody published are assumed, and answers say so."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse.catalog.entries import _load, _relatives, entry_number
from dse.cli import main
from dse.uncertain.model_errors import learnt_interval
from symbolic.errors import DseError

MODEL = "occupancy + latency_roofline + footprint"
TRIAD = "examples/kernels/triad.toml"
#: GPUs of compute capability 7.0 and later, and of CDNA.
TODAY = tuple(
    name
    for name, entry in dse.machines().items()
    if not name.startswith("cc")
    and (name.startswith("mi") or float(entry.compute_capability or 0) >= 7)
)


#: Caches that are half as wide as those of the relatives, of machines with values of their own.
OTHER_WIDTHS = {("l2_bandwidth", "mi100")}
OTHER_WIDTHS |= {("l1_bytes_per_cycle", turing) for turing in ("t4", "rtx2080ti")}


def test_these_are_the_gpus_of_today() -> None:
    some = {"v100_sxm2", "t4", "rtx2080ti", "rtx3080", "rtx3090", "rtx4090", "a100_80", "a40"}
    some |= {"a4000", "l4", "l40", "h100_pcie", "h100_sxm", "gh200"}
    assert some | {"mi100", "mi210", "mi250x", "mi300x"} <= {*TODAY}


@pytest.mark.parametrize("machine", TODAY)
def test_every_gpu_of_today_gives_a_time(machine: str) -> None:
    ds = dse.evaluate(MODEL, machine=machine, workload=TRIAD)
    bytes_moved = 3 * 4 * 16777216
    assert float(ds.dram_bytes) == bytes_moved
    assert float(ds.start_up_time) == 3.5e-6
    rate = bytes_moved / float(ds.time - ds.start_up_time)
    # on a B200 the integer units take longer than DRAM for four bytes a thread
    assert 0.45 < rate / entry_number(dse.machine(machine), "mem_bandwidth") < 1
    low, high = ds.time.attrs.get("interval", (0.0, math.inf))
    assert low < float(ds.time) < high
    unpublished = {n for n, v in dse.machine(machine).values.items() if v.spread}
    marked = {row["quantity"] for row in json.loads(ds.attrs.get("assumed", "[]"))}
    assert marked <= unpublished
    assert marked or "interval" not in ds.time.attrs  # what is assumed may not matter


def test_a_value_that_is_given_replaces_an_assumed_one() -> None:
    given: dict[str, Any] = {"l2_bandwidth": "9 TB/s", "dependent_latency": 4}
    given |= {"bandwidth_share": 0.8, "l1_bytes_per_cycle": 128, "start_up_time": 0}
    given |= {"seconds_per_joule": 0, "instruction_energy": 0, "dispatch_cycles": 1}
    given |= {"l2_byte_energy": 0, "dram_byte_energy": 0}
    given |= {"lowest_voltage_ratio": 1, "voltage_rise": 0, "idle_power_share": 0.2}
    ds = dse.evaluate(MODEL, machine="l40", workload=TRIAD, **given)
    assert "assumed" not in ds.attrs
    assert "interval" not in ds.time.attrs


def test_the_text_names_the_relative_and_the_spread() -> None:
    value = dse.machine("a4000").values["mem_latency_nominal"]
    assert value.assumed == "as a40, ± 30 %: the same time"
    assert value.value == pytest.approx(556 * 1560 / 1740)  # ns stay, the clock does not
    assert value.spread == 0.3


def test_spreads_cover_what_machines_say_of_each_other() -> None:
    """Machines with values of their own, each from its relatives as if it had none."""
    table = tomllib.loads(Path("dse/data/relatives.toml").read_text())
    pairs = [(a, b) for a, known in table["relatives"].items() for b in known]
    pairs += [("a100_40", "a100_80"), ("gh200", "h100_pcie"), ("a40", "l40")]
    compared = dict.fromkeys(table["inputs"], 0)
    for quantity, row in table["inputs"].items():
        for names in pairs:
            here, there = (_load("machine", name, None, (), ()) for name in names)
            if quantity not in here.values or quantity not in there.values:
                continue
            if (quantity, names[0]) in OTHER_WIDTHS:
                continue
            scale = entry_number(here, row["scale"]) / entry_number(there, row["scale"])
            ratio = entry_number(here, quantity) / (entry_number(there, quantity) * scale)
            assert 1 - row["spread"] <= ratio <= 1 + row["spread"], (quantity, names, ratio)
            compared[quantity] += 1
    of_one_machine = {"seconds_per_joule"}
    of_one_machine |= {n for n, row in table["inputs"].items() if "of" in row}
    assert not [name for name in compared if not compared[name] and name not in of_one_machine]


def test_relatives_are_machines_that_have_the_values() -> None:
    table = _relatives()
    assert {*table["relatives"]} <= {*dse.machines()}
    for name, known in table["relatives"].items():
        assert name not in known
        assert {*known} <= {*dse.machines()}


DATA = Path("../shared/data/profiles/pytorch_elementwise/train_elem.csv.gz")
PRINTED = {"P100": 732, "V100": 900, "P4": 192, "T4": 320, "A100": 1555}
MACHINES = {"P100": "p100", "V100": "v100_pcie", "P4": "p4", "T4": "t4", "A100": "a100_40"}


STREAMS = {"V100": "v100_sxm2", "A100_40": "a100_40", "MI210": "mi210"}


def attained_shares() -> dict[tuple[str, str], float]:
    """Return the attained share of the printed bandwidth by source and machine."""
    if not DATA.is_file():
        pytest.skip(f"no measurements at {DATA}")
    import pandas as pd

    result = {}
    rows = pd.read_csv(DATA)
    rows = rows[rows.OPName.isin(["add", "mul", "relu", "tanh"])]
    rows["bytes"] = rows.B * rows.H * rows.OPName.map({"add": 12, "mul": 12}).fillna(8)
    for gpu, printed in PRINTED.items():
        own = rows[rows.Device.str.contains(rf"\b{gpu}\b", regex=True)]
        long = own[own.bytes > own.bytes.quantile(0.7)]
        attained = float((long.bytes / (long.Latency * 1e-3)).median())
        result["elementwise", MACHINES[gpu]] = attained / (printed * 1e9)
    for gpu, machine in STREAMS.items():
        file = DATA.parents[2] / "bandwidth" / f"gpu-stream__{gpu.lower()}.txt"
        full = file.read_text().splitlines()[-1].split("GB/s:")[1].split()
        attained = float(np.median([float(each) for each in full[2:]])) * 1e9  # reads and writes
        result["stream", machine] = attained / entry_number(dse.machine(machine), "mem_bandwidth")
    return result


def test_shares_of_memory_cover_what_kernels_attain() -> None:
    for (_, machine), share in attained_shares().items():
        value = dse.machine(machine).values["bandwidth_share"]
        assert abs(share / float(value.value) - 1) <= value.spread, (machine, share, value.value)


def test_shares_of_memory_are_better_than_one_share_for_all() -> None:
    """Long kernels by ``streaming`` with no fit, against the best single share of these rows."""
    measured = attained_shares()
    off = []
    for (_, machine), share in measured.items():
        printed = entry_number(dse.machine(machine), "mem_bandwidth")
        given = {"machine": machine, "dram_bytes": printed, "startup_time": 0}  # one second
        off.append(abs(share * float(dse.evaluate("streaming", **given).time) - 1))
    single = [
        np.mean([abs(share / one - 1) for share in measured.values()])
        for one in np.linspace(0.6, 1, 401)
    ]
    assert np.mean(off) <= 0.6 * min(single)


def test_no_launch_of_another_gpu_starts_blocks_faster_than_assumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unknown, it was 0 cycles, so that small blocks cost nothing but on Hopper and Blackwell."""
    monkeypatch.syspath_prepend("docs")
    validation_cases = importlib.import_module("validation_cases")

    folder = DATA.parents[2]
    if not folder.is_dir():
        pytest.skip(f"no measurements at {folder}")
    rows, machine = validation_cases.hecbench(folder), dse.machine("rtx3080")
    value = machine.values["dispatch_cycles"]
    cycles = rows.time * entry_number(machine, "base_clock") / rows.blocks
    assert value.spread is not None
    assert (cycles >= float(value.value) * (1 - value.spread)).all()
    assert cycles.min() <= float(value.value) * (1 + value.spread), "of 17 million blocks"
    assert "as h100_sxm, ± 50 %" in value.assumed
    assert "dispatch_cycles" not in dse.machine("gtx280").values


def test_every_memory_of_today_has_a_share() -> None:
    for name in TODAY:
        value = dse.machine(name).values["bandwidth_share"]
        assert 0.6 < float(value.value) < 1
        assert 0.03 < value.spread < 0.2


# --- random inputs of studies


def study(**more: Any) -> dse.Study:
    base: dict[str, Any] = {"model": MODEL, "workload": TRIAD, "outputs": ["time"]}
    result: dse.Study = dse.Study(**{**base, "machine": "l4", **more})
    return result


def test_assumed_inputs_enter_a_study_as_random() -> None:
    law = study(random={"assumed": True, "model_error": False}).law("time")
    low, high = (float(law.quantile(level)) for level in (0.05, 0.95))
    interval = dse.evaluate(MODEL, machine="l4", workload=TRIAD).time.attrs["interval"]
    assert [low, high] == pytest.approx(interval, rel=1e-3)


def test_a_law_of_the_study_takes_precedence_over_an_assumed_one() -> None:
    random = {"assumed": True, "l2_latency": "normal: 200 cycles, 1 %"}
    inputs = study(random=random).random_inputs
    assert inputs is not None
    assert "mem_latency_nominal" in inputs.names
    assert inputs.names.count("l2_latency") == 1


MACHINES_OF_A_SUITE = ["rtx3090", "l40s", "v100_sxm2"]


def suite(**more: Any) -> dse.Study:
    axes = {"machine": MACHINES_OF_A_SUITE, "elements": [2**16, 2**26]}
    random = {"assumed": True, "draws": 64, **more}
    return study(machine=None, axes=axes, random=random, outputs=["time", "l2_bandwidth"])


def test_each_machine_draws_only_what_it_assumes() -> None:
    """The twin evaluates each machine alone, with the draws that bear its name."""
    inputs = suite(model_error=False).random_inputs
    assert inputs is not None
    names = {*inputs.names}
    assert {"l2_latency_of_l40s", "bandwidth_share_of_v100_sxm2"} <= names
    assert not names & {"l2_latency", "l2_latency_of_v100_sxm2", "l2_bandwidth_of_v100_sxm2"}
    draws = dict(inputs.fresh_axis().columns)
    times: list[Any] = []
    values: dict[str, dict[str, Any]] = {}
    for machine in MACHINES_OF_A_SUITE:
        values[machine] = {
            name.removesuffix(f"_of_{machine}"): column
            for name, column in draws.items()
            if name.endswith(f"_of_{machine}")
        }
        for column in values[machine].values():
            assert 0 < column.std() < 0.35 * column.mean()
        each = [
            dse.evaluate(MODEL, machine=machine, workload=TRIAD, elements=size, **values[machine])
            for size in (2**16, 2**26)
        ]
        times.append([ds.time.values for ds in each])
    slow = np.array(times).prod(axis=1) ** 0.5  # machine, draw
    best = slow.argmin(axis=0)
    table = suite(model_error=False).chances(minimize="geomean(time, elements)")
    expected = {m: float((best == k).mean()) for k, m in enumerate(MACHINES_OF_A_SUITE)}
    assert sorted(expected.values())[1] > 0.1
    chances = dict(zip(table.machine.values.tolist(), table.chance.values.tolist(), strict=True))
    assert chances == pytest.approx({m: c for m, c in expected.items() if m in chances})
    assert sum(chances.values()) == pytest.approx(1)
    regret = dict(zip(table.machine.values.tolist(), table.regret.values.tolist(), strict=True))
    for machine, value in regret.items():
        gap = slow[MACHINES_OF_A_SUITE.index(machine)] - slow.min(axis=0)
        assert value == pytest.approx(float(gap.mean()))
    ds = suite(model_error=False).run()
    known = entry_number(dse.machine("v100_sxm2"), "l2_bandwidth")
    assert float(ds["mean(l2_bandwidth)"].sel(machine="v100_sxm2")) == pytest.approx(known)
    assert float(ds["error(mean(l2_bandwidth))"].sel(machine="v100_sxm2")) == 0
    assert float(ds["error(mean(l2_bandwidth))"].sel(machine="l40s")) > 0


def test_each_machine_has_the_measured_error_of_its_own() -> None:
    """A suite's law of each machine is that of the machine alone; machines are independent."""
    both = suite(draws=4096)
    for machine in ("l40s", "v100_sxm2"):
        here = both.law("time", at={"machine": machine, "elements": 2**26})
        one = study(machine=machine, set={"elements": 2**26}, random={"assumed": True})
        alone = one.law("time")
        for level in (0.05, 0.5, 0.95):
            assert here.quantile(level) == pytest.approx(alone.quantile(level), rel=0.03)
    inputs = both.random_inputs
    assert inputs is not None
    columns = inputs.axis().columns
    errors = [columns[f"dram_error_of_{m}"] for m in ("l40s", "v100_sxm2")]
    assert abs(np.corrcoef(errors)[0, 1]) < 0.1


def test_inputs_of_single_machines_take_laws_and_correlations_of_the_study() -> None:
    pair = ["l2_latency_of_l40s", "l2_latency_of_rtx3090"]
    both = suite(model_error=False, correlation=[[*pair, 1]])
    inputs = both.random_inputs
    assert inputs is not None
    columns = inputs.axis().columns
    ranks = [np.argsort(np.argsort(columns[name])) for name in pair]
    assert (ranks[0] == ranks[1]).all()
    own = suite(model_error=False, l2_latency_of_l40s="normal: 200 cycles, 1 %").random_inputs
    assert own is not None
    assert own.axis().columns["l2_latency_of_l40s"].mean() == pytest.approx(200, rel=0.01)
    one = suite(model_error=False, l2_latency="normal: 200 cycles, 1 %").random_inputs
    assert one is not None
    assert not {*pair} & {*one.names}
    assert "l2_latency" in one.names


def test_bad_requests_for_assumed_inputs() -> None:
    with pytest.raises(DseError, match="assumed = 1, expected true or false"):
        study(random={"assumed": 1})
    with pytest.raises(DseError, match="model_error = 'no', expected true or false"):
        study(random={"model_error": "no"})
    with pytest.raises(DseError, match="no output depends on an assumed input"):
        study(machine="gtx280", model="occupancy", outputs=None, random={"assumed": True})
    with pytest.raises(DseError, match="assumed = true for the inputs that nobody published"):
        study().law("time")


# --- random studies of counted kernels have the measured error of the model


def test_a_random_study_of_a_kernel_has_the_error_of_the_class_of_each_point() -> None:
    """The twin: the limits of each point, and the interval that ``dse analyze`` learnt for them."""
    axes: dict[str, Any] = {"elements": [2**10, 2**17, 2**28], "fp_insts": [2, 2000]}
    known: dict[str, Any] = {"machine": "h100_sxm", "axes": axes, "set": {"bandwidth_share": 0.9}}
    limits = {"compute": "fp_time", "dram": "dram_time", "latency": "latency_bound_time"}
    limits |= {"l2": "l2_time", "launch": "start_up_time"}
    outputs = ["time", *limits.values(), "issue_time", "int_time"]
    plain = study(**known, outputs=outputs).run()
    ends = ["quantile(time, 0.05)", "quantile(time, 0.95)"]
    ds = study(**known, random={"model_error": True}, outputs=ends).run()
    classes = set()
    for count, work in itertools.product(*axes.values()):
        at = {"elements": count, "fp_insts": work}
        here = {
            n: float(a.sel({k: v for k, v in at.items() if k in a.dims})) for n, a in plain.items()
        }
        shares = {name: here[quantity] for name, quantity in limits.items()}
        shares["compute"] = max(here[n] for n in ("fp_time", "issue_time", "int_time"))
        interval = learnt_interval(MODEL, "h100_sxm", shares, 0.9)
        classes.add(interval.of)
        measured = [float(ds[name].sel(at)) / here["time"] for name in ends]
        assert measured == pytest.approx([interval.low, interval.high], rel=0.02)
    assert len(classes) >= 3
    assert "measured error of the model" in ds.attrs["notes"]
    assert "model_error" in {row["name"] for row in json.loads(ds.attrs["equations"])}


@pytest.mark.parametrize(
    ("axis", "best"),
    [
        ({"core_clock": ["1.2 GHz", "1.4 GHz", "1.6 GHz", "1.8 GHz", "1.98 GHz"]}, [1.98e9]),
        ({"threads_per_block": [32, 64, 128, 256, 512, 1024]}, [256, 512, 1024]),
    ],
)
def test_configurations_of_one_kernel_have_one_error(axis: dict[str, Any], best: Any) -> None:
    """Slower clocks and small blocks change the largest limit, but the class stays the same."""
    known: dict[str, Any] = {"machine": "h100_sxm", "axes": axis}
    random = {"model_error": True, "draws": 256}
    drawn = study(**known, random=random, outputs=["mean(model_error)"]).run()
    assert np.ptp(drawn["mean(model_error)"].values) == 0
    (name,) = axis
    chances = study(**known, random={"assumed": True, "draws": 256}).chances(minimize="time")
    assert sorted(chances[name].values) == best
    assert float(chances.regret.max()) == 0


def test_a_suite_under_a_limit_competes_with_the_error_of_the_model() -> None:
    """The limit sees the time, whose error takes a statistic over the clocks."""
    axes = {"machine": ["h100_sxm", "l40s"], "workload": ["triad", "reduction"]}
    axes["core_clock"] = ["0.6 GHz", "1.2 GHz", "1.8 GHz"]
    random = {"assumed": True, "draws": 64}
    made = study(machine=None, workload=None, axes=axes, random=random)
    goal, limit = "geomean(best({}, core_clock), workload)", "average_power <= 300 W"
    answer = made.chances(minimize=goal.format("time"), where=limit)
    inside = goal.format(f"where({limit}, time, 1e9 s)")
    expected = made.chances(minimize=inside)
    assert answer.machine.values.tolist() == expected.machine.values.tolist()
    assert answer.chance.values.tolist() == expected.chance.values.tolist()
    free = made.chances(minimize=goal.format("time"))
    assert (free.regret.values != answer.regret.values).any()
    fast = made.chances(minimize=goal.format("time"), where="time <= 0.17 ms")
    assert fast.machine.values.tolist() == ["h100_sxm"]


def test_an_axis_of_another_machine_or_work_has_the_error_of_each_point() -> None:
    axes = {"machine": ["h100_sxm", "l40s"], "elements": [2**10, 2**28], "core_clock": [1e9, 2e9]}
    random = {"model_error": True, "draws": 64}
    drawn = study(machine=None, axes=axes, random=random, outputs=["mean(model_error)"]).run()
    assert drawn["mean(model_error)"].dims == ("machine", "elements")
    assert len({*drawn["mean(model_error)"].values.round(6).ravel()}) == 4


def test_an_axis_of_equations_keeps_the_error_of_each_point() -> None:
    axes = {"waves": ["fractional", "whole"], "threads_per_block": [64, 256]}
    given: dict[str, Any] = {"machine": "h100_sxm", "axes": axes}
    random = {"model_error": True, "draws": 64}
    drawn = study(**given, random=random, outputs=["mean(model_error)", "mean(time)"]).run()
    assert "threads_per_block" not in drawn["mean(model_error)"].dims
    assert bool((drawn["mean(time)"] > 0).all())


def test_the_interval_of_a_random_study_is_that_of_an_analysis() -> None:
    """Road, row 10: it was 179 to 198 µs, from two inputs only."""
    law = study(machine="h100_pcie", random={"model_error": True}).law("time")
    known = {"dependent_latency": 4, "seconds_per_joule": 0}
    answer = dse.analyze(TRIAD, "h100_pcie", block=256, set=known, moves=False)
    ends = [float(law.quantile(level)) for level in (0.05, 0.95)]
    assert ends == pytest.approx([answer.best.time_low, answer.best.time_high], rel=0.02)
    assert ends[1] > 1.5 * ends[0]  # quantiles of the class: exp(-0.04) to exp(0.39)


def test_a_store_keeps_the_error(tmp_path: Path) -> None:
    drawn = study(random={"assumed": True}, axes={"threads_per_block": [32, 256]})
    stored = drawn.run(store=tmp_path / "s.zarr")
    assert float(stored["mean(time)"].max()) == float(drawn.run()["mean(time)"].max())
    assert dse.optimum(tmp_path / "s.zarr", minimize="mean(time)").threads_per_block == 256


@pytest.mark.parametrize(
    "more",
    [
        {"model": "ipp", "machine": "gtx280", "workload": "svm"},  # counts of a paper
        {"workload": None},  # nothing is counted
        {"random": {"core_clock": "normal: 1.5 GHz, 2 %", "model_error": False}},
        {"model": "occupancy + throughput", "outputs": ["occupancy"]},  # of which nothing is known
    ],
)
def test_other_studies_have_no_error_of_the_model(more: dict[str, Any]) -> None:
    random = {"core_clock": "normal: 1.5 GHz, 2 %"}
    sizes = {"threads_per_block": 256, "elements": 2**20, "registers_per_thread": 32}
    sizes |= {"shared_mem_per_block": 0}
    given = {"random": random, "outputs": ["active_blocks_per_sm"], "set": sizes, **more}
    inputs = study(**given).random_inputs
    assert inputs is not None
    assert [*inputs.inputs] == ["core_clock"]


# --- answers mark what is assumed


def run(*words: str) -> Any:
    result = CliRunner().invoke(main, [*words])
    assert result.exit_code == 0, result.output
    return result.output


def test_evaluate_marks_what_is_assumed() -> None:
    words = ("evaluate", MODEL, "--machine", "l4", "--workload", TRIAD)
    text = run(*words)
    assert "as assumed inputs vary" in text
    assert "assumed: l2_bandwidth of l4 = " in text
    data = json.loads(run(*words, "--json"))
    assert {row["quantity"] for row in data["assumed"]} >= {"l2_bandwidth"}
    low, high = data["intervals"][0]["time"]
    assert low < data["rows"][0]["time"] < high


def test_optimum_and_explain_mark_what_is_assumed(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    (tmp_path / "triad.toml").write_text(Path(TRIAD).read_text())
    path.write_text(
        f'model = "{MODEL}"\nmachine = "l4"\nworkload = "triad.toml"\n'
        'outputs = ["time"]\n[axes]\nthreads_per_block = [64, 128, 256]\n'
    )
    text = run("optimum", str(path), "--minimize", "time")
    assert "assumed: mem_latency_nominal of l4 = " in text
    assert "best time: " in text
    data = json.loads(run("optimum", str(path), "--minimize", "time", "--json"))
    assert data["intervals"][0]["time"][0] < data["rows"][0]["time"]
    explanation = dse.explain(dse.Study.from_toml(path))
    assert any(each.startswith("mem_latency_nominal of l4 = ") for each in explanation.assumed)
    assert "assumed" in json.loads(run("explain", str(path), "--json"))


@pytest.fixture
def two_workloads(tmp_path: Path) -> str:
    """A study of two workloads on a machine with assumed inputs; no output depends on one axis."""
    for name in ("triad", "stencil"):
        text = Path(f"examples/kernels/{name}.toml").read_text()
        (tmp_path / f"{name}.toml").write_text(text)
    path = tmp_path / "two.toml"
    path.write_text(
        f'model = "{MODEL}"\nmachine = "a100_80"\noutputs = ["time"]\n[axes]\n'
        'workload = ["triad.toml", "stencil.toml"]\n'
        'core_clock = ["1 GHz", "1.41 GHz"]\nmem_size = ["1 GiB", "2 GiB"]\n'
    )
    return str(path)


@pytest.mark.parametrize("options", [(), ("--ties",), ("--method", "certified")])
@pytest.mark.parametrize("kind", ["geomean", "worst", "mean"])
def test_the_optimum_of_a_statistic_over_workloads(
    two_workloads: str, kind: str, options: tuple[str, ...]
) -> None:
    goal = f"{kind}(time, workload)"
    words = ("optimum", two_workloads, "--minimize", goal, *options)
    assert "assumed: start_up_time of a100_80" in run(*words)
    data = json.loads(run(*words, "--json"))
    time = dse.run(dse.Study.from_toml(two_workloads)).time
    means = {"geomean": np.exp(np.log(time).mean("workload")), "worst": time.max("workload")}
    best = means.get(kind, time.mean("workload")).min().item()
    row = data["rows"][0]
    assert row.get("objective", row.get(goal)) == pytest.approx(best, rel=1e-12)
    assert data["intervals"][0] == {}


def test_a_statistic_among_the_outputs_has_no_interval(two_workloads: str) -> None:
    path, mean = Path(two_workloads), "geomean(time, workload)"
    path.write_text(path.read_text().replace('["time"]', f'["time", "{mean}"]'))
    data = json.loads(run("optimum", two_workloads, "--minimize", "time", "--json"))
    (intervals,) = data["intervals"]
    assert [*intervals] == ["time"]
    assert intervals["time"][0] < data["rows"][0]["time"] < intervals["time"][1]


def test_an_axis_without_effect_is_noted(two_workloads: str) -> None:
    note = "no output depends on: mem_size"
    assert note in run("plan", two_workloads)
    assert note in run("run", two_workloads)
    assert note in run("optimum", two_workloads, "--minimize", "time")
    assert note in run(
        "evaluate", MODEL, "--machine", "l4", "--workload", TRIAD, "mem_size=1e9,2e9"
    )
    for more in (("--minimize", "time * mem_size"), ("--minimize=time", "--at=mem_size=1 GiB")):
        assert "no output depends on" not in run("optimum", two_workloads, *more)
    # a statistic depends on the axis that it summarizes
    assert f"{note}\n" in run("optimum", two_workloads, "--minimize", "worst(time, workload)")
    path = Path(two_workloads)
    path.write_text(path.read_text().replace('["time"]', '["worst_high(time, workload)"]'))
    assert f"{note}\n" in run("plan", two_workloads)


def test_a_machine_axis_marks_the_machine_of_the_answer() -> None:
    both = study(machine=None, axes={"machine": ["a100_40", "l4"]})
    assert {row.entry for row in both._parts.assumed} == {"a100_40", "l4"}
    dispatch, energy, *voltages, start, share = dse.explain(both, machine="a100_40").assumed
    assert dispatch.startswith("dispatch_cycles of a100_40 = 1.19 cycles, as h100_sxm, ± 50 %")
    assert energy.startswith("l2_byte_energy of a100_40 = 56 pJ, as h100_sxm, ± 40 %")
    assert [each.split()[0] for each in voltages] == ["lowest_voltage_ratio", "voltage_rise"]
    assert start.startswith("start_up_time of a100_40 = 3.5 µs, as h100_sxm, ± 50 %")
    assert share.startswith("bandwidth_share of a100_40 = 0.87")
    assert len(dse.explain(both, machine="l4").assumed) > 3


# --- files of the user


def write_machine(tmp_path: Path, line: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(f'title = "mine"\nbase = "rtx4090"\n[values]\n{line}\n')
    return str(path)


def test_a_file_may_give_a_spread(tmp_path: Path) -> None:
    line = 'l2_bandwidth = { value = "8 TB/s", assumed = "a guess", spread = 0.5 }'
    ds = dse.evaluate(MODEL, machine=write_machine(tmp_path, line), workload=TRIAD)
    rows = {row["quantity"]: row for row in json.loads(ds.attrs["assumed"])}
    assert (rows["l2_bandwidth"]["low"], rows["l2_bandwidth"]["high"]) == (4e12, 12e12)
    assert rows["dependent_latency"]["why"].startswith("as ")  # of its base, or relatives of it


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('n_sms = { value = 4, source = "x", spread = 0.1 }', "a source and a spread"),
        ('n_sms = { value = 4, assumed = "x", spread = 2 }', "expected a share from 0 to below 1"),
    ],
)
def test_a_spread_that_makes_no_sense_is_an_error(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(DseError, match=error):
        dse.machine(write_machine(tmp_path, line))


def test_many_assumed_inputs_are_only_named(tmp_path: Path) -> None:
    path = tmp_path / "gpus.toml"
    machines = ["a100_80", "h100_sxm", "l40s", "b200"]
    (tmp_path / "triad.toml").write_text(Path(TRIAD).read_text())
    path.write_text(
        f'model = "{MODEL}"\nworkload = "triad.toml"\noutputs = ["time"]\n'
        f"[axes]\nmachine = {json.dumps(machines)}\n"
    )
    words = ("optimum", str(path), "--minimize", "time", "--per", "machine")
    output = run(*words)
    lines = [line for line in output.splitlines() if line.startswith("assumed")]
    assert [line.split(":")[0].removeprefix("assumed of ") for line in lines[:-1]] == [
        "l40s", "b200", "a100_80", "h100_sxm",
    ]  # fmt: skip
    assert "l2_bandwidth" in output
    assert max(map(len, output.splitlines())) <= 120
    assert "--json" in lines[-1]
    listed = json.loads(run(*words, "--json"))["assumed"]
    assert {row["of"] for row in listed} == {*machines}
    assert all(row["low"] < row["value"] < row["high"] for row in listed)
