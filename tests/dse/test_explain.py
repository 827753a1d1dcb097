"""One configuration, every intermediate."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import dse
from dse import DseError, Study
from symbolic.errors import UnknownNameError
from symbolic.library import load_model

SPEC: dict[str, Any] = {
    "model": "occupancy + mwp_cwp",
    "workload": "svm",
    "axes": {
        "machine": ["gtx280", "8800gt"],
        "waves": ["whole", "fractional"],
        "threads_per_block": [64, 128, 768],
        "pair": {"zip": {"core_clock": ["1 GHz", "1.2 GHz"], "active_sms": [10, 20]}},
    },
    "set": {"mem_bandwidth": "100 GB/s", "sync_insts": "mem_insts / 2"},
    "where": "time <= 1 s",
}


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(**SPEC)


def test_every_step_is_what_its_equation_gives(study: Study) -> None:
    point = {"machine": "8800gt", "waves": "fractional", "threads_per_block": 128, "pair": 0}
    explanation = study.explain(**point)
    assert explanation.point == point
    model = load_model(SPEC["model"])
    values = {step.name: step.value for step in explanation.steps}
    numbers = {
        name: float(str(value).split(" ", 1)[0]) if isinstance(value, str) else value
        for name, value in values.items()
        if name != "machine"  # a label, by which the departure delays are formulas
    }
    computed = 0
    for step in explanation.steps:
        result = [eq for eq in model.variants(step.name) if step.source.startswith(eq.source)]
        if not step.how.startswith("equation"):
            continue
        for eq in result:
            if all(f"{k}={v}" in step.source or k not in ("waves",) for k, v in eq.when.items()):
                needs = [numbers[name] for name in eq.inputs]
                if float(eq(*needs)) == numbers[step.name]:
                    computed += 1
                    break
        else:
            pytest.fail(f"{step.name} = {step.value} is of no equation")
    assert computed > 20


def test_the_outputs_are_those_of_the_run(study: Study) -> None:
    ds = study.run()
    at = {"machine": "gtx280", "waves": "whole", "threads_per_block": 64, "pair": 1}
    explanation = study.explain(**at)
    here = ds.sel(at)
    for name in study.grid().outputs:
        value = explanation[name].value
        if "flag_values" in ds[name].attrs:
            number, meaning = str(value).rstrip(")").split(" (")
            assert int(number) == int(here[name])
            flags = dict(
                zip(
                    ds[name].attrs["flag_values"].tolist(),
                    ds[name].attrs["flag_meanings"].split(),
                    strict=True,
                )
            )
            assert meaning.replace(" ", "_") == flags[int(number)]
        else:
            assert value == float(here[name])


def test_where_values_are_from(study: Study) -> None:
    explanation = study.explain(machine="gtx280", threads_per_block=128)
    assert explanation["mem_bandwidth"].source == "set by the study"
    assert explanation["mem_bandwidth"].unit == "B/s"
    assert explanation["sync_insts"].how == "formula"
    assert explanation["threads_per_block"].source == "axis of the study"
    assert explanation["elements"].source.startswith("svm: Hong 2012")
    assert explanation["n_sms"].source.startswith("gtx280: Hong 2012")
    assert explanation["comp_factor"].how == "default"
    assert explanation["repetitions"].source.endswith("with waves=whole")
    assert "blocks" in explanation["repetitions"].how
    other = study.explain(machine="8800gt")
    assert other["n_sms"].source.startswith("8800gt: Hong 2012")


def test_axes_left_out_stand_at_their_first(study: Study) -> None:
    explanation = study.explain()
    assert explanation.point == {
        "machine": "gtx280",
        "waves": "whole",
        "threads_per_block": 64,
        "pair": 0,
    }


def test_steps_come_after_those_they_need(study: Study) -> None:
    explanation = study.explain()
    seen: set[str] = set()
    for step in explanation.steps:
        if step.how.startswith("equation of "):
            assert set(step.how.removeprefix("equation of ").split(", ")) <= seen, step
        seen.add(step.name)


def test_conditions_hold_or_not(study: Study) -> None:
    good = study.explain(machine="gtx280", threads_per_block=128, pair=0)
    assert all(good.conditions.values())
    assert good.conditions["time <= 1 s"] is True
    bad = study.explain(machine="8800gt", threads_per_block=768, pair=1)
    assert bad.conditions["active_sms <= n_sms"] is False
    assert bad.conditions["threads_per_block <= max_threads_per_block"] is False
    assert "active_sms <= n_sms  BROKEN" in str(bad)
    assert "active_sms <= n_sms  holds" in str(good)


def test_text_and_json(study: Study) -> None:
    explanation = study.explain(machine="gtx280", threads_per_block="128")
    text = str(explanation)
    assert text.startswith("at machine = gtx280, waves = whole, threads_per_block = 128, pair = 0")
    for step in explanation.steps:
        assert f"\n{step.name} " in text
    tree = json.loads(json.dumps(explanation.to_dict()))
    assert [step["name"] for step in tree["steps"]] == [step.name for step in explanation.steps]
    assert all(isinstance(value, bool) for value in tree["conditions"].values())


def test_a_value_may_bear_a_unit() -> None:
    study = Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="svm",
        axes={"core_clock": ["1 GHz", "1.3 GHz"], "printed": [True, False]},
        set={"threads_per_block": 128, "active_blocks_per_sm": 4},
    )
    explanation = study.explain(core_clock="1300 MHz", printed=False)
    assert explanation.point == {"core_clock": 1.3e9, "printed": "false"}
    assert explanation["active_sms"].value == explanation["n_sms"].value


def test_labels_and_tables() -> None:
    study = Study(
        model="divergence",
        axes={"paths": ["0.5: 100, 0.5: 20", "1: 7"]},
        set={"warp_size": 32},
        outputs=["divergence_loss"],
    )
    explanation = study.explain(paths="1: 7")
    assert explanation["paths"].value == "1: 7"
    assert explanation["divergence_loss"].value == 1.0
    assert "Hong 2012" in explanation["divergent_cycles"].source


def test_without_axes() -> None:
    given = {"threads": 3, "intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7}
    explanation = Study(model="transit", set=given).explain()
    assert explanation["ms_throughput"].value == 0.3
    assert str(explanation).startswith("at one point")
    assert math.isfinite(float(explanation["threads_in_ms"].value))


@pytest.mark.parametrize(
    ("point", "kind", "message"),
    [
        ({"machin": "gtx280"}, UnknownNameError, "'machin' is no axis of the study; did you mean"),
        (
            {"mem_bandwidth": 3},
            UnknownNameError,
            "'mem_bandwidth' is no axis.*its axes are: machine",
        ),
        ({"machine": "gtx480"}, DseError, "'gtx480' is not on the axis machine"),
        ({"threads_per_block": 100}, DseError, "threads_per_block = 100 is not on its axis"),
        ({"threads_per_block": [64]}, DseError, "is no value of the axis threads_per_block"),
        ({"threads_per_block": "many"}, DseError, "many"),
        ({"waves": "hole"}, DseError, "'hole' is not on the axis waves; did you mean 'whole'"),
    ],
)
def test_refused(study: Study, point: dict[str, Any], kind: type[DseError], message: str) -> None:
    with pytest.raises(kind, match=message):
        study.explain(**point)


def test_an_unknown_step(study: Study) -> None:
    with pytest.raises(UnknownNameError, match=r"'tme' is no step .* did you mean 'time'"):
        study.explain()["tme"]


def test_a_model_is_explained_as_on_the_command_line() -> None:
    given: dict[str, Any] = {"threads_per_block": 256, "registers_per_thread": 40}
    of_model = dse.explain("occupancy", machine="h100_pcie", shared_mem_per_block=0, **given)
    assert of_model["limiter"].value == "1 (registers)"
    by_object = dse.explain(load_model("occupancy"), machine="h100_pcie",
                            shared_mem_per_block=0, **given)  # fmt: skip
    assert by_object.steps == of_model.steps


def test_machine_and_workload_of_a_study_are_labels_of_its_axes() -> None:
    study = dse.Study(
        model="mwp_cwp",
        axes={"machine": ["gtx280", "8800gt"]},
        workload="svm",
        set={"threads_per_block": 128, "active_blocks_per_sm": 4},
    )
    assert dse.explain(study, machine="8800gt")["n_sms"].value == 14
    with pytest.raises(DseError, match="prefer is part of a study"):
        dse.explain(study, prefer="mwp_cwp")
    with pytest.raises(DseError, match="lacks 3 values"):
        dse.explain("occupancy", machine="h100_pcie")
