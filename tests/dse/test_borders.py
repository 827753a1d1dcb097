"""Borders of cases against dense sweeps, closed forms and numbers known by hand."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse.inverse.borders import border_rows, case_name
from sweeps.certify.borders import NO_BORDER
from sweeps.grid.dataset import read_flag_meanings
from symbolic.crossings import Crossings, border_positions, find_crossings
from symbolic.errors import DseError, InfeasibleError, UnknownNameError
from symbolic.model import Model
from symbolic.ops import reference, where
from symbolic.quantities import TABLE
from tests.dse.studies import dense, draw_study

TRANSIT: dict[str, Any] = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
X, Y = reference("x"), reference("y")


def transit(**more: Any) -> Any:
    axes = more.pop("axes", {"threads": [256, 512, 1024], "intensity": [10, 20, 100]})
    given = {name: value for name, value in TRANSIT.items() if name not in axes}
    return dse.Study(model="transit", axes=axes, set=given, outputs=["bound"], **more)


# --- by hand
def test_borders_of_transit() -> None:
    """Memory saturates at threads = ms_peak (intensity + mem_latency) (Li 2015, Eq. 3)."""
    result = dse.borders(transit())
    assert result.bound.dims == ("threads", "intensity")
    up = result.sel(along="threads", side="above")
    below = up.sel(intensity=[10, 20])
    assert below.border.sel(threads=512).values.tolist() == [610, 620]
    assert (below.beyond.sel(threads=256) == 1).all()
    assert below.distance.sel(threads=512, intensity=10) == 610 - 512
    assert np.isnan(below.border.sel(threads=1024)).all()
    assert (below.beyond.sel(threads=1024) == -2).all()
    down = result.sel(along="threads", side="below")
    assert down.border.sel(threads=1024, intensity=10) == 610
    assert down.distance.sel(threads=1024, intensity=10) == 1024 - 610
    assert math.isinf(down.distance.sel(threads=256, intensity=10))
    # the lanes saturate at an intensity of lanes_width / ms_peak
    across = result.sel(along="intensity", side="above", threads=1024)
    assert across.border.sel(intensity=20) == 32
    words = dict(zip(result.beyond.flag_values, result.beyond.flag_meanings.split(), strict=True))
    assert words[-2] == "none"
    assert words[0] == "thread"
    assert result.unit.values.tolist() == ["1", "cycle"]
    alone = dse.borders(transit(), along="threads", at={"intensity": 10})
    assert (result.undecided, alone.undecided) == (3, 0)  # what is compared with itself stays open


def test_axes_in_any_order_tell_the_same() -> None:
    axes = {"intensity": [100, 10, 20], "threads": [1024, 256, 512]}
    mixed = dse.borders(transit(axes=axes)).sortby(["threads", "intensity"])
    straight = dse.borders(transit())
    for name in ("border", "beyond", "distance"):
        same = mixed[name].sel(along=straight.along).transpose(*straight[name].dims)
        np.testing.assert_array_equal(same, straight[name])
        assert same.dims == straight[name].dims


def test_at_a_point_along_what_is_no_axis() -> None:
    result = dse.borders(
        transit(), along=["mem_latency", "ms_peak"], at={"threads": 512, "intensity": 20}
    )
    assert result.border.dims == ("along", "side")
    latency = result.sel(along="mem_latency")
    assert latency.border.sel(side="below") == 492  # threads / ms_peak - intensity
    assert np.isnan(latency.border.sel(side="above"))
    assert result.border.sel(along="ms_peak", side="below").item() == pytest.approx(512 / 620)
    assert result.threads == 512
    limited = dse.borders(
        transit(), along={"mem_latency": (550, 700)}, at={"threads": 512, "intensity": 20}
    )
    assert np.isnan(limited.border).all()


def test_a_condition_a_constraint_and_feasible() -> None:
    study = transit()
    table = dse.borders(study, "cs_throughput >= 5", along="threads", at={"intensity": 10})
    # cs = intensity threads / (intensity + latency)
    assert table.border.sel(side="above", threads=256) == 305
    assert table.condition.values.tolist() == [0, 1, 1]
    narrowed = dse.borders(
        study, "bound", along="threads", at={"intensity": 10}, where="threads <= 600"
    )
    assert narrowed.border.sel(side="above", threads=256) == 600
    assert narrowed.beyond.sel(side="above", threads=256) == -1
    assert narrowed.bound.values.tolist() == [0, 0, -1]
    feasible = dse.borders(study, "feasible", along="threads", where="threads <= 600")
    assert feasible.border.sel(side="below", threads=1024).item() == 600
    assert feasible.feasible.values.tolist() == [1, 1, 0]


def test_whole_quantities_are_not_between_their_values() -> None:
    study = dse.Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="svm",
        axes={"active_sms": [1, 4, 8, 16, 30]},
        set={"threads_per_block": 256, "active_blocks_per_sm": 2},
    )
    result = dse.borders(study, "mwp", along="active_sms")
    table = result.sel(side="above").border.values
    assert set(table[~np.isnan(table)]) <= {1, 4, 8, 16, 30}
    free = dse.borders(study, "mwp", along={"active_sms": (1, 30)}, at={"active_sms": 1})
    value = free.border.sel(side="above").item()
    assert value == int(value)
    regimes = dense(study, "active_sms", range(1, 31), ["mwp", "mwp_peak_bw"], {})
    first = int(np.argmax((regimes.mwp == regimes.mwp_peak_bw).values)) + 1
    assert value == first


def test_closed_forms_are_told() -> None:
    result = dse.borders(transit(), along="threads", closed_form=True)
    forms = json.loads(result.closed_forms)
    assert forms["threads"]["thread | memory"] == [
        "ms_peak*(arithmetic_latency*intensity + mem_latency)"
    ]


def test_labels_of_a_machine_share_the_answer() -> None:
    study = dse.Study(
        model="mwp_cwp",
        workload="svm",
        axes={"machine": ["8800gtx", "gtx280"], "printed": [False, True]},
        set={"threads_per_block": 256, "active_blocks_per_sm": 2, "active_sms": 8},
    )
    result = dse.borders(study, "case", along="mem_bandwidth")
    assert result.border.dims == ("along", "side", "machine", "printed")
    for machine in ("8800gtx", "gtx280"):
        for printed in (False, True):
            one = dse.Study(
                model="mwp_cwp",
                machine=machine,
                workload="svm",
                set={**study.set, "printed": printed},
            )
            alone = dse.borders(one, "case", along="mem_bandwidth")
            label = str(printed).lower()
            here = result.sel(machine=machine, printed=label).drop_vars(["machine", "printed"])
            np.testing.assert_array_equal(here.border, alone.border)
            np.testing.assert_array_equal(here.beyond, alone.beyond)


def test_a_switch_may_be_all_that_varies() -> None:
    given = {"threads_per_block": 256, "active_blocks_per_sm": 2, "active_sms": 8}
    spec: dict[str, Any] = {"model": "mwp_cwp", "machine": "gtx280", "workload": "svm"}
    study = dse.Study(**spec, axes={"printed": [False, True]}, set=given)
    result = dse.borders(study, "mwp", along="mem_bandwidth", closed_form=True)
    assert result.border.dims == ("along", "side", "printed")
    forms = json.loads(result.closed_forms)["mem_bandwidth"]
    for printed in (False, True):
        one = dse.Study(**spec, set={**given, "printed": printed})
        alone = dse.borders(one, "mwp", along="mem_bandwidth", closed_form=True)
        label = str(printed).lower()
        np.testing.assert_array_equal(result.border.sel(printed=label), alone.border)
        for pair, form in json.loads(alone.closed_forms)["mem_bandwidth"].items():
            assert forms.get(pair, forms.get(f"{pair} (printed={label})")) == form


def test_a_switch_that_machines_settle_otherwise_is_told_for_both_of_its_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"max_threads_per_sm": 1536, "max_threads_per_block": 1024, "max_blocks_per_sm": 16}
    limits |= {"registers_per_sm": 65536, "shared_mem_per_sm": 65536}
    lines = [f'{name} = {{ value = {value}, source = "x" }}' for name, value in limits.items()]
    (bare := tmp_path / "bare.toml").write_text("\n".join(['title = "bare"', "[values]", *lines]))
    options: list[dict[str, Any]] = []

    def border(self: Model, *_: str, solve_for: str, **switches: str) -> str:
        options.append(switches)
        return f"as {switches['granularity']}"

    monkeypatch.setattr(Model, "border", border)
    given = {"threads_per_block": 128, "registers_per_thread": 33, "shared_mem_per_block": 0}
    for machines, labels in ((["cc8.0", str(bare)], ["none", "cuda"]), (["cc8.0"], ["cuda"])):
        study = dse.Study(model="occupancy", axes={"machine": machines}, set=given)
        result = dse.borders(study, "limiter", along="max_blocks_per_sm", closed_form=True)
        forms = json.loads(result.closed_forms)["max_blocks_per_sm"]
        for label in labels:
            pair = "registers | blocks" + (f" (granularity={label})" if len(labels) > 1 else "")
            assert forms[pair] == [f"as {label}"]
    assert {switches["granularity"] for switches in options} == {"none", "cuda"}


# --- against dense sweeps
MODELS = ["transit", "mwp_cwp", "tmm", "transit_time", "throughput", "ipp"]


@pytest.mark.parametrize("name", MODELS)
def test_against_dense_sweeps(name: str) -> None:
    rng = random.Random(MODELS.index(name) + 3)
    checked = 0
    while checked < 3:
        study = draw_study(name, rng)
        if study is None:
            continue
        try:
            result = dse.borders(study)
        except (DseError, InfeasibleError):
            continue
        checked += 1
        for _ in range(2):
            agree(study, result, rng)


def agree(study: Any, ds: xr.Dataset, rng: random.Random) -> None:
    """From one configuration: the same case up to the border, the one told just beyond."""
    case = ds.attrs["case"]
    dims = ds[case].dims
    at = {dim: rng.randrange(ds.sizes[dim]) for dim in dims}
    point = {dim: float(ds[dim][place]) for dim, place in at.items()}
    here = ds.isel(at)
    for along in ds.along.values.tolist():
        values = np.sort(ds[along].values.astype(float))
        start = point[along]
        for side, sign, end in (("below", -1, values[0]), ("above", 1, values[-1])):
            table = here.sel(along=along, side=side)
            border, beyond = float(table.border), int(table.beyond)
            limit = end if math.isnan(border) else border
            if TABLE[along].domain.whole:
                way = values[(values - start) * sign >= 0]
                inside = way[(way - limit) * sign < 0] if beyond != -2 else way
                past = [border] if beyond != -2 else []
            else:
                share = np.linspace(0, 1, 301)[:-1]
                inside = start + (limit - start) * share * (1 - 1e-9)
                past = [border + sign * 1e-9 * abs(border)] if beyond != -2 else []
            sweep = cases(study, along, [start, *inside, *past], case, point)
            assert len(set(sweep[: len(inside) + 1])) == 1, (along, side, border)
            assert sweep[0] == here[case]
            if past and len(sweep) > len(inside) + 1:
                assert sweep[-1] == beyond, (along, side, border)


def cases(study: Any, along: str, values: list[float], case: str, point: Any) -> list[float]:
    """The case at each value, -1 where it is not feasible."""
    unique = sorted(set(values))
    every = {axis: point.get(axis, study.axes[axis][0]) for axis in study.axes}
    try:
        ds = dense(study, along, unique, [case], every)
    except InfeasibleError:
        return [-1.0] * len(values)
    array = ds[case].broadcast_like(ds[along]).values.reshape(-1).astype(float)
    if "feasible" in ds:
        feasible = ds.feasible.broadcast_like(ds[along]).values.reshape(-1)
        array = np.where(feasible, array, -1.0)
    by_value = dict(zip(unique, array.tolist(), strict=True))
    return [by_value[value] for value in values]


# --- the engine
def test_islands_between_the_values_are_found() -> None:
    """A case that begins and ends between two edges, as narrow as a ten-thousandth of the gap."""
    island = where((X - 0.3) * (X - 0.3) < 1e-9, 1, 0)
    result = find_crossings(island, "x", {}, np.array([[0.0, 1.0]]))
    half = math.sqrt(1e-9)
    assert border_positions(result) == pytest.approx([0.3 - half, 0.3 + half], rel=1e-9)
    assert result.before.tolist() == [0, 1]
    assert result.after.tolist() == [1, 0]


def test_brackets_are_neighbours() -> None:
    rng = np.random.default_rng(4)
    y = rng.uniform(0.1, 50, 200)
    result = find_crossings(
        where(X * X < Y, 1, 2), "x", {"y": y}, np.tile([0.0, 3.0, 9.0], (200, 1))
    )
    assert result.line.tolist() == list(range(200))
    assert (np.nextafter(result.low, math.inf) == result.high).all()
    assert (result.low * result.low < y).all()
    assert (result.high * result.high >= y).all()
    whole = find_crossings(X * 3 >= Y, "x", {"y": y}, np.tile([0.0, 20.0], (200, 1)), whole=True)
    np.testing.assert_array_equal(whole.high, np.ceil(y / 3))
    assert (whole.high - whole.low == 1).all()


def test_each_border_of_whole_numbers_is_one_row() -> None:
    """Seen from below it is the first number beyond, from above the last before: one border."""
    study = dse.Study(
        model="transit",
        axes={"threads": [512, 32, 200], "intensity": [10]},
        set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
    )
    table = dse.borders(study, "where(threads > 100, 1, 0) + 0 * intensity >= 1", along="threads")
    assert [row["border"] for row in border_rows(table)] == [100]
    blocks = dse.Study(
        model="occupancy",
        machine="gtx280",
        workload="svm",
        axes={"threads_per_block": [512, 32, 100, 64]},
    )
    result = dse.borders(blocks, "limiter")
    assert [(row["border"], row["from"], row["to"]) for row in border_rows(result)] == [
        (512, "blocks", "threads")
    ]


def rows_one_by_one(ds: xr.Dataset) -> list[dict[str, Any]]:
    """The rows of :func:`border_rows`, point by point."""
    case, meanings = case_name(ds), read_flag_meanings(ds.beyond.attrs)
    dims, rows = ds[case].dims, []
    for along in ds.along.values.tolist():
        known: dict[Any, list[float]] = {}
        for side in ("above", "below"):
            table = ds.sel(along=along, side=side)
            for place in np.ndindex(ds[case].shape):
                if table.beyond.values[place] == NO_BORDER:
                    continue
                at = tuple(p for p, dim in zip(place, dims, strict=True) if dim != along)
                ends = int(ds[case].values[place]), int(table.beyond.values[place])
                border = table.border.values[place].item()
                point = {dim: ds[dim].values[p] for p, dim in zip(place, dims, strict=True)}
                same = known.setdefault((at, *(ends if side == "above" else ends[::-1])), [])
                if side == "above" and border not in same:
                    same.append(border)
                if side == "below" and not any(
                    border <= other <= point.get(along, border) for other in same
                ):
                    same.append(border)
        others = [dim for dim in dims if dim != along]
        listed = ((at, b, *ends) for (at, *ends), borders in known.items() for b in borders)
        for at, border, *ends in sorted(listed):
            row = {dim: ds[dim].values[p].item() for p, dim in zip(at, others, strict=True)}
            both = dict(zip(("from", "to"), (meanings[end] for end in ends), strict=True))
            unit = str(ds.unit.sel(along=along).values)
            rows.append({"along": along, "unit": unit, **row, "border": border, **both})
    return rows


@pytest.mark.parametrize("threads", [[32, 200, 512, 900], [900, 512, 200, 32], [512, 32, 900, 200]])
@pytest.mark.parametrize(
    ("case", "along"),
    [
        ("bound", None),
        ("bound", "lanes_width"),
        ("threads * intensity >= 5000 and threads <= 600", None),
        ("threads * intensity >= 5000 and threads <= 600", "intensity"),
    ],
)
def test_rows_are_those_seen_from_point_to_point(threads: list[int], case: str, along: Any) -> None:
    study = dse.Study(
        model="transit",
        axes={"threads": threads, "intensity": [1, 10, 40], "mem_latency": [900, 400]},
        set={"lanes_width": 32, "ms_peak": 1},
    )
    result = dse.borders(study, case, along=along)
    assert border_rows(result) == rows_one_by_one(result) != []


def test_axes_along_which_nothing_asked_changes_have_no_borders(tmp_path: Path) -> None:
    """One value of which a case may be no number, and an axis that nothing is made of."""
    text = "import dse\n" + "".join(
        f'{name} = dse.quantity("{name}", domain="[-inf, inf]")\n' for name in "xyz"
    )
    text += '@dse.equation(source="here")\ndef share(x, y):\n    return x / (x + x / y)\n'
    (tmp_path / "shares.py").write_text(text)
    axes = {"x": [0.0, 1.0], "y": [28.0], "z": [1.0, 2.0]}
    study = dse.Study(model="shares.py", folder=tmp_path, axes=axes, outputs=["share"])
    result = dse.borders(study, "share <= 0.5")
    assert result.along.values.tolist() == ["x", "y"]
    assert np.isnan(result.border.sel(along="y")).all()
    with pytest.raises(DseError, match="does not depend on z"):
        dse.borders(study, "share <= 0.5", along="z")


# --- misuse
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "boundd"}, "did you mean"),
        ({"quantity": "cs_throughput"}, "is a number"),
        ({"along": "supply"}, "no order|takes labels"),
        ({"along": "thread"}, "did you mean"),
        ({"along": "bound"}, "is a case, not a number"),
        ({"along": 5}, "expected text, or a list of texts"),
        ({"at": {"warps": 1}}, "no axis"),
        ({"at": {"threads": 3}}, "not on its axis"),
        ({"at": 3}, "a mapping"),
        ({"along": {"mem_latency": 5}}, "a lower and an upper end"),
        ({"along": {"mem_latency": (-5, 1)}}, "outside its domain"),
        ({"quantity": "threads <= 600", "along": "intensity"}, "does not depend on"),
    ],
)
def test_misuse(options: dict[str, Any], message: str) -> None:
    with pytest.raises((DseError, UnknownNameError), match=message):
        dse.borders(transit(), **options)


def test_too_large_an_answer_is_refused() -> None:
    study = transit(
        axes={name: {"linspace": [1, 9, 400]} for name in ("threads", "intensity", "ms_peak")}
    )
    with pytest.raises(DseError, match="at="):
        dse.borders(study)
    assert dse.borders(study, at={"threads": 1, "intensity": 1}).border.shape == (3, 2, 400)


def test_a_border_between_the_least_negative_and_the_least_positive_number_is_zero() -> None:
    least, one = np.array([5e-324]), np.ones(1)
    result = Crossings(np.zeros(1, dtype=np.int64), -least, least, 0 * one, one, 0)
    assert border_positions(result).tolist() == [0.0]


# --- jumps: the equations of two cases do not meet at their border

PRINTED: dict[str, Any] = {"machine": "gtx280", "workload": "nmat", "threads_per_block": 256}
JUMPS = """
model = "occupancy + mwp_cwp"
machine = "gtx280"
workload = "nmat"
outputs = ["case"]
[set]
threads_per_block = 256
printed = {printed}
[axes]
mem_bandwidth = [200e9, 400e9]
"""


@pytest.mark.parametrize("printed", ["true", "false"])
def test_a_jump_is_named_with_the_values_on_both_sides(run: Any, printed: str) -> None:
    """At the border, printed case 3 takes N Comp^2 / (Mem + Comp) Rep cycles more than case 2."""
    Path("jumps.toml").write_text(JUMPS.format(printed=printed))
    options = ("--along", "mem_bandwidth", "--at", "mem_bandwidth=200e9", "--json")
    answer = json.loads(run("borders", "jumps.toml", *options).stdout)
    if printed == "false":  # case 3 bounds the cycles in every case
        assert not answer["jumps"]
        return
    (text,) = answer["jumps"]
    (border,) = (each["border"] for each in answer["next"] if each["side"] == "above")
    names = ["time", "comp_cycles", "mem_cycles", "repetitions", "resident_warps"]
    given: dict[str, Any] = {**PRINTED, "printed": True, "outputs": names}
    below, above = (
        dse.evaluate("occupancy + mwp_cwp", mem_bandwidth=border * share, **given)
        for share in (1 - 1e-12, 1 + 1e-12)
    )
    cycles = above.resident_warps * above.comp_cycles**2 / (above.mem_cycles + above.comp_cycles)
    jump = float(cycles * above.repetitions / 1.3e9)
    assert float(above.time - below.time) == pytest.approx(jump, rel=1e-6)
    values = [f"{float(side.time) * 1e3:.4g} ms" for side in (below, above)]
    assert f"time jumps from {' to '.join(values)}" in text


def test_a_point_near_a_jump_is_evaluated_with_a_note(run: Any) -> None:
    def notes(**given: str) -> list[str]:
        words = [f"{name}={value}" for name, value in {**PRINTED, **given}.items()]
        return list(json.loads(run("evaluate", "ipp", *words, "--json").stdout)["jumps"])

    (near,) = (
        note
        for note in notes(printed="true", mem_bandwidth="300 GB/s")
        if note.startswith("raise mem_bandwidth")
    )
    assert "time jumps from 198.7 ms to 205.7 ms" in near
    assert not [n for n in notes(printed="true") if n.startswith("raise mem_bandwidth")]  # too far
    assert not [n for n in notes(mem_bandwidth="300 GB/s") if "mem_bandwidth" in n]
