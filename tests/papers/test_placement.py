"""The choice of lit SMs: Hong 2012, chapter 4."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import placement
from tests.long import draws, long
from tests.papers._solve import run_doctests

#: Table 12: four active SMs of the 8800GT.
TABLE_12 = Path(__file__).parents[2] / "examples" / "hong_2012_table_12.csv"
OUTPUTS = [*placement.OUTPUTS, "placement_power"]

GT = "0-1-2-3-4-5-6-0-1-2-3-4-5-6"


@cache
def table_12() -> pd.DataFrame:
    return pd.read_csv(TABLE_12)


@cache
def every_set() -> Any:
    """All sets of four of the 14 SMs."""
    sets = ["-".join(map(str, sms)) for sms in combinations(range(14), 4)]
    study = dse.Study(model="placement", machine="8800gt", axes={"lit_sms": sets}, outputs=OUTPUTS)
    return study.run()


@cache
def on_tpcs() -> Any:
    """Least squares of power on TPCs."""
    return dse.fit(
        "placement",
        TABLE_12,
        to="placement_power",
        free=["placement_base_power", "power_per_tpc"],
        columns=["active_tpcs", "placement_power"],
    )


@cache
def on_temperature() -> Any:
    """Least squares of power on temperature: the line of Eq. 56, from 0 °C on."""
    return dse.fit(
        "temperature",
        TABLE_12,
        to="power_at",
        free=["power", "leakage_per_degree"],
        columns={"temperature": "temperature [degC]", "power_at": "placement_power [W]"},
        set={"idle_temperature": 0},
    )


def evaluate(**values: Any) -> Any:
    return dse.evaluate("placement", machine="8800gt", **values)


def test_doctests() -> None:
    failed, tried = run_doctests(placement)
    assert failed == 0
    assert tried >= 12


# --- the published numbers


def test_the_tpcs_of_table_12() -> None:
    table = table_12()
    sets = list(table["lit_sms"])
    study = dse.Study(model="placement", machine="8800gt", axes={"lit_sms": sets}, outputs=OUTPUTS)
    ds = study.run()
    assert ds.active_tpcs.values.tolist() == table["active_tpcs"].tolist()
    assert ds.active_tpcs.values.tolist() == [2, 2, 2, 3, 3, 4, 4, 4, 4]
    assert set(ds.fewest_tpcs.values.tolist()) == {2}
    off = (ds.placement_power.values - table["placement_power [W]"].to_numpy()).tolist()
    assert max(map(abs, off)) < 1.3  # the scatter about the line is 0.716 W


@long
def test_sms_that_share_a_tpc() -> None:
    """§4.5.2: 0 and 7, 1 and 8, ... 6 and 13."""
    pairs = [
        (i, j)
        for i, j in combinations(range(14), 2)
        if evaluate(lit_sms=f"{i}-{j}").active_tpcs == 1
    ]
    assert pairs == [(i, i + 7) for i in range(7)]


def test_every_set_of_four() -> None:
    ds = every_set()
    counts = Counter(ds.active_tpcs.values.tolist())
    assert counts == {2: 21, 3: 420, 4: 560}
    for tpcs, sets in counts.items():
        result = evaluate(active_sms=4, active_tpcs=tpcs)
        assert (result.equal_placements, result.placements) == (sets, 1001)
    best = dse.optimum(ds, minimize="placement_power", top=22)
    assert best.active_tpcs.values.tolist() == [2.0] * 21 + [3.0]
    chosen = {frozenset(text.split("-")) for text in best.lit_sms.values[:21]}
    assert chosen == {
        frozenset(map(str, (i, i + 7, j, j + 7))) for i, j in combinations(range(7), 2)
    }
    assert set(table_12()["lit_sms"].iloc[:3].map(lambda t: frozenset(t.split("-")))) <= chosen


def test_the_machine_file_holds_the_least_squares() -> None:
    ds = evaluate(lit_sms="0-7-1-8")
    fitted = on_tpcs()
    assert float(ds.power_per_tpc) == pytest.approx(fitted["power_per_tpc"], abs=5e-5)
    power = evaluate(lit_sms="0-7-1-8", outputs=["placement_power"]).placement_power
    expected = fitted["placement_base_power"] + 2 * fitted["power_per_tpc"]
    assert float(power) == pytest.approx(expected, abs=1e-3)


def test_the_answer_marks_where_the_line_was_fitted() -> None:
    """§4.6.1: of one, two, four and seven SMs only four drew more or less by where they lay."""
    sms = [1, 2, 3, 4, 7]
    ds = evaluate(active_sms=sms, placement_policy="scatter")
    assert ds.placement_fit.values.tolist() == [2, 2, 1, 0, 2]
    assert ds.placement_loss.values == pytest.approx([0, 0, 3.9276, 7.8552, 0])
    output = ds.placement_fit.attrs["flag_meanings"].split()[2]
    assert "half" in output
    assert "placement_fit" in placement.OUTPUTS
    other = evaluate(active_sms=sms, fitted_sms=7, placement_policy="scatter")  # the user's line
    assert other.placement_fit.values.tolist() == [2, 2, 1, 1, 0]
    assert other.placement_loss.values == pytest.approx([0, 0, 3.9276, 7.8552, 11.7828])
    two = dse.advise("placement", machine="8800gt", active_sms=2, placement_policy="scatter")
    assert two.suggestions == ()


def test_temperature_by_placement() -> None:
    """Table 12's temperatures by least squares on its TPCs, within twice their scatter."""
    table = table_12()
    tpcs, seen = table["active_tpcs"].to_numpy(), table["temperature [degC]"].to_numpy()
    slope, base = np.polyfit(tpcs, seen, 1)
    axes, wanted = {"lit_sms": list(table["lit_sms"])}, ["placement_temperature"]
    ds = dse.Study(model="placement", machine="8800gt", axes=axes, outputs=wanted).run()
    line = ds.placement_temperature.values
    assert line == pytest.approx(base + slope * tpcs, abs=1e-4)
    assert max(abs(line - seen)) < 2 * 0.561
    assert [line.min(), line.max()] == pytest.approx([76.85, 79.48], abs=0.005)


