"""The command line without a study file: a model at values, and a study changed by options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dse
from tests.long import long

Run = Callable[..., Result]
SVM = ("--machine", "gtx280", "--workload", "svm")


def test_evaluate_prints_what_dse_evaluate_yields(run: Run) -> None:
    text = run("evaluate", "ipp", *SVM, "threads_per_block=256").stdout
    ds = dse.evaluate("ipp", machine="gtx280", workload="svm", threads_per_block=256)
    data = run("evaluate", "ipp", *SVM, "threads_per_block=256", "--json").stdout
    (row,) = json.loads(data)["rows"]
    assert row["time"] == float(ds["time"])
    assert row["energy"] == float(ds["energy"])
    assert "27.36 ms" in text
    assert "computation bound" in text
    assert "energy of the run" in text


def test_evaluate_takes_several_values_and_ranges_as_axes(run: Run) -> None:
    several = ("threads_per_block=64:256:64", "machine=gtx280,8800gt", "core_clock=1.2 GHz")
    data = run("evaluate", "mwp_cwp + occupancy", "workload=svm", *several, "--json").stdout
    rows = json.loads(data)["rows"]
    assert len(rows) == 8
    for row in rows:
        axes = {name: row[name] for name in ("machine", "threads_per_block")}
        ds = dse.evaluate("mwp_cwp + occupancy", workload="svm", core_clock="1.2 GHz", **axes)
        assert row["time"] == float(ds["time"])


def test_evaluate_says_why_rows_have_no_values(run: Run) -> None:
    """One line for each rule that is broken, also if several rows break it."""
    words = ("evaluate", "gemm", "m=16,32", "n=4096", "k=4096", "machine=a100_80,h100_sxm")
    text = run(*words, "dtype=bf16,fp8").stdout
    (line,) = [line for line in text.splitlines() if "no values" in line]
    where = "product_rows = 16, machine = a100_80, dtype = fp8"
    assert (
        f"no values at {where}: the model's rule 'gemm_peak > 0' is broken (gemm_peak = 0" in line
    )
    assert "no values" not in run(*words, "dtype=bf16").stdout


def test_evaluate_tells_which_outputs_lack_what(run: Run) -> None:
    Path("w.toml").write_text(
        'title = "one"\n[values]\n'
        + "".join(
            f'{name} = {{ value = {value}, assumed = "for a test" }}\n'
            for name, value in {
                "comp_insts": 13,
                "coalesced_insts": 3,
                "uncoalesced_insts": 0,
                "sync_insts": 0,
                "threads_per_block": 256,
                "blocks": 4096,
                "registers_per_thread": 12,
                "shared_mem_per_block": 0,
                "bytes_per_thread": 4,
                "mem_strength": 2,
            }.items()
        )
    )
    text = run("evaluate", "ipp", "--machine", "gtx280", "--workload", "w.toml").stdout
    assert "\ntime " in text
    assert "perf_per_watt needs elements: set it" in text
    refused = run("evaluate", "ipp", "--machine", "gtx280", status=2).stderr
    assert "lacks" in refused
    assert "comp_insts" in refused


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("evaluate nope", "is no model"),
        ("evaluate study.toml", "is no model but a study: dse explain study.toml, or dse run"),
        ("evaluate ipp threads_per_block", "is no NAME=VALUE, such as active_sms=20"),
        ("evaluate ipp threads_per_blok=1", "did you mean 'threads_per_block'?"),
        ("evaluate ipp --machine gtx28", "did you mean 'gtx280'?"),
        ("evaluate ipp --machine gtx280 machine=8800gt", "machine is given twice"),
        ("evaluate ipp active_sms=1:2:3:4", "expected START:STOP"),
        ("advise nope", "is no model"),
        ("advise nowhere.toml", "cannot be read"),
        ("run study.toml --set active_sms", "expected QUANTITY=VALUE"),
        ("run study.toml --set active_sms=2 --axis active_sms=2,3", "is set and is an axis"),
        ("run study.toml --set active_sm=2", "did you mean 'active_sms'?"),
    ],
)
def test_misuse_without_a_study_is_told(run: Run, command: str, says: str) -> None:
    assert says in run(*command.split(), status=2).stderr


@long
def test_advise_and_explain_of_a_model_without_a_study(run: Run) -> None:
    at = {"machine": "gtx280", "workload": "svm", "threads_per_block": 256}
    point = [f"{name}={value}" for name, value in at.items()]
    expected = dse.advise("ipp", goal="energy", levers="designer", **at)
    options = ("--goal", "energy", "--levers", "designer")
    assert run("advise", "ipp", *point, *options).stdout == f"{expected}\n"
    assert run("advise", "ipp", *SVM, *point[2:], *options).stdout == f"{expected}\n"
    text = run("explain", "ipp", *SVM, "threads_per_block=256").stdout
    assert text.startswith("at one point")
    assert "svm: Hong 2012, Table 4" in text


def test_run_with_set_and_axis_is_the_study_so_changed(run: Run) -> None:
    text = Path("study.toml").read_text()
    Path("other.toml").write_text(
        text.replace('"8800gtx"', '"gtx280"').replace("threads_per_block = [64, 128, 256]\n", "")
        + "core_clock = ['1 GHz', '1.2 GHz']\n[set]\nthreads_per_block = 96\n"
    )
    changes = ["--set", "machine=gtx280", "--set", "threads_per_block=96"]
    changes += ["--axis", "core_clock=1 GHz,1.2 GHz"]
    run("run", "study.toml", *changes, "--store", "out.zarr")
    data = json.loads(run("run", "other.toml", "--store", "out.zarr", "--json").stdout)
    assert data["computed"] is False
    assert data["points"] == 14
    refused = run("run", "study.toml", "--store", "out.zarr", status=2).stderr
    assert "8800gtx" in refused
    again = ["--axis", "machine=8800gtx,gtx280", *changes[2:]]
    grown = json.loads(run("run", "study.toml", *again, "--json").stdout)
    assert grown["axes"]["machine"]["size"] == 2
    assert grown["points"] == 28


def test_evaluate_tells_outputs_that_depend_on_other_axes_in_one_table(run: Run) -> None:
    several = ("threads_per_block=128,256", "elements=1000,2000", "warp_size=32")
    wanted = ("--outputs", "time,perf_per_watt,occupancy")
    data = json.loads(run("evaluate", "ipp + occupancy", *SVM, *several, *wanted, "--json").stdout)
    assert data["over"] == ["threads_per_block", "elements"]
    assert len(data["rows"]) == 4
    assert len({row["perf_per_watt"] for row in data["rows"]}) == 4
    assert len({row["time"] for row in data["rows"]}) == 2
