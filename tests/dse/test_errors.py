"""Errors of statistics over draws bound what they are of; 0 means proven."""

import math

import numpy as np
import pytest
import scipy.stats

import dse
from symbolic.answer import to_json
from tests.dse import covering_draws

MODEL = '''"""Functions of one random number."""
import dse

xx = dse.quantity("xx", domain="(-inf, inf)", meaning="random")
kk = dse.quantity("kk", domain="(-inf, inf)", meaning="factor")


@dse.equation(source="test", meaning="product")
def ff(xx, kk):
    return xx * kk


@dse.equation(source="test", meaning="no more than 1")
def capped(xx, kk):
    return dse.minimum(dse.absolute(xx) + kk, 1.0)
'''


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("errors") / "products.py"
    path.write_text(MODEL)
    return str(path)


def estimate(model, text, *, law="normal: 0, 1", draws=256, seed=1, **axes):
    """The value and the error of a statistic."""
    study = dse.Study(
        model=model,
        axes={"kk": [1.0], **axes},
        random={"xx": law, "draws": draws, "seed": seed},
        outputs=[text],
    )
    ds = study.run()
    return ds[text].item(), ds[f"error({text})"].item()


@pytest.mark.parametrize("draws", [64, 256, 1024])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_intervals_of_rare_events_hold_the_truth(model, draws, seed):
    normal = scipy.stats.norm()
    place = normal.ppf(0.99)
    truths = {
        "cvar_high(ff, 0.99)": normal.pdf(place) / 0.01,
        "chance(ff >= 3.0902323)": 1e-3,
        "quantile(ff, 0.99)": place,
    }
    for text, truth in truths.items():
        value, error = estimate(model, text, draws=draws, seed=seed)
        assert 0 < error < math.inf, text
        assert abs(value - truth) <= error, text


def test_what_no_draw_shows_has_the_chance_of_the_rule_of_three(model):
    value, error = estimate(model, "chance(ff >= 6)", draws=1024)
    assert value == 0
    assert error == pytest.approx(-math.log(0.025) / 1024, rel=0.01)


@pytest.mark.parametrize("text", ["mean(capped)", "std(capped)", "cvar_high(capped, 0.9)"])
@pytest.mark.parametrize("draws", [16, 256])
def test_one_value_in_all_draws_is_certain_only_where_that_is_proven(model, text, draws):
    assert estimate(model, text, kk=[1.0], draws=draws) == (float(text[0] != "s"), 0)
    rare = text.replace("capped", "maximum(ff, 5) * 1e6")
    value, error = estimate(model, rare, draws=draws)
    assert value == (0 if text[0] == "s" else 5e6)
    assert 0 < error < math.inf


@pytest.mark.parametrize("text", ["worst_high(ff)", "best_low(ff)", "quantile(ff, 1)"])
def test_an_extreme_of_draws_may_be_off_by_as_far_as_the_law_reaches(model, text):
    value, error = estimate(model, text, law="uniform: 2, 3")
    assert abs(value - (2 if "low" in text else 3)) <= error < 0.1
    assert estimate(model, text)[1] == math.inf


def test_a_level_beyond_the_draws_is_bounded_by_the_range_of_the_law(model):
    value, error = estimate(model, "quantile(ff, 0.9999)", law="uniform: 0, 1", draws=64)
    assert abs(value - 0.9999) <= error < 0.1
    assert estimate(model, "quantile(ff, 0.5)", law="uniform: 0, 1", draws=4096)[1] < 2e-3


def test_values_within_a_draw_are_no_further_draws(model):
    """Ten workloads of one draw tell nothing more of what is random."""
    one = estimate(model, "chance(ff >= 6)")[1]
    ten = estimate(model, "chance(ff >= 6, draw, kk)", kk=[float(k) / 10 for k in range(10)])[1]
    assert ten == pytest.approx(one)
    weighted = {"values": [0.0, 1.0], "weights": [0.5, 0.5]}
    value, error = estimate(model, "quantile(ff, 0.75, draw, kk)", kk=weighted, draws=4096)
    assert abs(value) <= error < 0.1  # half is 0, and half of the rest above


def test_exact_laws_have_no_error(model):
    assert estimate(model, "worst_high(ff)", law="discrete: 1: 0.5, 2: 0.5") == (2, 0)


def test_levels_beyond_those_that_are_drawn_have_an_error(model):
    study = dse.Study(model=model, axes={"kk": [1.0]}, random={"xx": "normal: 0, 1"})
    law = study.law("ff", at={"kk": 1.0})
    assert law.error("quantile", 0.3) == 0
    assert law.error("quantile", 1) == math.inf
    assert law.error("cdf", 40.0) > 0
    bounded = dse.Study(model=model, axes={"kk": [1.0]}, random={"xx": "uniform: 0, 1"})
    assert bounded.law("ff", at={"kk": 1.0}).error("quantile", 1) < 1e-11


def test_an_infinite_error_is_written_as_text():
    assert to_json({"error": math.inf, "other": np.float64(-np.inf)}).count("inf") == 2


def test_intervals_hold_the_truth_as_often_as_stated():
    result = covering_draws.of_draws(4, 3, sizes=(64, 1024))
    wrong = [key for key, inside in result.items() if key[0] != "light" and sum(inside) < 5]
    pooled = [one for key, inside in result.items() if key[0] != "light" for one in inside]
    assert not wrong
    assert np.mean(pooled) >= 0.95