def test_the_lines_through_table_12() -> None:
    """Power on TPCs, and power on temperature (Fig. 91), each by least squares."""
    tpcs, heat = on_tpcs(), on_temperature()
    result = [tpcs["placement_base_power"], tpcs["power_per_tpc"], tpcs.r2, heat["power"]]
    assert result == pytest.approx([245.834, 3.92758, 0.967325, 47.921], abs=5e-4)
    assert [heat["leakage_per_degree"], heat.r2] == pytest.approx([2.68326, 0.923074], abs=5e-6)
    errors = [tpcs.standard_errors[name] for name in ("placement_base_power", "power_per_tpc")]
    scatter = tpcs.rms * math.sqrt(9 / 7)  # two coefficients
    assert [*errors, scatter] == pytest.approx([0.881738, 0.272833, 0.716097], abs=5e-6)


# --- what a user asks


def test_a_policy_chooses_where_no_set_is_given() -> None:
    assert str(evaluate(active_sms=4).lit_sms.values) == "0-1-7-8"
    assert str(evaluate(active_sms=4, placement_policy="scatter").lit_sms.values) == "0-1-2-3"
    study = dse.Study(
        model="placement",
        machine="gtx280",
        axes={"active_sms": range(1, 31), "placement_policy": ["compact", "scatter"]},
    )
    ds = study.run()
    assert ds.fewest_tpcs.dims == ("active_sms",)
    for policy, name in (("compact", "fewest_tpcs"), ("scatter", "most_tpcs")):
        assert ds.active_tpcs.sel(placement_policy=policy).equals(
            ds[name].assign_coords(placement_policy=policy)
        )
    assert ds.fewest_tpcs.values.tolist() == [math.ceil(k / 3) for k in range(1, 31)]
    assert ds.most_tpcs.values.tolist() == [min(k, 10) for k in range(1, 31)]
    saved = ds.placement_loss.sel(placement_policy="scatter", active_sms=10)
    assert float(saved) == pytest.approx(6 * 3.9276)
    step = study.explain(active_sms=5, placement_policy="scatter")["lit_sms"]
    assert step.value == "0-1-2-3-4"


