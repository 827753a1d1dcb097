"""The loss of a trace, against its groups one by one and against every order."""

import gzip
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, imbalance, measured
from stochastic.remedies import traces as module
from tests.long import draws
from tests.oracles.imbalance_remedies import dealt, dealt_at_random

short = st.lists(st.integers(0, 6), min_size=1, max_size=6)
some = st.lists(st.integers(0, 40), min_size=1, max_size=60)


def measure_exactly(items, lanes, partial):
    if partial == "drop" and len(items) < lanes:
        lanes = len(items)
    return lanes


def close(result, wanted):
    loss, longest, work = wanted
    assert float(result["loss"]) == pytest.approx(float(loss), rel=1e-13)
    ratio = float(longest / work) if work else 1.0
    assert float(result["slowdown"]) == pytest.approx(ratio, rel=1e-13)


@settings(max_examples=draws(80), deadline=None)
@given(some, st.integers(1, 9), st.sampled_from(["idle", "drop"]), st.integers(1, 20))
def test_groups_one_by_one(items, lanes, partial, block):
    lanes = measure_exactly(items, lanes, partial)
    descending = sorted(items, reverse=True)
    blocks = [sorted(items[i : i + block], reverse=True) for i in range(0, len(items), block)]
    orders = {
        "given": items,
        "sorted": descending,
        "blocked": [item for one in blocks for item in one],
    }
    for order, arranged in orders.items():
        result = measured(items, lanes, order, partial=partial, block=block)
        close(result, dealt(arranged, lanes, partial))
        groups = [arranged[i : i + lanes] for i in range(0, len(arranged), lanes)]
        full = [group for group in groups if partial == "idle" or len(group) == lanes]
        losses = [lanes * max(g) / sum(g) if any(g) else 1.0 for g in full]
        assert float(result["loss_std"]) == pytest.approx(np.std(losses), abs=1e-12)
        assert int(result["groups"]) == len(full)
        assert float(result["loss_error"]) == 0.0


@settings(max_examples=draws(40), deadline=None)
@given(short, st.integers(1, 7), st.sampled_from(["idle", "drop"]))
def test_every_order(items, lanes, partial):
    lanes = measure_exactly(items, lanes, partial)
    result = measured(items, lanes, "shuffled", partial=partial)
    loss, longest, work = dealt_at_random(items, lanes, partial)
    close(result, (loss, longest, work))
    assert math.isnan(result["loss_std"])


@settings(max_examples=draws(40), deadline=None)
@given(some, st.integers(1, 9))
def test_independent_items(items, lanes):
    result = measured(items, lanes)
    law = imbalance(Pmf.from_samples(items), lanes)
    assert float(result["iid_loss"]) == pytest.approx(float(law.mean()), rel=1e-12)
    assert float(result["iid_slowdown"]) == pytest.approx(float(law.slowdown()), rel=1e-12)
    assert float(result["loss_over_iid"]) == float(result["loss"] / result["iid_loss"])
    assert float(result["slowdown_over_iid"]) == float(result["slowdown"] / result["iid_slowdown"])


def test_without_replacement_is_as_by_sampling():
    """A million items: exact, and within the error of drawing groups of them."""
    items = np.random.default_rng(1).geometric(0.05, 200_000)
    exact = measured(items, 32, "shuffled")
    assert float(exact["loss_error"]) == 0.0
    drawn, error = 0.0, 0.0
    values, counts = np.unique(items, return_counts=True)
    saved, module._EXACT = module._EXACT, 0.0
    try:
        drawn, error = module._subset_loss(items, values, counts, 32, 32, 50_000, 7)
        again = module._subset_loss(items, values, counts, 32, 32, 50_000, 7)
        sampled = measured(items, 32, "shuffled", seed=7, samples=50_000)
    finally:
        module._EXACT = saved
    assert (drawn, error) == again
    assert 0 < error < 0.01
    assert abs(drawn - float(exact["loss"])) < 5 * error
    assert float(sampled["loss"]) == drawn
    assert float(sampled["loss_error"]) == error
    assert float(sampled["slowdown"]) == float(exact["slowdown"])


def test_without_replacement_items_differ_more():
    items = np.arange(1, 65)
    result = measured(items, 32, "shuffled")
    assert float(result["slowdown"]) > float(result["iid_slowdown"])
    large = measured(np.tile(items, 10_000), 32, "shuffled")
    assert float(large["slowdown_over_iid"]) == pytest.approx(1.0, abs=1e-5)
    assert float(large["loss_over_iid"]) == pytest.approx(1.0, abs=1e-5)


