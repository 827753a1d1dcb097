"""Certified ranges against dense samples of the uncertain inputs; what can be the best."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.errors import DseError
from tests.dse.studies import draw_study
from tests.long import mostly_long

TRANSIT: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def transit(**more: Any) -> Any:
    given: dict[str, Any] = {"axes": {"threads": [256, 512, 1024]}, "set": TRANSIT, **more}
    return dse.Study(model="transit", **given, outputs=["cs_throughput"])


def test_ranges_of_transit() -> None:
    """Thread-bound, cs = Z n / (Z + L): falling in L, so its ends are at those of L."""
    result = dse.ranges(transit(), {"mem_latency": "10 %"})
    cs = result.cs_throughput
    assert cs.dims == ("end", "threads")
    assert cs.end.values.tolist() == ["lower", "given", "upper"]
    for end, latency in (("lower", 660), ("given", 600), ("upper", 540)):
        assert cs.sel(end=end, threads=512) == 10 * 512 / (10 + latency)
    assert cs.attrs["long_name"]


def test_ends_and_amounts_say_the_same() -> None:
    share = dse.ranges(transit(), {"mem_latency": "± 5 %"})
    for spec in ("30", 30, (570, 630), "30 cycles"):
        np.testing.assert_array_equal(
            dse.ranges(transit(), {"mem_latency": spec}).cs_throughput, share.cs_throughput
        )
    assert share.cs_throughput.sizes["end"] == 3


@pytest.mark.parametrize(
    "model",
    mostly_long(
        ["transit", "mwp_cwp", "ipp", "tmm", "temperature", "throughput"],
        lambda _, model: model in ("transit", "mwp_cwp", "tmm"),
    ),
)
def test_no_sample_lies_outside_and_the_ends_are_near(model: str) -> None:
    rng = random.Random(len(model))
    checked = 0
    while checked < 2:
        study = draw_study(model, rng, sizes=(3,))
        if study is None:
            continue
        grid = study.grid()
        outputs = [name for name in grid.outputs if grid.kind(name) == "float"][:2]
        names = [n for n in study.set if n in grid.graph.ancestors(outputs)]
        names = [n for n in names if not grid.model.quantities[n].domain.whole][:2]
        if not names:
            continue
        checked += 1
        within = dict.fromkeys(names, "20 %")
        result = dse.ranges(study, within, outputs=outputs)
        low, high = sample_ends(study, outputs, names)
        for output in outputs:
            array = result[output]
            lower, upper = (
                np.broadcast_to(array.sel(end=end).values, low[output].shape)
                for end in ("lower", "upper")
            )
            known = np.isfinite(low[output]) & np.isfinite(high[output]) & ~np.isnan(lower)
            slack = 1e-12 * np.abs(high[output][known])  # as the ends were written out
            assert (lower[known] <= low[output][known] + slack).all(), output
            assert (upper[known] >= high[output][known] - slack).all(), output
            if model == "mwp_cwp":  # jumps where MWP is CWP, on a surface that samples miss
                continue
            width = (high[output] - low[output])[known]
            # delays follow the memory's clock: the core's cancels in the time, which splits show
            near = 0.03 * np.abs(high[output][known]) + 0.2 * width
            assert (low[output][known] - lower[known] <= near).all(), output
            assert (upper[known] - high[output][known] <= near).all(), output


def sample_ends(study: Any, outputs: list[str], names: list[str]) -> tuple[Any, Any]:
    """The least and the most of each output over a grid of the inputs."""
    axes = dict(study.axes)
    for name in names:
        value = study.set[name]
        row = study.grid().model.quantities[name]
        ends = np.clip([value * 0.8, value * 1.2], row.domain.low, row.domain.high)
        axes[name] = np.unique(np.linspace(*ends, 21))
    given = {name: value for name, value in study.set.items() if name not in names}
    wide = dse.Study(model=study.model, axes=axes, set=given, outputs=outputs).run()
    low, high = {}, {}
    for output in outputs:
        array = wide[output].where(wide.feasible) if "feasible" in wide else wide[output]
        full = array.broadcast_like(wide[next(iter(study.axes))])
        along = [name for name in names if name in full.dims]
        low[output], high[output] = (f(along).values for f in (full.min, full.max))
    return low, high


def test_what_can_be_the_best_depends_on_shared_inputs() -> None:
    """Two configurations that an input moves together: ranges overlap, yet one is always better."""
    study = transit(axes={"threads": [500, 505, 510, 515]})
    result = dse.ranges(study, {"mem_latency": "10 %"}, maximize="cs_throughput")
    lower, upper = (result.cs_throughput.sel(end=end).values for end in ("lower", "upper"))
    assert (upper > lower.max()).all()  # by its range each could be
    assert result.can_be_best.values.tolist() == [False, False, False, True]


def test_whatever_was_the_best_in_a_sample_can_be() -> None:
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        workload="svm",
        axes={"active_sms": range(1, 31), "threads_per_block": [64, 128, 256]},
        outputs=["energy", "power"],
    )
    within = {"mem_bandwidth": "10 %", "runtime_power_const": "20 %"}
    within = {n: s for n, s in within.items() if n in study.grid().graph.definitions}
    assert within
    result = dse.ranges(study, within, minimize="energy", where="power <= 150 W")
    can = result.can_be_best
    assert 1 <= int(can.sum()) < can.size / 2
    for shares in itertools.product(np.linspace(-1, 1, 5), repeat=len(within)):
        given = {}
        for (name, spec), share in zip(within.items(), shares, strict=True):
            value = float(
                study.grid().evaluate_point({"active_sms": 0, "threads_per_block": 0}, [name])[name]
            )
            given[name] = value * (1 + share * float(spec.strip(" %")) / 100)
        moved = dse.Study(
            model="ipp",
            machine="gtx280",
            workload="svm",
            axes=study.axes,
            set=given,
            outputs=["energy", "power"],
        )
        best = moved.optimum(minimize="energy", where="power <= 150 W")
        at = {axis: best[axis].item() for axis in study.axes}
        assert bool(can.sel(at)), (shares, at)
    assert (result.possibly_feasible | ~result.certainly_feasible).all()


@pytest.mark.parametrize(
    ("within", "more", "message"),
    [
        ({}, {}, "expected inputs"),
        ({"mem_latenci": "5 %"}, {}, "did you mean"),
        ({"mem_latency": "much %"}, {}, "such as '5 %'"),
        ({"mem_latency": "-5 %"}, {}, "0 or more"),
        ({"mem_latency": (1, 2)}, {}, "does not contain"),
        ({"mem_latency": (1, 2, 3)}, {}, "lower and an upper"),
        ({"mem_latency": (float("nan"), 700)}, {}, "lower and an upper"),
        ({"mem_latency": float("nan")}, {}, "0 or more"),
        ({"mem_latency": "5 GHz"}, {}, "GHz"),
        ({"bound": "5 %"}, {"outputs": "bound"}, "is a case, not a number: name"),
        ({"mem_latency": "5 %"}, {"outputs": "mem_latency"}, "is an input: name outputs"),
        ({"mem_latency": "5 %"}, {"outputs": ["cs_throughput", "threads"]}, "is an input"),
        ({"mem_latency": "5 %"}, {"minimize": "bound", "maximize": "bound"}, "one objective"),
        ({"supply": "5 %"}, {}, "depends on|no numbers"),
        ({"mem_latency": "5 %"}, {"outputs": "bound"}, "is a case"),
    ],
)
def test_misuse(within: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(DseError, match=message):
        dse.ranges(transit(), within, **more)


def test_an_axis_whose_name_the_answer_needs_is_told() -> None:
    columns = {"threads": [256, 512], "intensity": [10, 20]}
    study = dse.Study(
        model="transit",
        axes={"end": {"zip": columns}},
        set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
    )
    with pytest.raises(DseError, match="the axis end has a name that the answer needs"):
        dse.ranges(study, {"mem_latency": "5 %"})