def test_sets_tell_other_models_how_many_are_active() -> None:
    model = "placement + ipp"
    given: dict[str, Any] = {"machine": "gtx280", "workload": "svm", "threads_per_block": 256}
    wanted = ["active_sms", "active_tpcs", "time", "power"]
    placed = dse.evaluate(model, **given, lit_sms="0-10-20-1", outputs=wanted)
    assert (placed.active_sms, placed.active_tpcs) == (4, 2)
    alone = dse.evaluate("ipp", **given, active_sms=4, outputs=["time", "power"])
    assert (placed.time, placed.power) == (alone.time, alone.power)
    idle = "83 W + power_per_tpc * active_tpcs"
    more = dse.evaluate(model, **given, lit_sms="0-10-20-1", idle_power=idle, outputs=["power"])
    assert float(more.power - alone.power) == pytest.approx(2 * 3.9276)


def test_counts_beyond_any_list_are_exact() -> None:
    """72 TPCs of two: all pairs lit, each TPC once, and 2^72 ways to choose."""
    ds = dse.evaluate(
        "placement", n_sms=144, n_tpcs=72, power_per_tpc=1, active_sms=72, active_tpcs=[36, 72]
    )
    assert ds.equal_placements.values.tolist() == [float(math.comb(72, 36)), float(2**72)]


# --- far apart


def line(tpcs: int) -> str:
    """TPCs in a row."""
    return json.dumps([[abs(i - j) for j in range(tpcs)] for i in range(tpcs)])


def test_far_apart_is_the_second_criterion() -> None:
    given: dict[str, Any] = {"active_sms": 4, "placement_policy": "apart"}
    ds = evaluate(**given, tpc_distances=line(7))
    assert (str(ds.lit_sms.values), ds.active_tpcs) == ("0-6-7-13", 2)
    wanted = ["tpc_separation", "active_tpcs"]
    ds = evaluate(active_sms=6, placement_policy="apart", tpc_distances=line(7), outputs=wanted)
    assert (ds.tpc_separation, ds.active_tpcs) == (3, 3)
    ds = evaluate(lit_sms="0-7-1-8", tpc_distances=line(7), outputs=wanted)
    assert (ds.tpc_separation, ds.active_tpcs) == (1, 2)
    one = evaluate(lit_sms="0", tpc_distances=line(7), outputs=wanted)
    assert one.tpc_separation == math.inf


def test_distances_are_not_used_unless_asked() -> None:
    assert "tpc_distances" not in dse.model("placement").needs(*placement.OUTPUTS)
    plain, given = evaluate(active_sms=4), evaluate(active_sms=4, tpc_distances=line(7))
    assert plain.lit_sms.equals(given.lit_sms)


# --- against enumeration

MAPS = st.lists(st.integers(0, 4), min_size=1, max_size=9)


def text(numbers: Any) -> str:
    return "-".join(map(str, numbers))


