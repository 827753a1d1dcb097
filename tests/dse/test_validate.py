"""Validation: scores are those of textbooks, what is left out is not seen, losses are said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import dse
from dse.validation.scores import make_folds, rank_correlation, sample_spaces, score, slowdowns
from symbolic.errors import DseError, UnknownNameError
from tests.long import draws

Run = Callable[..., Result]

SUPPLY = ["ms_peak_bandwidth", "ms_transition"]
numbers = st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, 8.0, 13.0]), min_size=4, max_size=30)


def supply(cards: int = 4, noise: float = 0.0) -> pd.DataFrame:
    """Cards of the same supply curve; the last one has half the bandwidth where noise says so."""
    threads = np.array([64, 128, 256, 512, 1024, 2048.0])
    parts = []
    for card in range(cards):
        peak = 8e9 * (1 - noise * (card == cards - 1))
        rows = {"threads_in_ms": threads, "attained_bandwidth": peak * np.minimum(1, threads / 512)}
        parts.append(pd.DataFrame({**rows, "card": f"card {card}"}))
    return pd.concat(parts, ignore_index=True)


# --- scores


@settings(max_examples=draws(50), deadline=None)
@given(numbers, st.randoms(use_true_random=False))
def test_ranks_and_slowdowns_are_those_of_slow_twins(values: list[float], random: Any) -> None:
    measured = np.array(values)
    predicted = np.array(random.choices(values, k=len(values)))
    if len({*values}) > 1:
        expected = spearmanr(measured, predicted).statistic if len({*predicted}) > 1 else 0.0
        assert rank_correlation(measured, predicted) == pytest.approx(expected, abs=1e-12)
    spaces = [np.array(random.sample(range(len(values)), 3)) for _ in range(5)]
    for space, slow in zip(spaces, slowdowns(measured, predicted, spaces), strict=True):
        best, chosen = min(values[row] for row in space), space[0]
        for row in space:
            if predicted[row] < predicted[chosen]:
                chosen = row
        assert slow == values[chosen] / best


def test_errors_are_shares_and_what_is_not_predicted_is_told() -> None:
    result = score(np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.1, 1.8, math.nan, 5.0]))
    assert [result.median, result.mean, result.p90] == pytest.approx([0.1, 0.2 / 3, 0.1])
    assert result.missing == 1
    assert math.isnan(result.slowdown_p90)


def test_a_space_without_prediction_takes_its_first_row() -> None:
    measured, predicted = np.array([3.0, 1.0]), np.array([math.nan, math.nan])
    assert slowdowns(measured, predicted, [np.arange(2)]).tolist() == [3.0]


@settings(max_examples=draws(30), deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=40), st.integers(2, 12))
def test_labels_are_left_out_whole_and_once(keys: list[str], folds: int) -> None:
    if len({*keys}) < 2:
        return
    dealt = make_folds(keys, folds)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(len(keys)))
    assert len(dealt) == min(folds, len({*keys}))
    own = [{keys[row] for row in fold} for fold in dealt]
    assert sum(map(len, own)) == len({*keys})


def test_parts_of_a_space_are_drawn_without_replacement() -> None:
    drawn = sample_spaces([np.arange(50), np.arange(50, 53)], 7, 10)
    assert [len({*part.tolist()}) for part in drawn] == [10] * 7 + [3] * 7
    assert all(part.max() < 50 for part in drawn[:7])


# --- what is left out is not seen


def test_a_label_is_predicted_by_a_fit_to_the_others() -> None:
    table = supply(3, noise=0.5)
    result = dse.validate("transit_supply", table, free=SUPPLY, leave_out="card")
    for card, values in zip(["card 0", "card 1", "card 2"], result.fitted, strict=True):
        others = table[table.card != card][["threads_in_ms", "attained_bandwidth"]]
        twin = dse.fit("transit_supply", others, free=SUPPLY, residuals="relative", left_out="hat")
        assert dict(values) == dict(twin.set)
        own = [label == card for label in result.labels]
        expected = dse.evaluate(
            "transit_supply",
            outputs=["attained_bandwidth"],
            threads_in_ms=table.threads_in_ms.to_numpy()[own],
            **twin.set,
        )
        assert result.predicted[own].tolist() == expected["attained_bandwidth"].values.tolist()
    assert result.by["card 0"].median < 0.5 < result.by["card 2"].median


def test_what_is_given_needs_nothing_left_out() -> None:
    known = {"ms_peak_bandwidth": "8 GB/s", "ms_transition": 512}
    result = dse.validate("transit_supply", supply(), set=known)
    assert result.score.median == 0
    assert result.score.rank == pytest.approx(1)
    assert result.losses == {}
    assert result.baselines["the median of all rows"].median > 0.2


def test_rows_of_several_laws_are_predicted_law_by_law() -> None:
    """Measured means of Swatman 2022, Table I, with the relative errors that it prints. [%]"""
    table = [
        ("geometric:0.05", 2, 1.497, 1.43),
        ("uniform:20,40", 2, 1.124, 0.58),
        ("geometric:0.05", 32, 3.915, 1.59),
        ("negative_binomial:5,0.3", 8, 1.885, 1.30),
        ("uniform:20,40", 32, 1.328, 0.16),
    ]
    names = ("distribution", "lanes", "imbalance_loss", "printed")
    rows = pd.DataFrame(table, columns=names)
    result = dse.validate("imbalance", rows)
    errors = 100 * np.abs(result.measured / result.predicted - 1)
    assert errors == pytest.approx(rows.printed.to_numpy(), abs=0.06)
    one = dse.validate(
        "imbalance",
        rows[rows.distribution == "uniform:20,40"],
        columns=["lanes", "imbalance_loss"],
        set={"distribution": "uniform:20,40"},
    )
    assert one.predicted.tolist() == result.predicted[[1, 4]].tolist()
    with pytest.raises(DseError, match="the column distribution has a law for each row"):
        dse.validate("imbalance", rows, free=["cut_overhead"], leave_out="lanes")


def test_intervals_are_learnt_from_other_labels() -> None:
    rng = np.random.default_rng(1)
    table = pd.concat([supply()] * 20, ignore_index=True)
    table["card"] = [f"card {row % 10}" for row in range(len(table))]
    table["attained_bandwidth"] *= np.exp(rng.normal(0, 0.2, len(table)))
    known = {"ms_peak_bandwidth": "8 GB/s", "ms_transition": 512}
    result = dse.validate("transit_supply", table, set=known, leave_out="card", interval=0.8)
    assert result.score.coverage == pytest.approx(0.8, abs=0.05)


def test_rows_that_break_a_rule_count_as_missing() -> None:
    rows = {"threads_per_block": [256, 4096], "registers_per_thread": 16, "active_blocks": 1}
    table = pd.DataFrame({**rows, "active_blocks_per_sm": [3.0, 3.0]})
    result = dse.validate(
        "occupancy",
        table,
        to="active_blocks_per_sm",
        machine="gtx280",
        set={"shared_mem_per_block": 0},
    )
    assert result.score.missing == 1
    assert "NOT PREDICTED: 1 row" in str(result)


# --- baselines


def test_formulas_stand_beside_and_losses_are_said() -> None:
    table = supply().assign(bytes_wanted=lambda t: 1.1 * t.attained_bandwidth)
    wrong = {"ms_peak_bandwidth": "4 GB/s", "ms_transition": 512}
    result = dse.validate(
        "transit_supply", table, set=wrong, leave_out="card", baselines={"wanted": "bytes_wanted"}
    )
    assert result.baselines["wanted"].median == pytest.approx(0.1)
    assert result.baselines["wanted, one factor, learnt elsewhere"].median == pytest.approx(0)
    assert result.score.median == pytest.approx(0.5)
    assert "median" in result.losses["wanted"]
    assert "LOSES to wanted: median error" in str(result)


def test_choices_beside_one_choice_learnt_elsewhere_and_a_random_one() -> None:
    """Two kernels whose best threads differ: what was best elsewhere is wrong here."""
    table = supply(2).assign(attained_bandwidth=lambda t: 1 / t.attained_bandwidth)
    turned = table.card == "card 1"
    table.loc[turned, "attained_bandwidth"] = table.attained_bandwidth[turned].to_numpy()[::-1]
    result = dse.validate(
        "transit_supply",
        table,
        set={"ms_peak_bandwidth": "8 GB/s", "ms_transition": 512},
        leave_out="card",
        within="card",
        choose="threads_in_ms",
    )
    one = result.baselines["one choice of threads_in_ms, learnt elsewhere"]
    assert one.slowdown_median == pytest.approx((1 + 8) / 2, rel=0.2) or one.slowdown_p90 > 4
    assert math.isnan(one.median)
    random = result.baselines["one configuration at random"]
    assert 1 < random.slowdown_p90 <= 8
    assert result.score.slowdown_p90 >= 1


def test_interpolation_is_between_known_rows_of_the_same_space() -> None:
    table = supply(2, noise=0.5)
    result = dse.validate(
        "transit_supply",
        table,
        free=SUPPLY,
        leave_out="row",
        folds=12,
        within="card",
        along="threads_in_ms",
    )
    inner = result.baselines["linear interpolation over threads_in_ms"]
    assert 0 < inner.mean < 0.7


# --- misuse


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"free": SUPPLY}, "rows out with leave_out="),
        ({"leave_out": "crd"}, "did you mean 'card'"),
        ({"interval": 1}, "between 0 and 1"),
        ({"leave_out": "same"}, "without them no row is left"),
        ({"baselines": {"b": "no_such / 2"}}, "no_such"),
        ({"baselines": {"b": "lanes_width / 2"}}, "lanes_width"),
        ({"draws": (0, 5)}, "expected a number of parts"),
        ({"budget": 0}, "budget = 0"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    known = {} if "free" in options else {"ms_peak_bandwidth": "8 GB/s", "ms_transition": 512}
    with pytest.raises(DseError, match=words):
        dse.validate("transit_supply", supply().assign(same=1), **{"set": known, **options})


def test_a_column_that_is_set_is_refused() -> None:
    with pytest.raises(DseError, match="threads_in_ms is a column and set"):
        dse.validate(
            "transit_supply",
            supply(),
            set={"threads_in_ms": 4},
            columns=["threads_in_ms", "attained_bandwidth"],
        )
    with pytest.raises(UnknownNameError, match="no column"):
        dse.validate(
            "transit_supply",
            supply(),
            within="crd",
            set={"ms_peak_bandwidth": 1, "ms_transition": 1},
        )


# --- the command line


def test_the_command_tells_the_same(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "supply.csv"
    supply(3, noise=0.5).to_csv(path, index=False)
    options = ["--free", ",".join(SUPPLY), "--leave-out", "card"]
    result = dse.validate("transit_supply", path, free=SUPPLY, leave_out="card")
    done = run("validate", "transit_supply", str(path), *options, "--json")
    assert json.loads(done.stdout) == json.loads(json.dumps(result.to_dict()))
    assert str(result) in run("validate", "transit_supply", str(path), *options).stdout
    run("validate", "transit_supply", str(path), "--draws", "x", status=2)
    again = run("validate", "transit_supply", str(path), *options, "--per", "threads_in_ms")
    assert "transit_supply, for each threads_in_ms:" in again.stdout


# --- for each label


def test_scores_of_a_label_are_those_of_its_rows_alone() -> None:
    """Any column tells labels; every baseline is scored on the same rows."""
    table = supply(3, noise=0.5).assign(bytes_wanted=lambda t: 1.1 * t.attained_bandwidth)
    table["size"] = np.where(table.threads_in_ms < 512, "small", "large")
    options: dict[str, Any] = {"free": SUPPLY, "leave_out": "card", "within": ("card", "size")}
    result = dse.validate(
        "transit_supply", table, per="size", baselines={"w": "bytes_wanted"}, **options
    )
    assert list(result.by) == ["small", "large"]
    for size, each in result.by.items():
        own = np.flatnonzero(table["size"].to_numpy() == size)
        spaces = [np.flatnonzero(table.card.to_numpy()[own] == f"card {k}") for k in range(3)]
        assert each == score(result.measured[own], result.predicted[own], spaces)
        others = result.beside[size]
        assert others.keys() == result.baselines.keys()
        assert others["w"].median == pytest.approx(0.1)
        assert "w" in result.losses_by[size]
        assert f"LOSES at {size} to w: " in str(result)
    labels = list(dse.validate("transit_supply", table, **options).by)
    assert labels == ["card 0", "card 1", "card 2"]


def test_ties_are_a_row_of_their_own_and_held_against_ties() -> None:
    """A baseline that calls all the same is lucky by the first, and not by their mean."""
    table = supply(2).assign(attained_bandwidth=lambda t: 9e9 / t.threads_in_ms, same=1.0)
    given = {"ms_peak_bandwidth": "8 GB/s", "ms_transition": 512}
    options: dict[str, Any] = {"set": given, "within": "card", "baselines": {"flat": "same"}}
    turned = table.sort_values(["card", "threads_in_ms"], ascending=[True, False])
    result = dse.validate("transit_supply", turned, **options)
    mean = (turned.attained_bandwidth[:6] / turned.attained_bandwidth.min()).mean()
    assert result.baselines["flat"].slowdown_p90 == 1
    assert result.baselines["flat, mean over its ties"].slowdown_p90 == pytest.approx(mean)
    assert result.drawn is None
    flat = dse.validate("transit_supply", turned, **options | {"set": given | {"ms_transition": 1}})
    assert flat.drawn is not None
    assert flat.drawn.slowdown_p90 == pytest.approx(mean)
    assert "flat, mean over its ties" not in flat.losses
    assert "transit_supply, mean over its ties" in str(flat)


# --- values of each label


def test_values_of_a_label_are_fitted_to_its_known_rows() -> None:
    """Joint and one by one are the same; a label that is wholly left out is missing."""
    table = supply(3, noise=0.5)
    table["half"] = np.arange(len(table)) % 2
    own = {"card": SUPPLY}
    result = dse.validate("transit_supply", table, own=own, leave_out="half")
    assert "by a fit of ms_peak_bandwidth, ms_transition of each card" in result.how
    for half, values in zip([0, 1], result.fitted, strict=True):
        seen = table[table.half != half][["threads_in_ms", "attained_bandwidth", "card"]]
        twin = dse.fit("transit_supply", seen, per=own, residuals="relative", left_out="hat")
        assert values == pytest.approx(twin.values)
        out = table[(table.half == half) & (table.card == "card 2")]
        expected = dse.evaluate(
            "transit_supply", threads_in_ms=out.threads_in_ms.to_numpy(), **twin.set_of("card 2")
        )
        predicted = result.predicted[out.index.to_numpy()]
        assert predicted == pytest.approx(expected["attained_bandwidth"].values)
    shared = {"free": SUPPLY[:1], "own": {"card": SUPPLY[1:]}}
    assert len(dse.validate("transit_supply", table, **shared, leave_out="half").fitted[0]) == 4
    gone = dse.validate("transit_supply", table, own=own, leave_out="card")
    assert gone.score.missing == len(table)
    with pytest.raises(DseError, match="own names the columns"):
        dse.validate("transit_supply", table, own={**own, "half": []}, leave_out="half")
