"""Items cut into pieces, against the pieces themselves."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, imbalance, split
from tests.long import draws
from tests.oracles.imbalance_remedies import cut_up, group_means, mean


@st.composite
def laws(draw):
    counts = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any))
    return {v: Fraction(c, sum(counts)) for v, c in enumerate(counts) if c}


@settings(max_examples=draws(60), deadline=None)
@given(laws(), st.integers(0, 3), st.integers(1, 4))
def test_piece_by_piece(weights, overhead, lanes):
    result = split(Pmf.from_weights(weights), overhead=overhead, lanes=lanes)
    high = max(weights)
    assert result["threshold"].values.tolist() == list(range(1, max(high, 1) + 1))
    totals = {}
    for threshold in result["threshold"].values.tolist():
        count, law = cut_up(weights, threshold, overhead)
        loss, longest = group_means(law, lanes)
        row = result.table.sel(threshold=threshold)
        assert float(row["pieces"]) == pytest.approx(float(count), rel=1e-13)
        ratio = longest / mean(law) if mean(law) else Fraction(1)
        assert float(row["slowdown"]) == pytest.approx(float(ratio), rel=1e-12)
        totals[threshold] = count * longest / mean(weights) if mean(weights) else Fraction(1)
        assert float(row["total"]) == pytest.approx(float(totals[threshold]), rel=1e-12)
        piece = result.law(threshold)
        assert {v: float(p) for v, p in law.items()} == pytest.approx(
            {piece.low + i: p for i, p in enumerate(piece.weights.tolist()) if p}, rel=1e-13
        )
        if threshold == int(result["best_threshold"]):
            assert float(result["best_loss"]) == pytest.approx(float(loss), rel=1e-12)
    least = min(totals.values())
    best = int(result["best_threshold"])
    assert float(totals[best]) == pytest.approx(float(least), rel=1e-12)
    assert float(result["best_total"]) == pytest.approx(float(least), rel=1e-12)


def test_free_cuts_go_down_to_single_iterations():
    result = split(Pmf.uniform(1, 30))
    assert int(result["best_threshold"]) == 1
    assert float(result["best_total"]) == pytest.approx(1.0, rel=1e-14)


def test_dear_cuts_are_not_made():
    law = Pmf.uniform(20, 40)
    result = split(law, overhead=50)
    assert int(result["best_threshold"]) == 40
    assert float(result["best_total"]) == pytest.approx(float(result["whole_slowdown"]), rel=1e-14)
    assert float(result["best_loss"]) == pytest.approx(float(result["whole_loss"]), rel=1e-14)
    assert float(result["whole_loss"]) == pytest.approx(imbalance(law, 32).mean(), rel=1e-14)


def test_largest_of_equal_thresholds():
    assert int(split(Pmf.uniform(7, 7), overhead=0)["best_threshold"]) == 7


def test_only_thresholds_of_interest():
    law = Pmf.geometric(0.05)
    every, some = split(law, overhead=2), split(law, [500, 8, 8, 10**9], overhead=2)
    assert some["threshold"].values.tolist() == [8, 500, 10**9]
    assert float(some["total"][0]) == float(every["total"].sel(threshold=8))
    assert float(some["total"][2]) == pytest.approx(float(every["whole_slowdown"]), rel=1e-13)
    assert int(split(law, 8, overhead=2)["best_threshold"]) == 8
    assert np.argmin(every["total"].values) + 1 == int(every["best_threshold"]) == 8


def test_pieces_conserve_the_work():
    law = Pmf.poisson(30)
    for overhead in (0, 3):
        result = split(law, overhead=overhead)
        for threshold in (1, 7, 29, 30, 1000):
            if threshold > result["threshold"].values[-1]:
                continue
            pieces = float(result["pieces"].sel(threshold=threshold))
            work = pieces * result.law(threshold).mean()
            assert work == pytest.approx(30 + overhead * (pieces - 1), rel=1e-9)


def test_it_reads_like_a_table():
    result = split(Pmf.uniform(1, 6), overhead=1, lanes=4)
    assert repr(result) == repr(result.table)
    assert "total" in result._repr_html_()
    assert result.law() == result.law(int(result["best_threshold"]))
    for name in result.table.variables:
        assert result[name].attrs["units"] == "1"
        assert result[name].attrs["long_name"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": 0}, "threshold = 0"),
        ({"threshold": [4, 2.5]}, "threshold = 2.5"),
        ({"threshold": []}, "threshold is empty"),
        ({"threshold": "long"}, "threshold = 'long'"),
        ({"overhead": 0.5}, "overhead = 0.5.*in smaller units"),
        ({"overhead": -1}, "overhead = -1"),
        ({"overhead": 10**12}, "too many to try"),
        ({"lanes": 0}, "lanes = 0"),
        ({"pmf": [1.0]}, "is no law of work"),
        ({"pmf": Pmf.uniform(0, 100_000)}, "give those of interest"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(LawError, match=message):
        split(**({"pmf": Pmf.uniform(1, 6)} | change))
