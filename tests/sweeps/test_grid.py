"""Random small grids, value for value against nested loops over floats."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dse
import sweeps.bounds.checks
from dse import DseError, Study
from symbolic.errors import DomainError, GraphError, InfeasibleError
from symbolic.expression import parse_value
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import interpret, references
from tests.long import draws
from tests.oracles.compare import same_bits, same_run
from tests.oracles.nested import Condition, Formula, Loops, Table, Value

TOY = str(Path(__file__).parents[1] / "oracles" / "toy_model.py")
SLOW = settings(
    max_examples=draws(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def numbers(*values: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=5, unique=True)


#: Of each model: numeric quantities with strategies for their values, and switches.
TRANSIT: dict[str, Any] = {
    "threads": numbers(1, 7, 32, 100.5, 512, 640, 5000),
    "intensity": numbers(1, 10, 32.25, 400),
    "lanes_width": numbers(8, 32, 192),
    "ms_peak": numbers(0.1, 0.25, 1, 3.5),
    "mem_latency": numbers(0, 100, 600.5, 1500),
}
MWP: dict[str, Any] = {
    "threads_per_block": numbers(32, 100, 256, 512, 1024),
    "active_blocks_per_sm": numbers(0, 1, 3, 8),
    "active_sms": numbers(1, 7, 16, 30, 40),
    "n_sms": numbers(8, 16, 30),
    "core_clock": numbers(6e8, 1.3e9, 2e9),
    "mem_bandwidth": numbers(3e10, 1.4e11, 9e11),
    "comp_insts": numbers(0, 27, 500.5, 9000),
    "uncoalesced_insts": numbers(0, 6, 33),
    "coalesced_insts": numbers(0, 5, 819),
    "independent_insts": numbers(0, 3, 6, 100),
    "sync_insts": numbers(0, 6),
    "elements": numbers(1000, 730112),
    "max_threads_per_block": numbers(256, 512, 1024),
}
MWP_REST = {
    "nominal_clock": 1e9,
    "issue_cycles": 4,
    "mem_latency_dram": 450,
    "departure_delay_coalesced": 4,
    "departure_delay_uncoalesced": 40,
    "transactions_per_uncoalesced": 2,
}
TOY_ROWS: dict[str, Any] = {
    "toy_load": numbers(0, 2, 7.5, 21, 60, 99),
    "toy_limit": numbers(0, 21, 60),
    "toy_share": numbers(0, 0.2, 0.25, 0.8, 1),
    "toy_unit": numbers(1e-3, 0.5, 1, 9),
}
SWITCHES = {
    "transit": {"supply": ("sharp", "smooth")},
    "mwp_cwp": {
        "rounding": ("continuous", "whole"),
        "waves": ("fractional", "whole"),
        "printed": ("false", "true"),
    },
    TOY: {"toy_shape": ("flat", "steep")},
}
ROWS = {"transit": TRANSIT, "mwp_cwp": MWP, TOY: TOY_ROWS}
FORMULAS = {
    "transit": [Formula("threads / 4 + 3", ("threads",), lambda n: n / 4 + 3)],
    "mwp_cwp": [
        Formula(
            "max(threads_per_block, n_sms) + 2",
            ("threads_per_block", "n_sms"),
            lambda a, b: (a if b < a else b) + 2,
        )
    ],
    TOY: [Formula("toy_share * 2 + 1", ("toy_share",), lambda x: x * 2 + 1)],
}
FORMULA_FOR = {"transit": "mem_latency", "mwp_cwp": "comp_insts", TOY: "toy_unit"}
WHERE = {
    "transit": [
        ("ms_throughput <= 2", Condition(("ms_throughput",), lambda r: r <= 2)),
        (
            "threads > 10 and bound < 2",
            Condition(("threads", "bound"), lambda n, b: n > 10 and b < 2),
        ),
    ],
    "mwp_cwp": [
        ("time <= 10 ms", Condition(("time",), lambda t: t <= 10 * 0.001)),
        (
            "mwp < cwp or case == 3",
            Condition(("mwp", "cwp", "case"), lambda m, c, k: m < c or k == 3),
        ),
    ],
    TOY: [("toy_unit < 600 ms", Condition(("toy_unit",), lambda u: u < 600 * 0.001))],
}


@dataclass(repr=False)
class Drawn:
    """A study both ways."""

    def __repr__(self) -> str:
        return f"Study(**{self.study})"

    study: dict[str, Any]
    loops: Loops
    outputs: list[str]


@st.composite
def draw_grid(draw: st.DrawFn, model: str) -> Drawn:
    rows, switches = ROWS[model], SWITCHES[model]
    names = draw(st.permutations([*rows, *switches]))
    count = draw(st.integers(0, 4))
    varied, fixed = names[:count], names[count:]
    axes: dict[str, Any] = {}
    steps: dict[str, Any] = {}
    numeric = [name for name in varied if name in rows]
    zipped = draw(st.booleans()) and len(numeric) >= 2
    if zipped:
        pair = numeric[:2]
        drawn_rows = [draw(rows[name]) for name in pair]
        length = min(map(len, drawn_rows))
        columns = {name: row[:length] for name, row in zip(pair, drawn_rows, strict=True)}
    for name in varied:
        if zipped and name == pair[1]:
            continue
        if zipped and name == pair[0]:
            axes["together"] = {"zip": columns}
            steps["together"] = [{n: float(columns[n][i]) for n in pair} for i in range(length)]
        elif name in rows:
            values = draw(rows[name])
            axes[name] = values
            steps[name] = [{name: float(value)} for value in values]
        else:
            labels = draw(st.permutations(switches[name]))[: draw(st.integers(1, 2))]
            axes[name] = labels
            steps[name] = [{name: label} for label in labels]
    set_: dict[str, Any] = dict(MWP_REST) if model == "mwp_cwp" else {}
    if model == TOY:
        set_["toy_kind"] = draw(st.sampled_from(["", "abc", "längst"]))
    loops_given: dict[str, Any] = dict(set_)
    sizes = {axis: len(steps[axis]) for axis in axes}
    for name in fixed:
        if name in switches:
            if draw(st.booleans()):
                set_[name] = loops_given[name] = draw(st.sampled_from(switches[name]))
            continue
        how = draw(st.sampled_from(["number", "number", "number", "table", "formula", "default"]))
        row = load_model(model).quantities[name]
        if how == "formula" and name == FORMULA_FOR[model]:
            formula = FORMULAS[model][0]
            set_[name], loops_given[name] = formula.text, formula
        elif how == "table" and axes:
            dims = draw(st.permutations(list(axes)))[: draw(st.integers(1, 2))]
            shape = [sizes[dim] for dim in dims]
            pool = draw(rows[name])
            picks = draw(
                st.lists(
                    st.sampled_from(pool), min_size=math.prod(shape), max_size=math.prod(shape)
                )
            )
            array = np.array(picks, dtype=float).reshape(shape)
            set_[name] = xr.DataArray(array, dims=dims)
            loops_given[name] = Table(
                tuple(dims), {index: float(v) for index, v in np.ndenumerate(array)}
            )
        elif how == "default" and row.default is not None:
            continue
        else:
            set_[name] = draw(rows[name])[0]
            loops_given[name] = float(set_[name])
    chosen = draw(st.sampled_from([(), (0,), (0, 1)]))
    where = [WHERE[model][i] for i in chosen if i < len(WHERE[model])]
    outputs = list(draw(st.permutations(load_model(model).outputs)))[: draw(st.integers(1, 4))]
    return Drawn(
        study={
            "model": model,
            "axes": axes,
            "set": set_,
            "where": [text for text, _ in where],
            "outputs": outputs,
        },
        loops=Loops(
            model=load_model(model),
            axes=steps,
            given=loops_given,
            where=[condition for _, condition in where],
        ),
        outputs=outputs,
    )


def check(case: Drawn, *, within: int = 0) -> None:
    study = Study(**case.study)
    loops = case.loops
    some = any(map(loops.feasible, loops.indices(tuple(loops.axes))))
    if not some and loops.conditions:
        with pytest.raises(InfeasibleError):
            study.run()
        return
    ds = study.run()
    same_run(ds, loops.run(case.outputs), within=within)
    for name in case.outputs:
        flags = any(eq.flags for eq in loops.model.variants(name))
        assert ds[name].dtype == (np.int8 if flags else np.float64)
    if "feasible" in ds:
        assert ds.feasible.dtype == np.bool_
    expanded = study.run(expand=True)
    same_run(expanded, loops.run(case.outputs, expand=True), within=within)


@given(case=draw_grid("transit"))
@SLOW
def test_transit(case: Drawn) -> None:
    check(case)


@given(case=draw_grid("mwp_cwp"))
@SLOW
def test_mwp_cwp(case: Drawn) -> None:
    check(case)


@given(case=draw_grid(TOY))
@SLOW
def test_a_users_model(case: Drawn) -> None:
    check(case, within=8)


# --- categorical axes: machines, workloads, capabilities


def steps(kind: str, names: list[str], model: Model, without: Any = ()) -> list[dict[str, Value]]:
    """Return what each label of a catalogue axis supplies, as plain data."""
    load = {"machine": dse.machine, "workload": dse.workload}[kind]
    result = []
    for name in names:
        row: dict[str, Value] = {}
        for quantity, value in load(name).values.items():
            if quantity in without or model.quantities[quantity].is_switch:  # one of power alone
                continue
            number: Any = value.value
            if isinstance(number, str):
                number = parse_value(number, model.quantities[quantity], model.quantities)
            if not isinstance(number, (int, float)):
                needs = references(number)
                row[quantity] = Formula("", needs, _formula(number, needs))
            else:
                row[quantity] = float(number)
        result.append(row)
    return result


def _formula(node: Any, names: tuple[str, ...]) -> Any:
    return lambda *values: interpret(node, dict(zip(names, values, strict=True)))


def test_machines_and_workloads_as_axes() -> None:
    model = load_model("occupancy + mwp_cwp")
    machines, workloads = ["gtx280", "8800gtx", "fx5600"], ["svm", "sepia", "blackscholes"]
    axes = {"workload": workloads, "threads_per_block": [64, 512, 700], "machine": machines}
    set_ = {"active_sms": 15, "comp_factor": 2}
    study = dse.Study(model="occupancy + mwp_cwp", axes=axes, set=set_)
    loops = Loops(
        model=model,
        axes={
            "workload": steps("workload", workloads, model, set_),
            "threads_per_block": [{"threads_per_block": float(n)} for n in (64, 512, 700)],
            "machine": steps("machine", machines, model, set_),
        },
        given={name: float(value) for name, value in set_.items()},
    )
    ds = study.run()
    same_run(ds, loops.run(model.outputs))
    assert not ds.feasible.all()  # 700 threads are too many for these machines
    assert ds.feasible.any()


def test_units_of_allocation_are_the_machine_s_along_an_axis(tmp_path: Path) -> None:
    """``granularity`` is ``auto``: machines that hold units use them, one without goes by Eq. 4."""
    bare = tmp_path / "bare.toml"
    limits = {
        "max_threads_per_sm": 1536,
        "max_threads_per_block": 1024,
        "max_blocks_per_sm": 16,
        "registers_per_sm": 65536,
        "shared_mem_per_sm": 65536,
    }
    lines = [f'{name} = {{ value = {value}, source = "x" }}' for name, value in limits.items()]
    bare.write_text("\n".join(['title = "without units"', "[values]", *lines]))
    model, machines = load_model("occupancy"), ["cc8.0", str(bare), "gtx280", "cc3.7"]
    axes = {"threads_per_block": [100, 128, 500], "registers_per_thread": [0, 10, 33]}
    spec: dict[str, Any] = {"model": "occupancy", "set": {"shared_mem_per_block": 5000}}
    study = dse.Study(**spec, axes={"machine": machines, **axes})
    loops = Loops(
        model=model,
        axes={
            "machine": steps("machine", machines, model),
            **{name: [{name: float(n)} for n in values] for name, values in axes.items()},
        },
        given={"shared_mem_per_block": 5000.0},
    )
    ds = study.run()
    same_run(ds, loops.run(model.outputs))
    said_of = json.loads(ds.attrs["equations"])
    assert {"granularity=auto"} == {row["when"] for row in said_of if "when" in row}
    assert json.loads(ds.attrs["defaults"])["granularity"] == "auto"
    for machine, label in zip(machines, ["cuda", "none", "cuda", "cuda"], strict=True):
        alone = dse.Study(**spec, machine=machine, axes=axes).run()
        named = {**spec, "set": {**spec["set"], "granularity": label}}
        same = dse.Study(**named, machine=machine, axes=axes).run()
        here = ds.sel(machine=machine, drop=True)
        for name in model.outputs:
            np.testing.assert_array_equal(here[name], alone[name])
            np.testing.assert_array_equal(alone[name], same[name])
        assert json.loads(alone.attrs["defaults"])["granularity"] == label
    with pytest.raises(GraphError, match="given for some labels of an axis and not for the others"):
        dse.Study(**{**spec, "set": {**spec["set"], "granularity": "cuda"}}, axes=study.axes)
    for method in ("scan", "certified"):
        best = study.optimum(maximize="occupancy", top=3, method=method)
        assert best.occupancy.values.tolist() == sorted(ds.occupancy.values.ravel())[-1:-4:-1]


def test_what_a_label_does_not_supply_comes_from_the_other_file() -> None:
    """A workload's value goes before a machine's; a single file fills what a label leaves out."""
    model = load_model("mwp_cwp")
    machines = ["gtx280", "hong2009_example"]
    set_ = {"threads_per_block": 128, "active_blocks_per_sm": 4}
    ds = dse.Study(model="mwp_cwp", workload="svm", axes={"machine": machines}, set=set_).run()
    supplied = steps("workload", ["svm"], model)[0]
    rows = [
        {name: value for name, value in row.items() if name not in supplied}
        for row in steps("machine", machines, model, set_)
    ]
    given = {**supplied, **{name: float(value) for name, value in set_.items()}}
    same_run(ds, Loops(model=model, axes={"machine": rows}, given=given).run(model.outputs))


def test_a_quantity_all_labels_share_does_not_vary_along_them() -> None:
    ds = dse.Study(
        model="occupancy",
        axes={"machine": ["gtx280", "cc1.3"], "threads_per_block": [64, 128]},
        set={"registers_per_thread": 10, "shared_mem_per_block": 0},
    ).run()
    assert ds.occupancy.dims == ("threads_per_block",)


# --- each output only over its axes


def test_natural_axes() -> None:
    study = dse.Study(
        model="transit",
        axes={
            "ms_peak": [1, 2],
            "supply": ["smooth", "sharp"],
            "lanes_width": [8, 32, 64],
            "threads": [10, 100, 1000, 10000],
        },
        set={"intensity": 4, "mem_latency": 300},
        outputs=["cs_transition", "ms_transition", "thread_limit", "ms_throughput", "bound"],
    )
    ds = study.run()
    assert ds.cs_transition.dims == ("lanes_width",)
    assert ds.ms_transition.dims == ("ms_peak",)
    assert ds.thread_limit.dims == ("threads",)
    assert ds.ms_throughput.dims == ("ms_peak", "supply", "lanes_width", "threads")
    full = study.run(expand=True)
    for name in ds.data_vars:
        assert full[name].dims == tuple(study.axes)
        broadcast = ds[name].broadcast_like(full[name]).transpose(*study.axes)
        assert same_bits(full[name].values, broadcast.values)
        assert full[name].dtype == ds[name].dtype


def test_without_axes_the_outputs_are_single_values() -> None:
    given = {"threads": 64, "intensity": 4, "mem_latency": 300, "ms_peak": 1, "lanes_width": 8}
    ds = dse.Study(model="transit", set=given).run()
    assert ds.sizes == {}
    assert float(ds.ms_throughput) == 64 / 304
    assert int(ds.bound) == 0


# --- tables and formulas

TRANSIT_SET = {"intensity": 4, "ms_peak": 1, "lanes_width": 8}


def test_a_table_may_lie_over_a_switch_and_is_aligned_by_its_labels() -> None:
    latency = xr.DataArray(
        [[100.0, 200.0], [300.0, 400.0]],
        dims=("threads", "supply"),
        coords={"threads": [20, 10], "supply": ["smooth", "sharp"]},
    )
    axes = {"supply": ["sharp", "smooth"], "threads": [10, 20]}
    study = dse.Study(
        model="transit",
        axes=axes,
        set={**TRANSIT_SET, "mem_latency": latency},
        outputs=["threads_in_ms"],
    )
    values = {(0, 0): 400.0, (0, 1): 200.0, (1, 0): 300.0, (1, 1): 100.0}
    loops = Loops(
        model=load_model("transit"),
        axes={
            "supply": [{"supply": "sharp"}, {"supply": "smooth"}],
            "threads": [{"threads": 10.0}, {"threads": 20.0}],
        },
        given={**TRANSIT_SET, "mem_latency": Table(("supply", "threads"), values)},
    )
    same_run(study.run(), loops.run(["threads_in_ms"]))
    best = study.optimum(maximize="threads_in_ms")
    assert (str(best.supply.values), int(best.threads)) == ("sharp", 20)


def test_a_table_over_a_switch_reaches_what_no_equation_switches() -> None:
    study = dse.Study(
        model="transit",
        axes={"supply": ["sharp", "smooth"], "threads": [10]},
        set={**TRANSIT_SET, "mem_latency": xr.DataArray([1.0, 6.0], dims="supply")},
        outputs=["ms_transition", "thread_limit"],
    )
    ds = study.run()
    assert ds.ms_transition.dims == ("supply",)
    assert ds.ms_transition.values.tolist() == [1.0, 6.0]
    assert ds.thread_limit.values.tolist() == [[2.0], [1.0]]


def test_a_study_shares_no_array_with_the_caller() -> None:
    threads = np.array([10.0, 20.0])
    set_ = {**TRANSIT_SET, "mem_latency": 100}
    study = dse.Study(model="transit", axes={"threads": threads}, set=set_)
    threads[:] = 5
    assert study.run().threads.values.tolist() == [10.0, 20.0]
    columns = {"threads": [1, 2], "mem_latency": [3, 4]}
    zipped = dse.Study(model="transit", axes={"pair": {"zip": columns}}, set=TRANSIT_SET)
    zipped.run().threads.values[:] = 77
    assert zipped.run().threads.values.tolist() == [1, 2]
    ds = study.run()
    ds.ms_throughput.values[:] = -1
    assert (study.run().ms_throughput.values > 0).all()


def test_columns_of_a_zip_are_coordinates_even_if_asked_for() -> None:
    columns = {"threads": [1, 2], "mem_latency": [3, 4]}
    study = dse.Study(
        model="transit",
        axes={"pair": {"zip": columns}},
        set=TRANSIT_SET,
        outputs=["threads", "ms_throughput"],
    )
    assert list(study.run().data_vars) == ["ms_throughput"]
    assert int(study.optimum(minimize="mem_latency + threads").mem_latency) == 3


# --- refusals


@pytest.mark.parametrize("labels", [["none", "cuda"], ["cuda", "none"]])
def test_a_formula_of_one_branch_is_checked_in_that_branch(labels: list[str]) -> None:
    study = {
        "model": "occupancy",
        "machine": "cc8.0",
        "axes": {"granularity": labels, "threads_per_block": [32, 64]},
    }
    set_ = {"registers_per_thread": 16, "shared_mem_per_block": 0}
    good = dse.Study(**study, set={**set_, "register_allocation_unit": "8 * warp_size"})
    assert good.run().occupancy.shape == (2, 2)
    bad = dse.Study(**study, set={**set_, "register_allocation_unit": "warp_size - 64"})
    message = r"register_allocation_unit = -32 by its formula, at granularity = cuda, .*whole \[1"
    with pytest.raises(DomainError, match=message):
        bad.run()


def test_a_formula_that_leaves_its_domain_names_value_and_place() -> None:
    study = dse.Study(
        model="transit",
        axes={"threads": [10, 20, 30]},
        set={**TRANSIT_SET, "mem_latency": "20 - threads"},
    )
    with pytest.raises(DomainError, match=r"mem_latency = -10 by its formula, at threads = 30, is"):
        study.run()


@pytest.mark.parametrize("block", [1, 3, 100])
def test_the_first_place_outside_is_named_however_the_grid_is_cut(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.bounds.checks, "_BLOCK_POINTS", block)
    study = dse.Study(
        model="transit",
        axes={"threads": [10, 20, 30, 40], "ms_peak": [1, 2, 3]},
        set={"intensity": 4, "lanes_width": 8, "mem_latency": "75 - threads * ms_peak"},
    )
    message = "mem_latency = -15 by its formula, at threads = 30, ms_peak = 3, is"
    with pytest.raises(DomainError, match=message):
        study.run()
    late = dse.Study(
        model="transit",
        axes={"threads": [10, 20, 30, 40], "ms_peak": [1, 2, 3]},
        set={"intensity": 4, "lanes_width": 8, "mem_latency": 1},
        where="threads > 39",
    )
    assert int(late.run().feasible.sum()) == 1


@pytest.mark.parametrize("divisor", ["floor(threads / 2)", "max(threads - 5, 0)"])
def test_a_formula_divides_by_zero_as_arrays_do(divisor: str) -> None:
    set_ = {**TRANSIT_SET, "mem_latency": 5, "intensity": f"10 / {divisor}"}
    with pytest.raises(DomainError, match="intensity = inf by its formula"):
        dse.evaluate("transit", threads=1, **set_)


def test_a_rule_broken_everywhere() -> None:
    axes = {"active_sms": [31, 40], "threads_per_block": [64, 128]}
    set_ = {"active_blocks_per_sm": 1}
    study = dse.Study(model="mwp_cwp", machine="gtx280", workload="svm", axes=axes, set=set_)
    message = (
        r"the model's rule 'active_sms <= n_sms' is broken at every point \(at the first: "
        r"active_sms = 31, multiprocessors in use; n_sms = 30, [a-z ]+\): change the axes or the "
        r"values$"
    )
    for question in (study.run, lambda: study.optimum(minimize="time")):
        with pytest.raises(InfeasibleError, match=message):
            question()


def test_constraints_that_leave_nothing() -> None:
    set_ = {**TRANSIT_SET, "mem_latency": 5}
    one = dse.Study(model="transit", axes={"threads": [1, 2]}, set=set_, where="threads > 2")
    with pytest.raises(InfeasibleError, match=r"the constraint 'threads > 2' is broken at every"):
        one.run()
    two = dse.Study(
        model="transit", axes={"threads": [1, 2]}, set=set_, where=["threads > 1", "threads < 2"]
    )
    with pytest.raises(
        InfeasibleError, match=r"no point satisfies 'threads > 1' and 'threads < 2'"
    ):
        two.run()


def test_a_rule_that_only_one_branch_knows_is_named_where_all_points_break_it() -> None:
    study = dse.Study(
        model=TOY,
        axes={"toy_shape": ["flat", "steep"], "toy_load": [70, 80]},
        set={"toy_share": 0.5, "toy_unit": 1, "toy_kind": "x"},
        outputs=["toy_slope"],
    )
    with pytest.raises(InfeasibleError, match="'toy_load <= toy_limit' is broken at every point"):
        study.run()


def test_labels_are_no_outputs() -> None:
    set_ = {"paths": "0.5: 100, 0.5: 20"}
    with pytest.raises(DseError, match="paths has labels for values and cannot be an output"):
        dse.Study(model="divergence", set=set_, outputs=["paths", "divergence_loss"])
    with pytest.raises(DseError, match="supply has labels"):
        dse.Study(model="transit", set={**TRANSIT_SET, "threads": 1}, outputs=["supply"])


def test_more_points_than_64_bits_count() -> None:
    long = {"linspace": [1, 2, 300000]}
    names = ["threads", "intensity", "ms_peak", "lanes_width"]
    study = dse.Study(model="transit", axes=dict.fromkeys(names, long), set={"mem_latency": 1})
    with pytest.raises(DseError, match=r"8.1e\+21 points, more than 64-bit indices hold: shorten"):
        study.run()
    with pytest.raises(DseError, match="method='certified' counts no points"):
        study.optimum(maximize="ms_throughput", method="scan")
    best = study.optimum(maximize="ms_throughput")
    assert best.attrs["method"] == "certified"
    assert [float(best[name]) for name in names] == [2, 1, 1, 1]
    assert float(best.ms_throughput) == 1


def test_a_table_equation_runs_once_for_each_distinct_input(tmp_path: Path) -> None:
    path = tmp_path / "counted.py"
    path.write_text(
        "import dse\n"
        "calls = []\n"
        "depth = dse.quantity('depth', domain='[0, inf)')\n"
        "@dse.equation(source='here', table=True)\n"
        "def counted(depth):\n"
        "    calls.append(depth)\n"
        "    return depth * 2\n"
        "@dse.equation(source='here')\n"
        "def raised(counted, threads):\n"
        "    return counted + threads\n"
    )
    depth = xr.DataArray([1.0, 2.0, 1.0, 2.0], dims="threads")
    study = dse.Study(
        model=str(path), axes={"threads": [1, 2, 3, 4]}, set={"depth": depth}, outputs=["raised"]
    )
    assert study.run().raised.values.tolist() == [3, 6, 5, 8]
    model = load_model(str(path))
    calls = model.variants("counted")[0].function.__globals__["calls"]
    assert sorted(calls) == [1.0, 2.0]