@settings(deadline=None, max_examples=draws(60))
@given(tpc_of=MAPS, data=st.data())
def test_counts_and_extremes_are_those_of_all_sets(tpc_of: list[int], data: Any) -> None:
    k = data.draw(st.integers(1, len(tpc_of)))
    counts = Counter(len({tpc_of[i] for i in sms}) for sms in combinations(range(len(tpc_of)), k))
    where = text(tpc_of)
    assert placement.fewest_tpcs(k, where) == min(counts)
    assert placement.most_tpcs(k, where) == max(counts)
    assert placement.placements(k, where) == sum(counts.values())
    for tpcs in range(1, len(tpc_of) + 2):
        assert placement.equal_placements(k, where, tpcs) == counts[tpcs]
    for chosen, tpcs in (
        (placement.lit_sms_compact(k, where), min(counts)),
        (placement.lit_sms_scatter(k, where), max(counts)),
    ):
        assert (placement.lit_count(chosen), placement.active_tpcs(chosen, where)) == (k, tpcs)


@settings(deadline=None, max_examples=draws(40))
@given(tpc_of=MAPS, data=st.data())
def test_the_farthest_apart_of_all_sets(tpc_of: list[int], data: Any) -> None:
    k = data.draw(st.integers(1, len(tpc_of)))
    tpcs = sorted(set(tpc_of))
    table = [[0] * len(tpcs) for _ in tpcs]
    for i, j in combinations(range(len(tpcs)), 2):
        table[i][j] = table[j][i] = data.draw(st.integers(0, 5))

    def rank(sms: tuple[int, ...]) -> tuple[float, ...]:
        lit = sorted({tpcs.index(tpc_of[i]) for i in sms})
        pairs = [table[i][j] for i, j in combinations(lit, 2)]
        return -len(lit), min(pairs, default=math.inf), sum(pairs)

    chosen = placement.lit_sms_apart(k, text(tpc_of), json.dumps(table))
    best = max(map(rank, combinations(range(len(tpc_of)), k)))
    assert rank(tuple(map(int, chosen.split("-")))) == best


# --- misuse


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lit_sms": "0-x"}, "expected numbers from 0 joined by hyphens, such as '0-7-1-8'"),
        ({"lit_sms": "0-14"}, "names SM 14, and the machine has SMs 0 to 13"),
        ({"lit_sms": "0-7-0"}, "names SM 0 twice"),
        ({"lit_sms": "0-7", "active_sms": 3}, "rule 'lit_count == active_sms' is broken"),
        ({"lit_sms": "0-1-2", "tpc_map": "0-1"}, "names SM 2, and the machine has SMs 0 to 1"),
        ({"active_sms": 15}, "15 SMs are to be lit: expected a whole number from 1 to 14"),
        ({}, "form a cycle: .*lit_sms.*; give one of them a value to cut it"),
        ({"active_sms": 4, "placement_policy": "apart"}, "lacks a value:\n  tpc_distances"),
        (
            {"active_sms": 4, "placement_policy": "apart", "tpc_distances": "[[0, 1]]"},
            "expected a row for each of the 7 TPCs",
        ),
        (
            {"lit_sms": "0-1", "tpc_map": "0-1", "tpc_distances": "[[0, 1], [2, 0]]"},
            "the same distance both ways",
        ),
    ],
)
def test_misuse(given: dict[str, Any], message: str) -> None:
    wanted = ["tpc_separation"] if "tpc_distances" in given else None
    with pytest.raises(dse.DseError, match=message):
        evaluate(**given, outputs=wanted)


def test_too_many_choices_to_try() -> None:
    values: dict[str, Any] = {"n_sms": 80, "n_tpcs": 40, "power_per_tpc": 1}
    values |= {"active_sms": 40, "placement_policy": "apart", "tpc_distances": line(40)}
    with pytest.raises(dse.DseError, match=r"can be chosen in 1\.38e\+11 ways"):
        dse.evaluate("placement", **values)


