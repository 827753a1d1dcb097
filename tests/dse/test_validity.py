"""A study whose machine is beyond what its model is meant for says so, and goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dse
from dse.inputs.merge import merge_inputs
from dse.inputs.validity import validity_warnings

SAID = "mwp_cwp has no caches: every access goes to DRAM"
GIVEN = {"workload": "svm", "set": {"threads_per_block": 256}}


def study(machine: str, **more: object) -> dse.Study:
    return dse.Study(model="occupancy + mwp_cwp", machine=machine, **{**GIVEN, **more})


@pytest.mark.parametrize(
    ("machine", "beyond"), [("gtx280", False), ("8800gt", False), ("gtx580", True), ("l40", True)]
)
def test_a_machine_with_caches_is_noted_where_the_model_has_none(
    machine: str, beyond: bool
) -> None:
    notes = study(machine).plan().notes
    assert [note.startswith(f"{machine}: {SAID}") for note in notes] == [True] * beyond
    assert ("note: " in str(study(machine).plan())) == beyond
    ds = study(machine).run()
    assert json.loads(ds.attrs.get("validity", "[]")) == [*notes]


def test_of_several_machines_those_beyond_are_named() -> None:
    axes = {"machine": ["gtx280", "l40", "v100_pcie"]}
    several = dse.Study(model="occupancy + mwp_cwp", axes=axes, **GIVEN)
    assert [note.partition(":")[0] for note in several.plan().notes] == ["l40, v100_pcie"]


def test_what_a_study_sets_or_varies_counts() -> None:
    given = {"threads_per_block": 256, "cache_levels": 0}
    assert study("l40", set=given).plan().notes == ()
    assert study("gtx280", axes={"cache_levels": [0, 2]}).plan().notes[0].startswith("axis: ")


def test_a_model_that_sets_no_limit_says_nothing() -> None:
    alone = dse.Study(model="occupancy", machine="l40", set={
        "threads_per_block": 64, "registers_per_thread": 9, "shared_mem_per_block": 0})  # fmt: skip
    assert alone.plan().notes == ()


def test_power_is_meant_for_the_gpus_whose_parameters_it_has() -> None:
    given: dict[str, object] = {"model": "ipp", "outputs": ["time"], **GIVEN}
    notes = dse.Study(machine="l40", **given).plan().notes
    assert [note.startswith(f"l40: {what}") for note in notes for what in (SAID, "power ")] == [
        *(True, False),
        *(False, True),
    ]
    assert dse.Study(machine="gtx280", **given).plan().notes == ()


OWN = """
from symbolic.model import Validity

import dse

VALIDITY = Validity(
    statement="meant for the GPUs of its time", quantity="release_year", maximum=2010
)


@dse.equation(source="mine", unit="s", meaning="a time")
def my_time(n_sms):
    return 1 / n_sms
"""


def test_a_model_of_ones_own_says_up_to_where_it_holds(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    own = dse.Study(model=str(tmp_path / "mine.py"), machine="l40")
    assert own.plan().notes == ("l40: meant for the GPUs of its time",)
    joined = dse.model(f"{tmp_path / 'mine.py'} + mwp_cwp")
    assert {row.quantity for row in joined.validity} == {"release_year", "cache_levels"}


def test_the_command_line_tells_it(run: Callable[..., Result]) -> None:
    command = ("evaluate", "occupancy + mwp_cwp", "--workload", "svm", "threads_per_block=256")
    assert f"note: l40: {SAID}" in run(*command, "--machine", "l40").stdout
    assert "note: " not in run(*command, "--machine", "gtx280").stdout
    Path("s.toml").write_text(
        'model = "occupancy + mwp_cwp"\nmachine = "l40"\nworkload = "svm"\n'
        "[set]\nthreads_per_block = 256\n"
    )
    assert f"note: l40: {SAID}" in run("plan", "s.toml").stdout
    assert f"note: l40: {SAID}" in run("run", "s.toml").stdout
    assert json.loads(run("run", "s.toml", "--json").stdout)["notes"][0].startswith("l40: ")


def test_every_shipped_model_says_where_it_holds_or_why_it_does_anywhere() -> None:
    """One row or more for each; what it asks of a machine is a quantity that files may tell."""
    by_model = {name: dse.model(name).validity for name in dse.models()}
    assert [name for name, rows in by_model.items() if not rows] == []
    for name, rows in by_model.items():
        for row in rows:
            limits = [end for end in (row.minimum, row.maximum) if math.isfinite(end)]
            assert len(row.statement) > 20
            assert bool(limits) == bool(row.quantity), name
            assert not row.quantity or any(
                row.quantity in dse.machine(m).values for m in dse.machines()
            )


@pytest.mark.parametrize(
    ("model", "within", "beyond"),
    [
        ("temperature", "gtx280", "gtx580"),
        ("tmm", "gtx480", "l40"),
        ("latency_roofline", "l40", "gtx280"),
    ],
)
def test_years_and_caches_count_from_both_ends(model: str, within: str, beyond: str) -> None:
    for machine, many in ((within, 0), (beyond, 1)):
        parts = merge_inputs(dse.model(model), (), entries={"machine": machine}, set_values={})
        assert len(validity_warnings(parts)) == many
