"""Sensitivity of studies, Datasets and measurements; elasticities; the command and the figure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from click.testing import Result

import dse
from dse import DseError
from dse.plots.bar_charts import draw_tornado, tornado
from dse.sensitivity_analysis import log_slope
from tests.sweeps.test_decompose import by_definition

Run = Callable[..., Result]
POINT = {"intensity": 100, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def transit(**more: Any) -> Any:
    axes = {"threads": [128, 256, 512, 1024], "intensity": [10, 20, 40], "ms_peak": [1, 2]}
    given = {"lanes_width": 32, "mem_latency": 600}
    return dse.Study(**({"model": "transit", "axes": axes, "set": given} | more))


def merge(**more: Any) -> Any:
    axes = {
        "workload": ["svm", "sepia"],
        "threads_per_block": [64, 128, 256],
        "active_sms": range(12, 19),
    }
    given: dict[str, Any] = {"model": "occupancy + mwp_cwp", "machine": "8800gtx", "axes": axes}
    return dse.Study(**(given | {"outputs": ["time", "case", "occupancy"]} | more))


# --- indices
def test_a_study_as_by_definition() -> None:
    ds = transit().run()
    result = dse.sensitivity(transit(), output="cs_throughput")
    first, total = by_definition(ds.cs_throughput.values)
    variance = ds.cs_throughput.values.var()
    one = result.sel(output="cs_throughput")
    assert one["first"].values == pytest.approx(np.array(first) / variance)
    assert one["total"].values == pytest.approx(np.array(total) / variance)
    assert result.axis.values.tolist() == ["threads", "intensity", "ms_peak"]
    mean = ds.cs_throughput.mean(["threads", "ms_peak"])
    assert one.over_intensity.values == pytest.approx(mean.values)
    assert float(one.low.sel(axis="intensity")) == pytest.approx(float(mean.min()))
    assert (float(one["mean"]), float(one["std"])) == pytest.approx(
        (float(ds.cs_throughput.mean()), float(ds.cs_throughput.std()))
    )
    assert result.attrs["treatment"] == "every point of the grid has the same weight"


def test_infeasible_points_do_not_count_in_memory_streamed_and_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = merge(where=["time <= 100 ms"])
    ds = study.run()
    values = np.where(ds.feasible & np.isfinite(ds.time), ds.time, np.nan)
    first, total = by_definition(values)
    whole = dse.sensitivity(study, output="time")
    assert whole["first"].values[0] == pytest.approx(np.array(first) / np.nanvar(values))
    assert whole["total"].values[0] == pytest.approx(np.array(total) / np.nanvar(values))
    assert int(whole.counted[0]) == int((~np.isnan(values)).sum()) < int(whole.points[0]) == 42
    assert "are left out" in whole.attrs["treatment"]
    monkeypatch.setattr("dse.sensitivity_analysis._SMALL", 5)
    dse.export(ds, tmp_path / "m.zarr")
    with dse.open(tmp_path / "m.zarr") as stored:
        for source in (study, ds, stored):
            again = dse.sensitivity(source, output="time")
            for name in ("first", "total", "low", "high", "mean", "std", "counted"):
                assert again[name].values == pytest.approx(whole[name].values, rel=1e-9), name
    tighter = dse.sensitivity(merge(), output="time", where="time <= 100 ms")
    assert tighter["first"].values == pytest.approx(whole["first"].values)


@pytest.mark.parametrize("limit", [16, 60, 10_000])
def test_a_compiled_nest_gives_the_same(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """In blocks that are cut along any axes, those of a nest included; a part of its points."""
    axes = {**merge().axes, "core_clock": ["1.0 GHz", "1.2 GHz", "1.4 GHz"]}
    study = merge(axes=axes, where=["time <= 100 ms"])
    values = study.run()
    values = np.where(values.feasible & np.isfinite(values.time), values.time, np.nan)
    first, total = by_definition(values)
    monkeypatch.setattr("dse.sensitivity_analysis._COMPILE_POINTS", 1)
    monkeypatch.setattr("dse.sensitivity_analysis._SMALL", 1)
    monkeypatch.setattr("dse.sensitivity_analysis._LARGE", limit)
    result = dse.sensitivity(study, output="time")
    assert result["first"].values[0] == pytest.approx(np.array(first) / np.nanvar(values))
    assert result["total"].values[0] == pytest.approx(np.array(total) / np.nanvar(values))
    assert int(result.counted.item()) == int((~np.isnan(values)).sum())


def test_switches_and_zips_are_axes_too() -> None:
    study = transit(
        axes={
            "supply": ["sharp", "smooth"],
            "pair": {"zip": {"threads": [128, 512], "intensity": [10, 40]}},
            "ms_peak": [1, 2, 4],
        },
    )
    ds = study.run()
    result = dse.sensitivity(study, output="ms_throughput")
    first, total = by_definition(ds.ms_throughput.values)
    variance = ds.ms_throughput.values.var()
    assert result["first"].values[0] == pytest.approx(np.array(first) / variance)
    assert result["total"].values[0] == pytest.approx(np.array(total) / variance)
    assert result.over_supply.sel(supply="smooth").size == 1


def test_formulas_all_outputs_and_axes_that_do_nothing() -> None:
    result = dse.sensitivity(
        merge(axes={**merge().axes, "elapsed_": [1]} if False else merge().axes)
    )
    assert result.output.values.tolist() == ["time", "occupancy"]
    assert abs(float(result.total.sel(output="occupancy", axis="active_sms"))) < 1e-15
    assert result.unit.values.tolist() == ["s", "1"]
    product = dse.sensitivity(merge(), output="time * active_sms")
    assert float(product.total.sel(axis="active_sms").item()) < 0.05


def test_outputs_that_are_constant() -> None:
    one = {"threads_per_block": [256], "active_sms": [15, 16]}
    study = merge(axes=one, workload="svm")
    with pytest.raises(DseError, match=r"occupancy is 1 at every point.*no variance"):
        dse.sensitivity(study, output="occupancy")
    result = dse.sensitivity(study)
    assert np.isnan(result["first"].sel(output="occupancy")).all()
    assert json.loads(result.attrs["notes"]) == [
        "occupancy is the same at every point: it has no indices"
    ]
    one_value = result.sel(output="time", axis="threads_per_block")
    assert (float(one_value["first"]), float(one_value["total"])) == (0, 0)
    assert float(result.total.sel(output="time", axis="active_sms")) == pytest.approx(1)


def test_measurements_on_a_grid() -> None:
    sample = Path(__file__).parents[1] / "data" / "t4.json"
    result = dse.sensitivity(dse.open(sample), output="time")
    assert int(result.counted.item()) == 4
    first, _ = by_definition(dse.open(sample).time.values)
    assert result["first"].values[0] == pytest.approx(
        np.array(first) / np.nanvar(dse.open(sample).time.values)
    )
    with pytest.raises(DseError, match="make a grid of the measurements"):
        dse.sensitivity(dse.open(sample, shape="rows"), output="time")


# --- elasticities
def test_elasticities_are_those_of_the_closed_form() -> None:
    """Transit with smooth supply: throughput solves a quadratic, derived by SymPy."""
    study = transit(set={"lanes_width": 32, "mem_latency": 600, "supply": "smooth"})
    at = {"threads": 256, "intensity": 20, "ms_peak": 1}
    result = dse.sensitivity(study, output="ms_throughput", at=at)
    form = dse.model("transit").closed_form("ms_throughput", expand=True, supply="smooth")
    values = {**at, "lanes_width": 32, "mem_latency": 600, "arithmetic_latency": 1}
    names = {symbol.name: symbol for symbol in form.free_symbols}
    given = {symbol: values[name] for name, symbol in names.items()}
    y = form.subs(given)
    for name, symbol in names.items():
        slope = sympy.diff(form, symbol).subs(given).doit() * values[name] / y
        here = result.elasticity.sel(input=name).item()
        tolerance = 2e-3 if name == "threads" else 1e-6  # threads are whole: they move by a step
        assert here == pytest.approx(float(slope), rel=tolerance, abs=1e-7), name
    assert result.value.item() == pytest.approx(float(y))
    assert json.loads(result.attrs["configuration"]) == at


def test_a_border_has_two_slopes_and_no_elasticity() -> None:
    """Enough threads, and ms_peak = lanes_width / intensity: both limit, either on its way down."""
    given = {"lanes_width": 32, "ms_peak": 0.32, "mem_latency": 600}
    study = transit(axes={"threads": [100.0, 900.0], "intensity": [100]}, set=given)
    result = dse.sensitivity(study, output="ms_throughput", at={"threads": 900})
    for name in ("ms_peak", "lanes_width"):
        one = result.sel(input=name)
        assert np.isnan(one.elasticity).all()
        assert one.elasticity_down.item() == pytest.approx(1, abs=1e-6)
        assert one.elasticity_up.item() == pytest.approx(0, abs=1e-6)
    assert result.elasticity_up.sel(input="intensity").item() == pytest.approx(-1, abs=1e-6)


def test_no_step_leaves_a_domain_or_breaks_a_rule() -> None:
    result = dse.sensitivity(merge(), output="time", at={"active_sms": 16, "workload": "svm"})
    sms = result.sel(input="active_sms")  # there are 16
    assert np.isnan(sms.elasticity_up.item())
    assert sms.elasticity.item() == sms.elasticity_down.item() == pytest.approx(-1, abs=1e-3)
    loss = result.sel(input="imbalance_loss")  # at its least, 1
    assert np.isnan(loss.elasticity_down.item())
    assert np.isfinite(loss.elasticity.item())
    assert not any("PLACE" in name for name in result.input.values)
    outside = dse.sensitivity(merge(), output="time", at={"active_sms": 18})
    assert np.isnan(outside.value.item())
    assert np.isnan(outside.elasticity).all()


def test_without_a_configuration_one_that_counts_is_found() -> None:
    study = merge(axes={**merge().axes, "active_sms": range(12, 40)})
    result = dse.sensitivity(study, output="time")
    assert json.loads(result.attrs["configuration"])["active_sms"] == 16
    assert np.isfinite(result.value.item())


def test_elasticities_of_a_dataset_lie_between_neighbours() -> None:
    ds = transit().run()
    at = {"threads": 256, "intensity": 10, "ms_peak": 1}
    result = dse.sensitivity(ds, output="cs_throughput", at=at)
    here = ds.cs_throughput.sel(intensity=10, ms_peak=1)
    wanted = np.log(here.sel(threads=512) / here.sel(threads=128)) / np.log(4)
    assert result.elasticity.sel(input="threads").item() == pytest.approx(wanted.item())
    up = np.log(ds.cs_throughput.sel(threads=256, intensity=20, ms_peak=1) / here.sel(threads=256))
    assert result.elasticity.sel(input="intensity").item() == pytest.approx(up.item() / np.log(2))


@pytest.mark.parametrize(
    ("x", "y", "to", "at"),
    [(0, 1, 1, 2), (1, 0, 2, 1), (1, -1, 2, 1), (1, 1, 1, 2), (1, 1, 2, np.inf)],
)
def test_no_arc_where_there_is_no_logarithm(x: float, y: float, to: float, at: float) -> None:
    assert np.isnan(log_slope(x, y, to, at))
    assert log_slope(1, -2, 2, -4) == 1


# --- what cannot be had
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output": "thruput"}, "thruput"),
        ({"output": "case"}, "case is a case, not an amount"),
        ({"output": []}, "output is empty"),
        ({"output": 5}, "output = 5"),
        ({"output": "time", "at": {"tile": 3}}, "at: 'tile' is no axis"),
        ({"output": "time", "at": {"active_sms": 99}}, "is not on its axis"),
        ({"output": "time", "at": "svm"}, "expected a mapping"),
        ({"output": "time", "where": "time < 0 s"}, "at every point|no point"),
    ],
)
@pytest.mark.parametrize("kind", ["study", "dataset"])
def test_what_cannot_be_had_is_said(given: dict[str, Any], message: str, kind: str) -> None:
    source = merge() if kind == "study" else merge().run()
    with pytest.raises(DseError, match=message):
        dse.sensitivity(source, **given)


def test_sources_without_axes_or_of_another_kind() -> None:
    alone = dse.Study(model="transit", set={**POINT, "threads": 256})
    for source in (alone, alone.run()):
        with pytest.raises(DseError, match="no axes"):
            dse.sensitivity(source)
    with pytest.raises(DseError, match="expected a Study"):
        dse.sensitivity({"a": 1})  # type: ignore[arg-type]


# --- the command and the figure
def test_by_command(run: Run) -> None:
    text = run("sensitivity", "study.toml", "--output", "time", "--at", "active_sms=16").stdout
    assert text.startswith("time: mean ")
    assert "15 of 21 configurations" in text
    assert "active_sms = 16" in text
    data = json.loads(
        run("sensitivity", "study.toml", "--output", "time,occupancy", "--json").stdout
    )
    axes = data["outputs"]["time"]["axes"]
    assert axes["active_sms"]["total"] == pytest.approx(
        float(dse.sensitivity(dse.Study.from_toml("study.toml"), output="time").total.sel(
            output="time", axis="active_sms"))
    )  # fmt: skip
    assert data["outputs"]["occupancy"]["axes"]["active_sms"]["first"] == pytest.approx(0)
    run("sensitivity", "study.toml", "--output", "time", "--plot", "t.svg")
    assert Path("t.svg").read_text().startswith("<?xml")
    run("sensitivity", "study.toml", "--plot", "t.svg", status=2)
    run("sensitivity", "study.toml", "--output", "case", status=2)
    run("run", "study.toml", "--store", "out.zarr")
    assert "active_sms" in run("sensitivity", "out.zarr", "--output", "time").stdout


def test_a_statistic_has_no_elasticities(run: Run) -> None:
    """Neither alone nor in a formula, whose other inputs change the statistic, too."""
    Path("transit.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [128, 256]\nintensity = [10, 20]\n'
        "[set]\nms_peak = 1\nlanes_width = 32\nmem_latency = 600\n"
    )
    mean = "mean(cs_throughput, threads)"
    for text in (mean, f"cs_throughput / {mean}"):
        words = ("sensitivity", "transit.toml", "--output", text)
        printed = run(*words).stdout
        assert f"{text} has no elasticities at " in printed
        assert "(statistics and laws have none): name a quantity without them" in printed
        assert "no input changes it" not in printed
        inputs = json.loads(run(*words, "--json").stdout)["outputs"][text]["inputs"]
        assert all(each["elasticity"] is None for each in inputs.values())


def test_a_tornado_shows_the_widest_on_top() -> None:
    result = dse.sensitivity(merge(), output="time")
    ax = draw_tornado(result, "time")
    (bars,) = ax.containers
    one = result.sel(output="time")
    wide = (one.high - one.low).values
    order = np.argsort(-wide, kind="stable")
    names = [tick.get_text().partition("\n")[0] for tick in ax.get_yticklabels()]
    assert names == list(one.axis.values[order])
    seen = 0.005 * wide.max()  # what is shorter is drawn so long
    assert [bar.get_width() for bar in bars] == pytest.approx(wide[order].tolist(), abs=seen)
    assert [bar.get_x() for bar in bars] == pytest.approx(one.low.values[order].tolist())
    still = tornado(merge(), "time", at={"workload": "svm"})
    assert "workload" not in [tick.get_text() for tick in still.get_yticklabels()]


MOE = {"hidden": 7168, "intermediate": 2048, "experts": 256, "topk": 8, "dtype": "fp8_block"}


@pytest.mark.parametrize("routing", ["balanced", "power: 1.2"])
def test_elasticities_follow_the_tables_of_a_model(routing: str) -> None:
    """The tokens of the fullest rank are a table of tokens, topk, experts, ranks and the law."""
    place = {"expert_parallel": 8, "tokens": 4096, "routing": routing}
    axes = {"expert_parallel": [4, 8], "tokens": [256, 4096], "routing": ["balanced", "power: 1.2"]}
    study = dse.Study(model="moe", machine="h100_sxm", axes=axes, set=MOE)
    result = dse.sensitivity(study, output=["time", "moe_rank_tokens"], at=place)
    assert not {"moe_rank_tokens", "moe_occupied_experts"} & set(result.input.values.tolist())

    def outputs(**changed: float) -> dse.Study:
        names = ["time", "moe_rank_tokens"]
        given: dict[str, Any] = {**MOE, **place, **changed}
        return dse.evaluate("moe", machine="h100_sxm", outputs=names, **given)

    base, values = outputs(), {**MOE, **place}
    steps = {"expert_parallel": 1, "tokens": 41, "topk": 1, "experts": 3, "hidden": 72}
    for name, step in steps.items():
        for side, to in (("down", values[name] - step), ("up", values[name] + step)):
            there, one = outputs(**{name: to}), result[f"elasticity_{side}"].sel(input=name)
            for output in ("time", "moe_rank_tokens"):
                true = log_slope(values[name], float(base[output]), to, float(there[output]))
                assert one.sel(output=output).item() == pytest.approx(true, rel=1e-9), (name, to)


def test_a_table_that_fails_at_a_step_is_left_out_and_named() -> None:
    """More experts per token than the two of the layer have no law; fewer have one."""
    given = {**MOE, "experts": 2, "topk": 2, "routing": "power: 1.2"}
    axes = {"tokens": [256, 4096], "expert_parallel": [1, 2]}
    study = dse.Study(model="moe", machine="h100_sxm", axes=axes, set=given)
    result = dse.sensitivity(study, output="moe_rank_tokens", at={"expert_parallel": 2})
    assert np.isnan(result.elasticity_up.sel(input="topk").item())
    assert result.elasticity_down.sel(input="topk").item() > 0
    notes = json.loads(result.attrs["notes"])
    assert any(note.startswith("no elasticity by topk towards 3: ") for note in notes), notes