def test_a_machine_without_a_base_gives_differences_and_no_power_of_the_system() -> None:
    """Road, row 22: the power of two TPCs alone is not that of a system."""
    given_: dict[str, Any] = {"active_sms": 4, "placement_policy": "scatter"}
    ds = dse.evaluate("placement", machine="gtx280", **given_)
    assert "placement_power" not in ds
    assert float(ds.placement_loss) == pytest.approx(7.8552)
    with pytest.raises(dse.DseError, match="placement_base_power"):
        dse.evaluate("placement", machine="gtx280", outputs=["placement_power"], **given_)
    given_ |= {"placement_base_power": 200, "outputs": ["placement_power"]}
    based = dse.evaluate("placement", machine="gtx280", **given_)
    assert float(based.placement_power) == pytest.approx(200 + 4 * 3.9276)


# --- examples

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_heat_map_is_linear_between_sensors(tmp_path: Path) -> None:
    """§4.3.3: readings of a plane give the plane; outside of the sensors there is no value."""
    script = str(EXAMPLES / "heat_map.py")
    places = pd.DataFrame({"x": [0.0, 8, 0, 8, 3], "y": [0.0, 0, 6, 6, 2]})
    readings = places.assign(temperature=50 + 2 * places.x - 0.5 * places.y)
    x, y, heat = runpy.run_path(script)["temperature_map"](readings, points=33)
    assert heat == pytest.approx(50 + 2 * x - 0.5 * y[:, None])
    _, _, corner = runpy.run_path(script)["temperature_map"](readings.iloc[:3])
    assert np.isnan(corner[-1, -1])
    assert runpy.run_path(script)["hottest"](readings) == pytest.approx((8, 0, 66))
    readings.to_csv(tmp_path / "readings.csv", index=False)
    command = [sys.executable, script, "readings.csv", "map.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "hottest: 66.0 °C at x = 8, y = 0\n"
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sms", [(0, 7, 1, 8), (10, 11, 12, 13), (3, 3, 3, 3)])
def test_the_kernel_that_chooses_its_cores(sms: tuple[int, ...]) -> None:
    """Fig. 85: chosen blocks loop, others return; each uses the shared memory of a whole SM."""
    named = {f"act{i}": sm for i, sm in enumerate(sms, start=1)}
    counted = dse.kernel(
        EXAMPLES / "choose-cores.ptx", block=256, grid=14, set={"iterations": 50, **named}
    )
    assert counted["fp_fused_insts"] * 14 == pytest.approx(200 * len(set(sms)))
    given = {"machine": "8800gt", "threads_per_block": 256, "registers_per_thread": 10}
    shared = counted["shared_mem_per_block"]
    ds = dse.evaluate("occupancy", shared_mem_per_block=shared, **given)
    assert ds.active_blocks_per_sm == 1


def test_sms_that_compete_for_the_units_of_a_tpc_lie_apart() -> None:
    """§4.7: fewer clusters draw less, but requests that wait for each other take longer."""
    ds = dse.Study.from_toml(EXAMPLES / "tpc-tradeoff.toml").run()
    two, four = ds.sel(lit_sms="0-7-1-8"), ds.sel(lit_sms="0-1-2-3")
    assert (two.time / four.time).values == pytest.approx([1, 2], rel=1e-3)  # svm, mat_naive
    assert ((two.energy < four.energy).values == [True, False]).all()


@pytest.mark.parametrize("version", [1.0, 1.1, 1.2, 1.3, 2.0])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_coalescing_by_compute_capability(version: float, width: int) -> None:
    """Fig. 3, against the segments of each thread's bytes."""
    for first, stride in product((0, 4, 64, 100), (width, 2 * width, 100, 128, 500)):
        ds = dse.evaluate(
            str(EXAMPLES / "coalescing.py"),
            compute_version=version,
            first_byte=first,
            thread_distance_bytes=stride,
            bytes_per_thread=width,
        )
        threads = [range(first + t * stride, first + t * stride + width) for t in range(32)]
        segments = {byte // 128 for each in threads for byte in each}
        if first % 64 == 0 and stride == width:
            wanted = 1
        else:
            wanted = len(segments) if version >= 1.2 else 32
        got = int(ds.transactions_per_uncoalesced)
        assert got == wanted, (first, stride)
