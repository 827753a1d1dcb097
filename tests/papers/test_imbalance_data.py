"""The authors' own artefact (Swatman 2022): computed laws, runs on a GPU, the granularity study."""

import math
from pathlib import Path

import numpy as np
import pytest

from stochastic import Pmf, granularity, imbalance, simulate
from tests.long import long

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "imbalance"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the authors' data are not beside this checkout"
)


def columns(name):
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1, unpack=True)


def acts():
    """Steps of particles through a detector, measured; printed to 16 digits."""
    values, chances = columns("acts_prop_freq.csv")
    return Pmf.from_weights(dict(zip(values.astype(int).tolist(), chances, strict=True)))


#: Laws as the authors computed them: tails cut at 1e-6, a group without work at a loss of 0.
MODELS = {
    "model_acts_prop_2.csv.gz": (acts, 2),
    "model_bernoulli_050_16.csv": (lambda: Pmf.bernoulli(0.5), 16),
    "model_binom_40_050_4.csv.gz": (lambda: Pmf.binomial(40, 0.5), 4),
    "model_geo_005_2.csv.gz": (lambda: Pmf.geometric(0.05), 2),
    "model_uniform_20_40_8.csv.gz": (lambda: Pmf.uniform(20, 40), 8),
}

#: Runs of 131,072 groups in 8 lanes on an A100.
RUNS = {
    "data_geo_005_8.csv.gz": Pmf.geometric(0.05),
    "data_uniform_20_40_8.csv.gz": Pmf.uniform(20, 40),
}


@pytest.mark.parametrize("name", MODELS)
def test_computed_laws(name):
    """Asked for are 1e-4 in the mean and in the CDF; all digits of the files agree."""
    make, lanes = MODELS[name]
    above, below, chances = columns(name)
    losses = above / below
    law = imbalance(make(), lanes, eps=1e-6, zero_work="zero")
    assert float(law.mean()) == pytest.approx(losses @ chances, abs=1e-13)
    order = np.argsort(losses, kind="stable")
    losses, upto = losses[order], np.cumsum(chances[order])
    last = np.append(np.diff(losses) > 1e-12, True)
    between = np.append((losses[1:] + losses[:-1])[last[:-1]] / 2, losses[-1] + 1)
    assert np.abs(law.cdf(between) - upto[last]).max() < 1e-12


@long
@pytest.mark.parametrize("name", RUNS)
def test_their_simulation(name):
    """Their Monte Carlo is ours and the law's within its error, in mean, spread and slowdown."""
    _, longest, total, _, _ = columns(name)
    groups, lanes = len(total), 8
    assert groups == 131_072
    losses = longest / total
    law = imbalance(RUNS[name], lanes)
    error = law.std() / math.sqrt(groups)
    assert abs(losses.mean() - law.mean()) < 4 * error
    assert losses.std() == pytest.approx(law.std(), rel=0.01)
    slowdown = law.slowdown()
    ratio = longest.sum() / total.sum()
    assert abs(ratio - slowdown.value) < 4 * slowdown.std(groups)
    ours = simulate(RUNS[name], lanes, groups)
    assert abs(float(ours["loss"]) - losses.mean()) < 6 * error
    assert float(ours["loss_error"]) == pytest.approx(error, rel=0.02)
    points = np.quantile(losses, [0.05, 0.25, 0.5, 0.75, 0.95]) + 1e-9
    theirs = np.searchsorted(np.sort(losses), points, side="right") / groups
    assert np.abs(law.cdf(points) - theirs).max() < 2.0 / math.sqrt(groups)


def test_a_mean_of_ratios_is_no_ratio_of_means():
    """Under U(20, 40) their simulation tells the two apart by ten standard errors."""
    name = "data_uniform_20_40_8.csv.gz"
    _, longest, total, _, _ = columns(name)
    law = imbalance(RUNS[name], 8)
    error = law.std() / math.sqrt(len(total))
    assert law.mean() - law.slowdown().value > 10 * error
    assert abs(longest.sum() / total.sum() - law.mean()) > 10 * error


@pytest.mark.parametrize("name", RUNS)
def test_runs_on_a_gpu(name):
    """Measured means are within 2.2 % of the law's; the measured spread is wider."""
    _, _, _, longest, total = columns(name)
    losses = longest / total
    law = imbalance(RUNS[name], 8)
    assert losses.mean() == pytest.approx(law.mean(), rel=0.022)
    assert losses.std() > law.std()
    assert longest.sum() / total.sum() == pytest.approx(law.slowdown().value, rel=0.022)


def test_their_granularity_study():
    """An item shared by c lanes takes (20 + c) / 21 of the work: 4 lanes each, 8 items."""
    result = granularity(acts(), group=32, overhead=lambda c: (20 + c) / 21)
    printed = {1: 2.476, 2: 1.893, 4: 1.591, 8: 1.486, 16: 1.516, 32: 1.647}
    output = result["cost"].to_series().round(3).to_dict()
    assert output == printed
    assert int(result["best_lanes"]) == 8
    assert float(result["best_cost"]) == pytest.approx(1.486, abs=5e-4)
