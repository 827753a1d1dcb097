"""Sparse products: laws by simulation and enumeration, directions, floors, and measured times."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from stochastic import LawError, Pmf
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.models.spmv import warp_longest_row
from tests.papers.spmv_fits import (
    DATA,
    LARGE,
    TIMES,
    fit_numbers,
    left_out_times,
    machine_values,
    ratio_scores,
    read_rows,
    times,
)

with_data = pytest.mark.skipif(not DATA.is_file(), reason="needs ../shared/data/spmv")

ENDS = {"row_min": 1, "row_q1": 4, "row_median": 6, "row_q3": 9, "row_max": 500}
SHAPE = {"rows": 1e5, "nonzeros": 9e5, **ENDS}
MAPPINGS = ("thread", "warp", "merge")


def _evaluate(machine="v100_sxm2", **changes):
    return dse.evaluate("spmv", machine=machine, **{**SHAPE, **changes})


def _time(**changes):
    return _evaluate(**changes).time


# --- the law of five quantiles and a mean


@st.composite
def quantiles(draw):
    """Return five ascending quantiles, and a mean that they allow."""
    values = st.one_of(st.integers(0, 20), st.floats(0, 50), st.integers(0, 3000))
    ends = sorted(float(draw(values)) for _ in range(5))
    least, most = sum(ends[:4]) / 4, sum(ends[1:]) / 4
    share = draw(st.sampled_from((0.0, 0.01, 0.3, 0.5, 0.9, 1.0)))
    return (*ends, min(max(least + share * (most - least), least), most))


@given(quantiles())
def test_the_law_has_its_quantiles_and_its_mean(parameters):
    *ends, mean = parameters
    law = Pmf.quantiles(*parameters)
    assert law.mean() == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert math.floor(ends[0]) <= law.low
    assert law.high <= math.ceil(ends[-1])
    for quarter, end in enumerate(ends):  # rounding moves a value by less than 1
        assert law.cdf(end - 1 - 1e-9) <= quarter / 4 + 1e-9
        assert law.cdf(end + 1) >= quarter / 4 - 1e-9


def test_quarters_are_uniform_and_the_tail_takes_the_rest_of_the_mean():
    """Lengths are uniform between 1, 3, 5 and 7; a triangle of width 1 rounds them."""
    law = Pmf.quantiles(1, 3, 5, 7, 7, 4.75)
    third = Fraction(1, 8)
    expected = [third / 2, third, third, third, third, third, third / 2 + Fraction(1, 4)]
    assert law.weights.tolist() == pytest.approx([float(p) for p in expected], abs=1e-12)


@pytest.mark.parametrize("parameters", [(0,) * 6, (3,) * 6, (0, 0, 0, 0, 1, 1e-300)])
def test_laws_of_few_values(parameters):
    law = Pmf.quantiles(*parameters)
    assert law.mean() == parameters[-1]
    assert (law.low, law.high) == (parameters[0], parameters[-2])


def test_a_tail_may_be_long():
    law = Pmf.quantiles(1, 1, 1, 2, 2_312_481, 8.8)
    assert law.mean() == pytest.approx(8.8, rel=1e-6)
    assert law.high == 2_312_481


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((1, 0, 3, 4, 5, 2), "do not ascend"),
        ((1, 2, 3, 4, 5, 3.6), r"mean = 3\.6: these quantiles allow a mean from 2\.5 to 3\.5"),
        ((1, 2, 3, 4, 5, 2.4), "allow a mean from 2.5"),
        ((0, 0, 0, 0, 1e15, 1), "count the work in larger units"),
        ((0, 0, 0, 0, math.inf, 1), "expected a finite number"),
        ((-1, 0, 0, 0, 1, 1), "low = -1"),
    ],
)
def test_impossible_quantiles_are_refused(parameters, message):
    with pytest.raises(LawError, match=message):
        Pmf.quantiles(*parameters)


@given(quantiles())
def test_the_closed_form_is_the_longest_of_32_draws(parameters):
    """The twin: draws by the inverse function of each quarter, at midpoints of u**32."""
    *ends, mean = parameters
    closed = warp_longest_row(*(float(value) for value in parameters))
    base = sum((a + b) / 8 for a, b in pairwise(ends[:4]))
    tail = ends[4] - ends[3]
    share = min(max(4 * (mean - base) - ends[3], 0.0), tail) / tail if tail else 1.0
    above = np.maximum((((np.arange(200_000) + 0.5) / 200_000) ** (1 / 32) - 0.75) * 4, 0)
    lengths = ends[3] + tail * (above ** (1 / share - 1) if share > 1e-6 else 0 * above)
    assert closed == pytest.approx(lengths.mean(), rel=2e-3, abs=2e-3 * ends[4] + 1e-9)
    assert ends[3] <= closed <= max(ends[4], ends[3]) * (1 + 1e-12)


def test_closed_form_and_law_agree():
    law = Pmf.quantiles(*ENDS.values(), 9)
    cdf = np.cumsum(law.weights) ** 32
    longest = law.high - cdf[:-1].sum()
    assert warp_longest_row(*map(float, ENDS.values()), 9.0) == pytest.approx(longest, rel=1e-3)


# --- the model


def test_quantiles_and_their_law_give_equal_times():
    text = "quantiles:1,4,6,9,500,9"
    for mapping in MAPPINGS:
        law = dse.evaluate(
            "spmv",
            machine="v100_sxm2",
            mapping=mapping,
            rows=1e5,
            row_lengths="distribution",
            distribution=text,
        )
        assert law.time.item() == pytest.approx(_time(mapping=mapping).item(), rel=2e-3)


def test_lengths_may_be_a_trace(tmp_path):
    path = tmp_path / "lengths.csv"
    path.write_text("\n".join(["3"] * 90 + ["30"] * 10))
    given = {"row_lengths": "distribution", "distribution": str(path), "rows": 1000}
    result = dse.evaluate("spmv", machine="v100_sxm2", **given)
    assert result.nonzeros.item() == pytest.approx(1000 * 5.7)
    assert result.row_max.item() == pytest.approx(30)
    assert result.warp_longest_row.item() == pytest.approx(30 - 27 * 0.9**32)


def test_sorted_rows_join_by_names():
    given = {"work_law": "quantiles", **SHAPE}
    outputs = ["time", "binned_slowdown", "imbalance_slowdown", "warp_longest_row"]
    both = {"machine": "v100_sxm2", "outputs": outputs, **given}
    plain = dse.evaluate("spmv + imbalance", **both)
    binned = dse.evaluate("spmv + imbalance", warp_longest_row="binned_slowdown * row_mean", **both)
    mean = SHAPE["nonzeros"] / SHAPE["rows"]
    assert plain.imbalance_slowdown.item() * mean == pytest.approx(
        plain.warp_longest_row.item(), rel=2e-3
    )
    assert binned.warp_longest_row < plain.warp_longest_row / 2
    assert binned.time < plain.time


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_no_time_is_below_the_bytes_over_the_bandwidth(mapping):
    ideal = {name: 1 if name == "spmv_dram_share" else 1e-12 for name in load_model("spmv").fitted}
    random = np.random.default_rng(1)
    rows = 2.0 ** random.integers(0, 24, 400)
    nonzeros = rows * 2.0 ** random.integers(0, 10, 400)
    for numbers in ({}, ideal):
        for machine in ("v100_sxm2", "h100_sxm", "t4"):
            result = _evaluate(machine, mapping=mapping, rows=rows, nonzeros=nonzeros, **numbers)
            assert (result.time >= result.spmv_floor).all()
            assert (result.time_low >= result.spmv_floor).all()
            assert (result.time_low <= result.time).all()
            assert (result.time <= result.time_high).all()


def test_a_longer_row_never_costs_less():
    longest = [9, 9.5, 36, 100, 1e3, 1e5]  # with equal nonzeros
    for mapping in ("thread", "warp"):
        assert (np.diff(_time(mapping=mapping, row_max=longest)) > 0).all()
    assert _time(mapping="merge", row_max=1e5) == _time(mapping="merge")


def test_directions():
    thread = _time().item()
    assert _time(nonzeros=2e6) > thread
    assert _time(row_correlation=0.5) < thread
    assert _time(mapping="warp", row_correlation=0.5) > _time(mapping="warp")
    assert _time(value_bytes=8) > thread
    for name in ("mem_bandwidth", "l2_size", "core_clock", "n_sms"):
        known = _evaluate()
        value = known[name].item() if name in known else 80
        assert _time(**{name: 2 * value}) < thread


def test_quantiles_out_of_order_are_refused():
    with pytest.raises(DseError, match="row_q1 <= row_median"):
        _evaluate(row_q1=7)


def test_missing_lengths_are_named():
    with pytest.raises(DseError, match="row_q3, upper quartile"):
        dse.evaluate("spmv", machine="v100_sxm2", rows=10, nonzeros=20, mapping="thread")
    dse.evaluate("spmv", machine="v100_sxm2", rows=10, nonzeros=20, mapping="merge")


def test_statistics_that_a_mapping_does_not_need_are_accepted():
    merge = _evaluate(mapping="merge", row_mean=9, row_variance=81)
    assert merge.time.item() == _time(mapping="merge").item()
    named = {"row_variance": 81, "outputs": ["row_variation"]}
    assert _evaluate(**named).row_variation.item() == 1


# --- measured times


@pytest.fixture(scope="module")
def rows():
    return read_rows()


@pytest.fixture(scope="module")
def left_out(rows):
    return left_out_times(rows, machine_values())


@with_data
def test_the_defaults_are_the_fit(rows):
    numbers = fit_numbers(rows, machine_values())
    defaults = {name: load_model("spmv").quantity(name).default for name in numbers}
    assert defaults == pytest.approx(numbers, rel=5e-3)
    assert set(numbers) == set(load_model("spmv").fitted)


@with_data
def test_matrices_left_out(rows, left_out):
    scores = ratio_scores(rows, left_out["thread"] / left_out["merge"])
    assert scores["within 1.5"] >= 0.88
    assert scores["rank correlation"] >= 0.95
    assert scores["median error"] <= 0.18
    warp = ratio_scores(rows, left_out["warp"] / left_out["merge"], "warp")
    assert warp["within 1.5"] >= 0.74
    assert warp["rank correlation"] >= 0.9
    always_1 = ratio_scores(rows, pd.Series(1.0, rows.index))
    naive = ratio_scores(rows, rows.row_max / rows.row_mean)
    assert max(always_1["within 1.5"], naive["within 1.5"]) < 0.45
    assert naive["rank correlation"] < 0.56


@with_data
def test_the_longest_row_counts_more_than_lockstep(rows, left_out):
    """Lanes that wait for no other lane, with the same longest row, have nearly the same score."""
    values = {**machine_values(), "row_correlation": 1.0}
    alone = left_out_times(rows, values, ("merge", "thread"))
    scores = ratio_scores(rows, alone["thread"] / alone["merge"])
    full = ratio_scores(rows, left_out["thread"] / left_out["merge"])
    assert abs(scores["within 1.5"] - full["within 1.5"]) < 0.02
    assert scores["rank correlation"] < full["rank correlation"]


@with_data
@pytest.mark.parametrize("mapping", TIMES)
def test_intervals_of_matrices_left_out(mapping, rows, left_out):
    result = dse.evaluate("spmv", machine="v100_sxm2", mapping=mapping, rows=1, nonzeros=1, **ENDS)
    low, high = result.spmv_error_low.item(), result.spmv_error_high.item()
    ratio = (rows[f"{mapping}_time"] / left_out[mapping])[rows.nonzeros > LARGE].dropna()
    assert 0.88 <= ((low <= ratio) & (ratio <= high)).mean() <= 0.92


@with_data
def test_evaluate_equals_the_formulas(rows):
    few = rows.iloc[::100]
    names = [name for name in load_model("spmv").quantities if name in few]
    columns = {name: few[name].to_numpy(float) for name in names}
    for mapping in TIMES:
        result = dse.evaluate("spmv", machine="v100_sxm2", mapping=mapping, **columns)
        assert result.time.values == pytest.approx(times(few, machine_values(), mapping))


@with_data
def test_no_measured_time_is_below_the_floor(rows):
    """So values have four bytes: with eight, the largest products would beat the bandwidth."""
    columns = {name: rows[name].to_numpy(float) for name in ("rows", "cols", "nonzeros")}
    for value_bytes, holds in ((4, True), (8, False)):
        machine = {"machine": "v100_sxm2", "mapping": "merge", "value_bytes": value_bytes}
        floor = dse.evaluate("spmv", **machine, **columns).spmv_floor.values
        assert (rows.merge_time >= floor).all() == holds