def test_neighbours_alike_lose_less():
    rng = np.random.default_rng(0)
    items = np.repeat(rng.geometric(0.05, 500), 64)
    given_, shuffled = (measured(items, 32, order) for order in ("given", "shuffled"))
    assert float(given_["loss"]) == 1.0
    assert float(given_["autocorrelation"]) > 0.9
    assert float(given_["loss_over_iid"]) < 0.3
    assert float(shuffled["autocorrelation"]) == pytest.approx(-1 / len(items))
    alternating = measured(np.tile([1, 9], 100), 2)
    assert float(alternating["autocorrelation"]) == pytest.approx(-1.0, abs=0.01)
    assert float(alternating["loss_over_iid"]) > 1.2
    assert math.isnan(measured([3, 3], 2)["autocorrelation"])


def test_pictures_of_the_paper():
    """Swatman 2022, Figure 1."""
    both = [4, 2, 7, 1, 6, 4, 3, 6], [4, 3, 4, 5, 4, 5, 3, 4]
    assert float(measured(both[0], 8)["loss"]) == float(Fraction(56, 33))
    assert float(measured(both[1], 8)["slowdown"]) == float(Fraction(40, 32))
    together = measured([*both[0], *both[1]], 8)
    assert float(together["loss"]) == pytest.approx((56 / 33 + 40 / 32) / 2)
    assert float(together["slowdown"]) == 96 / 65


def test_more_lanes_than_items():
    result = measured([3, 1, 2], 10**9)
    assert float(result["loss"]) == float(result["slowdown"]) == 10**9 * 3 / 6
    assert float(measured([3, 1, 2], 10**9, "shuffled")["loss"]) == pytest.approx(5e8, rel=1e-14)


def test_row_pointers():
    pointers = np.array([0, 3, 3, 7, 12])
    result = measured(pointers, 2, row_pointers=True)
    assert result.identical(measured([3, 0, 4, 5], 2))


def test_lengths_in_any_form():
    items = [3, 0, 4, 5]
    wanted = measured(items, 2)
    for form in (tuple(items), np.array(items, dtype=np.uint8), np.array(items, dtype=float)):
        assert measured(form, 2).identical(wanted)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("text", "column"),
    [("3\n0\n4\n5\n", None), ("steps\n3\n0\n4\n5\n", None), ("steps\n3\n0\n4\n5", "steps"),
     ("i,steps\n0,3\n1,0\n2,4\n3,5\n", "steps"), ("i,steps\n0,3\n1,0\n2,4\n3,5\n", 1),
     ("0,3\n1,0\n2,4\n3,5\n", 1)],
)  # fmt: skip
def test_files(tmp_path, text, column, compressed):
    path = tmp_path / ("trace.csv.gz" if compressed else "trace.csv")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    for name in (path, str(path)):
        assert measured(name, 2, column=column).identical(measured([3, 0, 4, 5], 2))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("i,steps\n0,3\n", None, "has the columns i, steps: choose one"),
        ("i,steps\n0,3\n", "size", "no column 'size': expected one of i, steps"),
        ("i,steps\n0,3\n", 2, "no column 2"),
        ("0,3\n", "steps", "expected one of 0 to 1"),
        ("steps\nmany\n", None, "cannot be read"),
        ("i,steps\n0,3\n1\n", "steps", "cannot be read"),
        ("", None, "trace is empty"),
        ("steps\n", None, "trace is empty"),
    ],
)
def test_files_that_do_not_fit(tmp_path, text, column, message):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(LawError, match=message):
        measured(path, 2, column=column)


def test_everything_is_labelled():
    result = measured([1, 2, 3], 2, "blocked", block=2)
    for name in result.variables:
        assert result[name].attrs["units"] == "1"
        assert result[name].attrs["long_name"]
    assert result.attrs["block"] == 2
    assert result.attrs["order"] == "blocked"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trace": []}, "trace is empty"),
        ({"trace": [1, -2]}, "item 1 of the trace is -2"),
        ({"trace": [1, 2.5]}, "item 1 of the trace is 2.5"),
        ({"trace": [1, math.nan]}, "item 1 of the trace is nan"),
        ({"trace": [math.inf]}, "item 0 of the trace is inf"),
        ({"trace": [[1, 2], [3, 4]]}, "2 dimensions"),
        ({"trace": ["a"]}, "whole numbers in one dimension"),
        ({"trace": 5}, "0 dimensions"),
        ({"trace": "nowhere.csv"}, "cannot be read"),
        ({"trace": [0], "row_pointers": True}, "bounds no row"),
        ({"trace": [0, 5, 3], "row_pointers": True}, "descend from 5 to 3 at row 1"),
        ({"trace": [2**52] * 2000}, "larger units"),
        ({"lanes": 0}, "lanes = 0"),
        ({"lanes": 1.5}, "lanes = 1.5"),
        ({"order": "random"}, "order = 'random'"),
        ({"partial": "wrap"}, "partial = 'wrap'"),
        ({"block": 0}, "block = 0"),
        ({"samples": 1}, "samples = 1"),
        ({"lanes": 9, "partial": "drop"}, "3 items do not fill 9 lanes"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(LawError, match=message):
        measured(**({"trace": [1, 2, 3], "lanes": 2} | change))
