"""The law of an output: exact where laws are enumerated or one goes one way, else with errors."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import dse
from symbolic.errors import DseError
from tests.dse.conftest import Run

GIVEN = {"intensity": 10, "lanes_width": 32, "ms_peak": 1}
NORMAL = {"mem_latency": dse.normal(600, 60), "draws": 256}


def transit(**more):
    given = {"model": "transit", "axes": {"threads": [256, 512, 1024]}, "set": GIVEN}
    return dse.Study(**{**given, "random": NORMAL, "outputs": ["cs_throughput"], **more})


def test_enumerated_values_have_their_chances():
    laws = {"intensity": dse.discrete([1, 2, 4], [1, 1, 2]), "mem_latency": dse.discrete([64, 128])}
    result = transit(random=laws, set={"lanes_width": 32, "ms_peak": 1}).law(
        "intensity * 128 / mem_latency"
    )
    chances = {1: (1, 8), 2: (2, 8), 4: (3, 8), 8: (2, 8)}  # 4 is made in two ways
    assert dict(zip(result.values, map(Fraction, result.weights), strict=True)) == {
        value: Fraction(*chance) for value, chance in chances.items()
    }
    assert result.way == "enumerated"
    assert Fraction(result.mean) == Fraction(1 + 4 + 12 + 16, 8)
    assert [result.quantile(q) for q in (0, 1 / 8, 0.3, 0.5, 1)] == [1, 1, 2, 4, 8]
    assert [result.cdf(x) for x in (0.9, 1, 4, 9)] == [0, 1 / 8, 6 / 8, 1]
    assert result.error("mean") == result.error("quantile", 0.5) == 0


def test_one_input_that_enters_one_way_is_exact():
    result = transit().law("cs_throughput", at={"threads": 256})
    assert result.way == "monotone"
    law = scipy.stats.truncnorm(-10, np.inf, 600, 60)
    for q in (0.001, 0.3, 0.5, 0.99):
        exact = 2560 / (law.ppf(1 - q) + 10)
        assert result.quantile(q) == pytest.approx(exact, rel=1e-9)
        assert result.cdf(exact) == pytest.approx(q, rel=1e-6)
    assert result.cdf(0) == 0
    assert result.cdf(1e9) == 1
    assert abs(result.mean - 2560 * law.expect(lambda x: 1 / (x + 10))) < 2 * result.error("mean")
    assert result.error("quantile", 0.3) == result.error("cdf", 4.0) == 0 < result.error("mean")
    rising = transit().law("mem_latency * mem_latency")
    assert rising.quantile(0.9) == pytest.approx(law.ppf(0.9) ** 2, rel=1e-9)


def test_what_turns_round_is_not_taken_for_monotone():
    result = transit().law("absolute(mem_latency - 600)")
    assert result.way == "draws"
    assert abs(result.quantile(0.5) - 60 * 0.6744898) <= result.error("quantile", 0.5)
    assert abs(result.cdf(60) - 0.6826895) <= result.error("cdf", 60)
    assert abs(result.std - 60 * math.sqrt(1 - 2 / math.pi)) < 2 * result.error("std")


def test_one_discrete_input_among_others_is_enumerated():
    laws = {**NORMAL, "intensity": dse.discrete([1, 3], [1, 3])}
    result = transit(random=laws, set={"lanes_width": 32, "ms_peak": 1}).law(
        "intensity * threads", at={"threads": 512}
    )
    assert (result.way, result.values.tolist()) == ("enumerated", [512, 1536])
    assert result.weights.tolist() == [0.25, 0.75]


def test_what_is_not_feasible_is_told():
    laws = {"mem_latency": dse.discrete([100, 600, 5000])}
    study = transit(random=laws, axes={"threads": [256]})
    assert study.law("cs_throughput").undefined == 0
    options = {"where": "cs_throughput >= 1"}
    with pytest.raises(DseError, match="chance"):
        transit(random=laws, **options)


@pytest.mark.parametrize(
    ("more", "arguments", "message"),
    [
        ({}, ("cs_throughput",), "differs along threads.*'threads': 256"),
        ({}, ("cs_throughput", {"thread": 1}), "no axis.*threads"),
        ({}, ("cs_throughput", {"threads": 3}), "not on its axis"),
        ({}, ("cs_throughput", "threads=3"), "expected a mapping"),
        ({}, (["threads", "ms_peak"],), "expected one quantity"),
        ({"random": {}, "set": {**GIVEN, "mem_latency": 600}}, ("threads",), "no input is random"),
    ],
)
def test_bad_questions_are_refused(more, arguments, message):
    with pytest.raises(DseError, match=message):
        transit(**more).law(*arguments)


def test_bad_levels_are_refused():
    result = transit().law("cs_throughput", at={"threads": 256})
    for wrong in (-0.1, 1.1, "a", True):
        with pytest.raises(DseError, match="expected a probability from 0 to 1"):
            result.quantile(wrong)
    with pytest.raises(DseError, match="expected mean, std"):
        result.error("median")


STUDY = """model = "transit"
axes = { threads = [256, 512, 1024] }
set = { intensity = 10, lanes_width = 32 }
random = { mem_latency = "discrete: 300, 600", ms_peak = "discrete: 1: 3, 1.5: 1" }
best = { maximize = "cs_throughput - threads / 128" }
"""


def test_the_command_line_tells_them(run: Run) -> None:
    Path("u.toml").write_text(STUDY)
    data = json.loads(run("chances", "u.toml", "--json").stdout)
    assert sum(row["chance"] for row in data["rows"]) == 1
    assert "configurations can be the best: maximize" in run("chances", "u.toml").stdout
    data = json.loads(run("information", "u.toml", "--json").stdout)
    assert data["evpi"] >= max(row["evppi"] for row in data["sets"])
    output = run("information", "u.toml", "--set-of", "mem_latency,ms_peak").stdout
    assert f"measure next: {data['next']}" in output
    assert "exact" in output
    data = json.loads(run("law", "u.toml", "mem_latency", "--json").stdout)
    assert data["atoms"] == [[300, 600], [0.5, 0.5]]
    output = run("law", "u.toml", "cs_throughput", "--at", "threads=512", "--plot", "a.png").stdout
    assert "exact: all values enumerated" in output
    assert Path("a.png").exists()


MACHINES = """
model = "occupancy + mwp_cwp"
workload = "svm"
outputs = ["time"]
random = { mem_latency_dram = "normal: 450 cycles, 5 %", draws = 32 }
axes = { machine = ["gtx280", "8800gtx"], threads_per_block = [64, 128, 256] }
"""


def test_chances_say_how_to_compare_machines(run: Run) -> None:
    """The configurations of a machine share its chance, unless the objective has their best."""
    Path("m.toml").write_text(MACHINES)
    way = "write best(time, threads_per_block) to compare machines"
    assert way in run("chances", "m.toml", "--minimize", "time").stdout
    best = run("chances", "m.toml", "--minimize", "best(time, threads_per_block)").stdout
    assert "to compare machines" not in best


UNCERTAIN = """
model = "ipp"
machine = "gtx280"
workload = "svm"
set = { threads_per_block = 256 }
axes = { core_clock = ["1 GHz", "1.3 GHz"] }
random = { mem_latency = "normal: 450 cycles, 5 %" }
"""


def test_statistics_and_formulas_keep_their_units(run: Run) -> None:
    Path("u.toml").write_text(UNCERTAIN)
    study = dse.Study.from_toml("u.toml")
    for text in ("mean(time)", "2 * time"):
        law = study.law(text, {"core_clock": "1 GHz"})
        assert law.unit == "s"
        assert "at core_clock = 1 GHz: " in repr(law)
        assert "ms" in str(law).splitlines()[3]
        assert str(law) == run("law", "u.toml", text, "--at", "core_clock=1GHz").stdout.rstrip()
        assert "<table" in law._repr_html_()
    assert study.law("time / time", {"core_clock": "1 GHz"}).unit == ""
    assert study.chances(minimize="2 * time").regret.attrs["units"] == "s"
    assert study.information(minimize="2 * time").evpi.attrs["units"] == "s"
    shares = study.sensitivity(output=["mean(time)", "mean(power) * 2"])
    assert shares.unit.values.tolist() == ["s", "W"]
    stored = dse.sensitivity(study.run(), output="mean(time)")
    assert stored.unit.values.tolist() == ["s"]
    assert study.quantiles("mean(time)", 0.5).objective.attrs["units"] == "s"
    printed = run("sensitivity", "u.toml", "--output", "mean(time)").stdout
    assert "mean(time): mean 31.47 ms, standard deviation 4.105 ms" in printed
    assert "1 configuration can be" in run("chances", "u.toml", "--minimize", "time").stdout
