"""Files of fits: what is written is read again, bit for bit, and studies take it as it stands."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dse
from symbolic.errors import DomainError, DseError, UnitError, UnknownNameError

Run = Callable[..., Result]

ROWS = {
    "kernel": ["sgemm", "sgemm", "sgemm", "fft [2d]", "fft [2d]", "fft [2d]"],
    "core_clock [MHz]": [607, 1012, 1328, 607, 1012, 1328],
    "time [ms]": [18.096, 11.049, 8.6014, 9.31, 6.02, 4.95],
}
OWN = ["stall_time", "core_cycles"]


@pytest.fixture(scope="module")
def two_kernels() -> Any:
    return dse.fit("clock_scaling", ROWS, to="time", per={"kernel": OWN}, residuals="relative")


@pytest.fixture(scope="module")
def supply() -> Any:
    rows = {
        "threads_in_ms": [64, 128, 512, 1024],
        "attained_bandwidth [GB/s]": [1, 2.1, 8, 8.1],
    }
    return dse.fit(
        "transit_supply",
        rows,
        free=["ms_peak_bandwidth", "ms_transition"],
        set={"supply": "smooth"},
    )


def study(fit: Any, **more: Any) -> dse.Study:
    return dse.Study(
        model="clock_scaling",
        axes={"core_clock": ["0.8 GHz", "1 GHz"]},
        outputs=["time"],
        fit=fit,
        **more,
    )


def test_a_file_holds_a_fit_bit_for_bit(two_kernels: Any, supply: Any, tmp_path: Path) -> None:
    for number, fit in enumerate((two_kernels, supply)):
        path = fit.save(tmp_path / f"{number}.fit.json")
        read = dse.load_fit(path)
        assert read == fit.saved_fit
        assert read.values == dict(fit.values)
        assert read.set == fit.set
        assert read.standard_errors == dict(fit.standard_errors)
        np.testing.assert_array_equal(read.covariance, fit.covariance)
        assert [read.set_of(label) for label in fit.labels] == [*map(fit.set_of, fit.labels)]
    with pytest.raises(UnknownNameError, match="'fft' is no label of this fit"):
        dse.load_fit(tmp_path / "0.fit.json").set_of("fft")


def test_a_value_at_an_end_has_no_error(tmp_path: Path) -> None:
    rows = {"core_clock": [1e9, 2e9, 4e9], "time": [1.0, 0.4, 0.2]}
    fit = dse.fit("clock_scaling", rows, to="time", free=OWN)
    read = dse.load_fit(fit.save(tmp_path / "a.fit.json"))
    assert fit.at_end == read.at_end == ("stall_time",)
    assert np.isnan(read.standard_errors["stall_time"])
    assert np.isnan(read.covariance).tolist() == [[True, True], [True, False]]
    source = dse.explain(study(read))["stall_time"].source
    assert source.endswith("an end of its domain or bounds")


def test_studies_take_a_fit_as_it_stands(two_kernels: Any, tmp_path: Path) -> None:
    path = two_kernels.save(tmp_path / "runs.fit.json")
    own = study({"file": path, "label": "sgemm"})
    by_hand = study(None, set=two_kernels.set_of("sgemm"))
    assert own.run()["time"].values.tolist() == by_hand.run()["time"].values.tolist()
    step = dse.explain(own)["core_cycles"]
    assert step.source.startswith("fitted: clock_scaling to time of 6 rows of a dict in memory")
    sources = json.loads(own.run().attrs["sources"])
    assert sources["core_cycles"] == step.source
    (tmp_path / "study.toml").write_text(
        'model = "clock_scaling"\noutputs = ["time"]\n'
        'fit = { file = "runs.fit.json", label = "sgemm" }\n'
        '[axes]\ncore_clock = ["0.8 GHz", "1 GHz"]\n'
    )
    assert dse.Study.from_toml(tmp_path / "study.toml").text() == own.text()
    assert pickle.loads(pickle.dumps(own)).text() == own.text()
    assert replace(own, where=["time > 1"]).fit == own.fit
    models = ["clock_scaling", "clock_scaling + transit_supply"]
    given = {"axes": {"core_clock": [1e9]}, "outputs": ["time"]}
    both = dse.Study(model=models, fit={"file": path, "label": "sgemm"}, **given)
    assert [each.fit.values for each in both.each.values()] == [own.fit.values] * 2


def test_set_counts_before_a_fit_and_a_fit_before_files(supply: Any) -> None:
    given = {"model": "transit_supply", "outputs": ["attained_bandwidth"]}
    taken = dse.Study(**given, set={"threads_in_ms": 300}, fit=supply)
    steps = {step.name: step for step in dse.explain(taken).steps}
    assert steps["ms_transition"].value == supply["ms_transition"]
    assert taken._parts.switches == {"supply": "smooth"}
    over = {"threads_in_ms": 300, "ms_transition": 100, "supply": "sharp"}
    fixed = dse.Study(**given, set=over, fit=supply)
    assert dse.explain(fixed)["ms_transition"].source == "set by the study"
    assert fixed._parts.switches == {"supply": "sharp"}
    swept = dse.Study(**given, set={"ms_transition": 9}, axes={"threads_in_ms": [3]}, fit=supply)
    assert swept.run()["attained_bandwidth"].shape == (1,)
    lit = {"active_tpcs": [2, 5, 8], "placement_power": [110, 122, 133]}
    options = {"to": "placement_power", "machine": "gtx280"}
    watts = dse.fit("placement", lit, free=["placement_base_power", "power_per_tpc"], **options)
    placed = dse.Study(
        model="placement",
        machine="gtx280",
        set={"active_tpcs": 4},
        outputs=["placement_power"],
        fit=watts,
    )
    step = dse.explain(placed)["power_per_tpc"]
    assert step.value == watts["power_per_tpc"] != 3.9276
    assert step.source.startswith("fitted: placement to placement_power of 3 rows of a dict in mem")
    assert " on gtx280, standard error " in step.source


def test_a_store_tells_the_study_of_a_fit_again(two_kernels: Any, tmp_path: Path) -> None:
    fit = {"file": two_kernels.save(tmp_path / "runs.fit.json"), "label": "sgemm"}
    one = study(fit)
    store = tmp_path / "out.zarr"
    one.run(store=store)
    (tmp_path / "runs.fit.json").unlink()
    assert dse.verify(store).damages == ()
    squared = dse.optimum(store, minimize="time * time")  # computed of the study that it tells
    assert squared["time"].item() == one.optimum(minimize="time * time")["time"].item()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"format": "simt-dse fit 9"}, DseError, "expected 'simt-dse fit 1'"),
        ({"names": ["a"]}, DseError, "is damaged"),
        ({"values": [1.0, None]}, DseError, "a value is missing"),
        ({"names": ["stall_time", "stall_time"]}, DseError, "occurs twice"),
        ({"units": ["ms", "cycle"]}, UnitError, "stall_time was fitted in ms: expected s"),
        ({"values": [-1.0, 1.0]}, DomainError, "stall_time"),
        ({"names": ["stall_tim", "core_cycles"]}, UnknownNameError, "did you mean 'stall_time'"),
        ({"covariance": [[1.0]]}, DseError, "is damaged"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    change: dict[str, Any], error: type[Exception], says: str, tmp_path: Path
) -> None:
    rows = {key: column[:3] for key, column in ROWS.items() if key != "kernel"}
    tree = dse.fit("clock_scaling", rows, to="time", free=OWN).saved_fit.to_dict()
    path = tmp_path / "x.fit.json"
    path.write_text(json.dumps(tree | change))
    with pytest.raises(error, match=says):
        study(path)


def test_what_is_no_fit_is_said(supply: Any, two_kernels: Any, tmp_path: Path) -> None:
    for wrong in (3, {"files": "a"}, ["x", 3], "nonesuch.fit.json", tmp_path):
        with pytest.raises(DseError, match=r"fit"):
            study(wrong)
    (tmp_path / "x.fit.json").write_text("{")
    with pytest.raises(DseError, match="is no JSON"):
        dse.load_fit(tmp_path / "x.fit.json")
    with pytest.raises(DseError, match="expected a name that ends in"):
        supply.save(tmp_path / "x.json")
    with pytest.raises(DseError, match="exists"):
        supply.save(tmp_path / "x.fit.json")
    other = dse.fit("clock_scaling", ROWS, columns=["core_clock", "time"], to="time", free=OWN)
    mine = two_kernels.saved_fit
    with pytest.raises(DseError, match="fit gives stall_time twice"):
        study([other, {"file": mine.save(tmp_path / "b.fit.json"), "label": "sgemm"}])


def test_the_command_saves_a_fit(run: Run, tmp_path: Path) -> None:
    rows = [list(ROWS), *zip(*ROWS.values(), strict=True)]
    (tmp_path / "runs.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    out = tmp_path / "runs.fit.json"
    command = ["fit", "clock_scaling", str(tmp_path / "runs.csv"), "--to", "time", "--relative"]
    command += ["--per", "kernel=stall_time,core_cycles", "--save", str(out)]
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert f'for fit = "{out}" of a study' in result.output
    assert dse.load_fit(out).rows["data"] == "runs.csv"
    assert dse.load_fit(out).rows["places"] == [[0, 5]]
    assert "exists: remove it" in run(*command, status=2).output


def test_the_command_calibrates(run: Run, tmp_path: Path) -> None:
    """Known values come back; columns of a profile that the model does not take are not read."""
    lines = ["gpu,dram_bytes,mem_bandwidth,counter,time"]
    lines += [
        f"{gpu},{moved},{printed},7,{5e-6 + moved / (0.8 * printed)}"
        for gpu, printed in (("a", 1e12), ("b", 5e11), ("c", 2e12))
        for moved in (1e6, 1e7, 1e8)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    command = ["calibrate", "streaming", str(tmp_path / "runs.csv")]
    free = ["--free", "startup_time,bandwidth_share"]
    out = str(tmp_path / "runs.fit.json")
    result = run(*command, *free, "--leave-out", "gpu", "--save", out)
    assert "error of each gpu left out, mean 0.00%" in result.output
    read = dse.load_fit(out)
    assert read.set == pytest.approx({"startup_time": 5e-6, "bandwidth_share": 0.8}, rel=1e-6)
    assert list(read.left_out["groups"]) == ["a", "b", "c"]
    assert "name the quantities to find" in run(*command, status=2).output
    more = "startup_time,bandwidth_share,measured_share"
    assert "measured_share" in run(*command, "--free", more, status=2).output
    assert "no column 'gp'" in run(*command, *free, "--leave-out", "gp", status=2).output


def test_tmm_calibrated_is_one_file_too(tmp_path: Path) -> None:
    times = {
        "tile_dim": [32, 32, 32, 32, 32, 32],
        "threads_per_core": [2, 4, 8, 16, 24, 32],
        "time": [182.0, 118.0, 86.0, 70.5, 69.5, 70.0],
    }
    result = dse.calibrate(times, machine="gtx480", workload="apsp")
    read = dse.load_fit(result.save(tmp_path / "tmm.fit.json"))
    assert read.set == result.set
    assert read.rows["used"] == 6
    assert read.covariance[0, 2] == read.covariance[1, 2] == 0
    assert not set(read.set_values) & set(read.values)
