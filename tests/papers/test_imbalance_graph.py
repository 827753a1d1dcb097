"""The model of imbalance (Swatman 2022) in the graph: the same numbers as the laws themselves."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse import DseError, Study
from stochastic import Pmf, bounds, imbalance
from symbolic.errors import DomainError, GraphError
from symbolic.library import load_model
from symbolic.models import imbalance as model
from tests.oracles import swatman
from tests.papers._solve import run_doctests

LAWS = ("binomial:40,0.5", "geometric:0.05", "poisson:30", "uniform:20,40", "nb:5,0.3")
LANES = (2, 4, 8, 16, 32)
#: Table I, μ_A, of laws cut at 1e-6, which moves the long-tailed ones by 2e-4.
TABLE_1 = (
    (1.090, 1.163, 1.225, 1.278, 1.325),
    (1.476, 2.047, 2.668, 3.317, 3.979),
    (1.104, 1.191, 1.268, 1.335, 1.397),
    (1.118, 1.213, 1.275, 1.309, 1.326),
    (1.301, 1.587, 1.860, 2.123, 2.375),
)
PARAMETERS: dict[str, tuple[dict[str, float], Pmf]] = {
    "bernoulli": ({"success_probability": 0.25}, Pmf.bernoulli(0.25)),
    "binomial": ({"trial_count": 40, "success_probability": 0.5}, Pmf.binomial(40, 0.5)),
    "geometric": ({"success_probability": 0.05}, Pmf.geometric(0.05)),
    "negative_binomial": (
        {"success_count": 2.5, "success_probability": 0.3},
        Pmf.negative_binomial(2.5, 0.3),
    ),
    "poisson": ({"event_rate": 30.5}, Pmf.poisson(30.5)),
    "uniform": ({"lowest_work": 20, "highest_work": 40}, Pmf.uniform(20, 40)),
}
REMEDIES = {name for pair in model.ADVICE.remedies.items() for name in pair}
EVERYTHING = [n for n in load_model("imbalance").yields if n not in {"distribution", *REMEDIES}]


def test_table_1_is_one_study() -> None:
    study = Study(model="imbalance", axes={"distribution": LAWS, "lanes": LANES})
    ds = study.run()
    assert ds.imbalance_loss.dims == ("distribution", "lanes")
    assert ds.imbalance_limit.dims == ("distribution",)
    np.testing.assert_allclose(ds.imbalance_loss, TABLE_1, rtol=0, atol=7.5e-4)
    assert bool((ds.imbalance_lower <= ds.imbalance_loss).all())
    assert bool((ds.imbalance_loss <= ds.imbalance_upper).all())


@pytest.mark.parametrize("family", PARAMETERS)
def test_the_graph_says_what_the_laws_say(family: str) -> None:
    parameters, pmf = PARAMETERS[family]
    ds = dse.evaluate("imbalance", work_law=family, lanes=8, outputs=EVERYTHING, **parameters)
    law, limits = imbalance(pmf, 8), bounds(pmf, 8)
    moments = law.order_statistics()
    slowdown = float(law.slowdown())
    largest = pmf.high if math.isfinite(pmf.high) else math.inf
    worst = 8 / (1 + 7 * pmf.low / largest)
    expected = {
        "work_mean": pmf.mean(),
        "work_std": math.sqrt(pmf.var()),
        "work_min": pmf.low,
        "work_max": largest,
        "expected_max": moments.mean_max,
        "max_sum_covariance": moments.cov_max_sum,
        "imbalance_loss": float(law.mean()),
        "imbalance_loss_std": float(law.std()),
        "imbalance_slowdown": slowdown,
        "imbalance_lower": limits.lower,
        "imbalance_upper": limits.upper,
        "imbalance_largest": worst,
        "imbalance_delta": limits.delta,
        "imbalance_limit": largest / pmf.mean(),
        "exponential_loss": 761 / 280,
    }
    assert set(expected) == set(EVERYTHING)
    for name, value in expected.items():
        assert float(ds[name]) == pytest.approx(value, rel=1e-8), name  # the cuts differ
    # the text of a family is a law like any other
    step = Study(
        model="imbalance", set={"work_law": family, "lanes": 8, **parameters}, outputs=EVERYTHING
    ).explain()["distribution"]
    assert dse.evaluate(
        "imbalance", distribution=str(step.value), lanes=8, outputs=["imbalance_loss"]
    ).imbalance_loss == pytest.approx(float(law.mean()), rel=1e-12)


def random_weights(rng: np.random.Generator) -> dict[int, Fraction]:
    """Draw up to five lengths of work, and probabilities that floats state exactly."""
    lengths = rng.choice([0, 1, 2, 3, 8, 30, 1000], size=rng.integers(2, 6), replace=False)
    parts = rng.integers(1, 2 ** int(rng.integers(1, 20)), len(lengths)).tolist()
    parts[0] += 2**24 - sum(parts)
    return dict(sorted(zip(lengths.tolist(), (Fraction(p, 2**24) for p in parts), strict=True)))


def test_200_points_against_a_twin_from_the_text() -> None:
    """Groups enumerated in fractions give the means, deviations and limits of 40 laws."""
    rng, lanes = np.random.default_rng(2), [1, 2, 3, 4, 6]
    drawn = [{0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}]
    drawn += [random_weights(rng) for _ in range(38)]
    laws = []
    for weights in drawn:
        table = np.zeros(max(weights) + 1)
        table[list(weights)] = [float(chance) for chance in weights.values()]
        laws.append(Pmf.from_weights(table))
    study = Study(
        model="imbalance", axes={"distribution": laws, "lanes": lanes}, outputs=EVERYTHING
    )
    ds = study.run()
    for (i, weights), (j, n) in product(enumerate(drawn), enumerate(lanes)):
        got = ds.isel({"distribution": i, "lanes": j})
        right = swatman.imbalance(weights, n)
        spread = (right["work_std"] / (right["work_mean"] or 1)) ** 2 / n
        for name, value in right.items():
            terms = 1 + spread if name == "imbalance_delta" else 1  # a sum of terms that cancel
            within = 1e-12 * terms * abs(value) + 1e-15
            assert abs(float(got[name]) - value) <= within, (name, weights, n)
        lower, loss, upper = got.imbalance_lower, got.imbalance_loss, got.imbalance_upper
        assert lower * (1 - 1e-12) <= loss <= upper * (1 + 1e-12), (weights, n)


def test_families_with_their_parameters_as_axes() -> None:
    study = Study(
        model="imbalance",
        axes={
            "work_law": ["geometric", "negative_binomial"],
            "success_probability": [0.1, 0.2],
            "lanes": [2, 32],
        },
        set={"success_count": 3},
        outputs=["imbalance_loss", "work_mean", "exponential_loss"],
    )
    ds = study.run()
    assert ds.imbalance_loss.dims == ("work_law", "success_probability", "lanes")
    assert ds.work_mean.dims == ("work_law", "success_probability")
    assert ds.exponential_loss.dims == ("lanes",)
    for p in (0.1, 0.2):
        for family, pmf in (
            ("geometric", Pmf.geometric(p)),
            ("negative_binomial", Pmf.negative_binomial(3, p)),
        ):
            at = ds.sel(work_law=family, success_probability=p)
            assert float(at.work_mean) == pytest.approx(pmf.mean(), rel=1e-12)
            assert float(at.imbalance_loss.sel(lanes=32)) == float(imbalance(pmf, 32).mean())
    assert [eq["name"] for eq in json.loads(ds.attrs["equations"])].count("distribution") == 2


def test_it_scales_the_computation_of_mwp_cwp() -> None:
    given: dict[str, Any] = {"machine": "gtx280", "workload": "svm", "threads_per_block": 64}
    given["active_blocks_per_sm"] = 2
    even = dse.evaluate("mwp_cwp", outputs=["comp_cycles"], **given)
    joined = dse.evaluate(
        "mwp_cwp + imbalance",
        distribution="geometric:0.05",
        outputs=["comp_cycles", "imbalance_loss", "lanes", "time"],
        **given,
    )
    assert float(even.comp_cycles) > 0
    assert float(joined.lanes) == 32  # those of a warp
    assert float(joined.imbalance_loss) == pytest.approx(3.97877460065, rel=1e-10)
    assert float(joined.comp_cycles) == float(even.comp_cycles) * float(joined.imbalance_loss)


def test_lanes_may_be_an_axis_a_number_or_a_formula() -> None:
    def losses(given: Any, **axes: Any) -> Any:
        return Study(
            model="occupancy + imbalance",
            machine="gtx280",
            workload="svm",
            axes={"distribution": ["uniform:1,9"], "threads_per_block": [32, 64], **axes},
            set={} if given is None else {"lanes": given},
            outputs=["imbalance_loss"],
        ).run()

    exact = [float(imbalance(Pmf.uniform(1, 9), lanes).mean()) for lanes in (32, 64)]
    assert losses("threads_per_block").imbalance_loss.values.tolist() == [exact]
    assert losses(None).imbalance_loss.values.tolist() == exact[:1]
    assert losses(64).imbalance_loss.values.tolist() == exact[1:]
    assert losses(None, lanes=[64, 32]).imbalance_loss.values.tolist() == [exact[::-1]]


def test_a_law_of_ones_own_and_what_the_dataset_says_of_it(tmp_path: Path) -> None:
    own = Pmf.from_samples([3, 4, 4, 9] * 9)
    study = Study(
        model="imbalance",
        axes={"distribution": [own, "uniform:3,9"], "lanes": [1, 4]},
        outputs=["imbalance_loss", "work_mean"],
    )
    ds = study.run()
    label = str(ds.distribution.values[0])
    assert ds.work_mean.sel(distribution=label) == 5
    assert float(ds.imbalance_loss[0, 1]) == float(imbalance(own, 4).mean())
    printed = json.loads(ds.attrs["sources"])["distribution"]
    assert printed["uniform:3,9"] == "axis of the study"
    assert "sha256" in printed[label]
    assert study.explain(distribution=own, lanes=4)["distribution"].value == label
    again = dse.export(ds, tmp_path / "law.nc")
    assert dse.open(again).distribution.values.tolist() == ds.distribution.values.tolist()


def test_the_content_of_a_file_is_part_of_a_study(tmp_path: Path) -> None:
    def study() -> Study:
        path = tmp_path / "study.toml"
        path.write_text(
            'model = "imbalance"\noutputs = ["imbalance_loss", "work_mean"]\n'
            '[axes]\nlanes = [2, 4]\n[set]\ndistribution = "steps.csv"\n'
        )
        return Study.from_toml(path)

    steps = tmp_path / "steps.csv"
    steps.write_text("3\n4\n4\n9\n")
    first = study().run(store=tmp_path / "out.zarr")
    assert float(first.work_mean) == 5
    assert "sha256" in json.loads(first.attrs["sources"])["distribution"]
    assert study().attributes()["identity"] == first.attrs["identity"]
    assert study().run(store=tmp_path / "out.zarr").identical(first)
    steps.write_text("3\n4\n4\n5\n")
    assert study().attributes()["identity"] != first.attrs["identity"]
    with pytest.raises(DseError):
        study().run(store=tmp_path / "out.zarr")


def test_a_law_set_by_itself_is_told_in_the_text_of_the_study() -> None:
    own = Pmf.from_samples(range(100))
    study = Study(model="imbalance", set={"distribution": own, "lanes": 4})
    output = json.loads(study.text())["set"]["distribution"]
    assert output.startswith("Pmf(0..99, mean 49.5) ")
    other = Study(
        model="imbalance", set={"distribution": Pmf.from_samples([*range(99), 99]), "lanes": 4}
    )
    assert other.text() == study.text()


@pytest.mark.parametrize(
    ("axes", "given", "kind", "message"),
    [
        ({"distribution": ["geomtric:0.05"]}, {}, DseError, "axis distribution holds 'geomtric"),
        ({"distribution": ["geometric:1.5"]}, {}, DseError, r"'geometric:1\.5': p = 1\.5"),
        ({"distribution": "geometric:0.5"}, {}, DseError, "expected a list of labels"),
        ({"lanes": [0]}, {"distribution": "poisson:3"}, DomainError, "lanes = 0"),
        ({"lanes": [2.5]}, {"distribution": "poisson:3"}, DomainError, r"lanes = 2\.5"),
        (
            {"warp_size": [32, 33]},
            {"distribution": "poisson:3", "lanes": "warp_size / 2"},
            DseError,
            r"at distribution = poisson:3, lanes = 16\.5: .*expected a whole number",
        ),
        (
            {"lowest_work": [3, 30]},
            {"work_law": "uniform", "highest_work": 20},
            DseError,
            "uniform:30,20",
        ),
        ({}, {"work_law": "geometric"}, GraphError, "success_probability, .* is needed by"),
        ({}, {"work_law": "normal"}, DseError, "work_law = 'normal' is no choice"),
        ({}, {}, GraphError, "lacks a value:\n  distribution"),
        ({}, {"distribution": 3}, DseError, "distribution = 3: expected a law as text, or a Pmf"),
    ],
)
def test_refusals(
    axes: dict[str, Any], given: dict[str, Any], kind: type[DseError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        Study(model="imbalance", axes=axes, set=given)


def test_an_infinite_mean_is_refused_with_its_place() -> None:
    stats = pytest.importorskip("scipy.stats")
    heavy = Pmf.from_scipy(stats.zipf(1.8))
    with pytest.raises(DseError, match=r"imbalance_loss at distribution = .*infinite mean"):
        Study(model="imbalance", axes={"distribution": ["poisson:3", heavy]})


def test_text_alone_has_no_law() -> None:
    with pytest.raises(DseError, match=r"'poisson:3' is bare text: laws are read where"):
        model.imbalance_loss("poisson:3", 32)


def test_exponential_loss_is_the_harmonic_number() -> None:
    for lanes in (1, 2, 31, 9_999, 10_000, 10_001):
        exact = sum(Fraction(1, k) for k in range(1, lanes + 1)) if lanes < 100 else None
        near = math.fsum(1 / k for k in range(1, lanes + 1)) if exact is None else float(exact)
        assert model.exponential_loss(float(lanes)) == pytest.approx(near, rel=1e-15)
    # geometric work of long items is nearly exponential
    result = dse.evaluate("imbalance", distribution="geometric:0.0005", lanes=[2, 8, 32])
    expected = [model.exponential_loss(lanes) for lanes in (2, 8, 32)]
    np.testing.assert_allclose(result.imbalance_slowdown, expected, rtol=4e-4)
    np.testing.assert_allclose(result.imbalance_loss, expected, rtol=4e-4)


def test_a_law_without_work() -> None:
    ds = dse.evaluate("imbalance", distribution="uniform:0,0", lanes=4, outputs=EVERYTHING)
    for name in EVERYTHING[EVERYTHING.index("imbalance_slowdown") : -1]:
        assert float(ds[name]) == 1, name
    assert float(ds.imbalance_loss) == 1
    assert float(ds.imbalance_loss_std) == 0


def test_what_the_model_says_of_itself() -> None:
    result = dse.model("imbalance")
    assert result.inputs == ("distribution", "lanes", "most_bins", "cut_overhead", "share_overhead")
    assert result.needs(*result.outputs) == ("distribution", "lanes")
    assert result.needs("imbalance_loss", work_law="binomial") == (
        "trial_count",
        "success_probability",
        "lanes",
    )
    slowdown = result.symbol("expected_max") / result.symbol("work_mean")
    closed = result.closed_form("imbalance_slowdown")
    assert closed.has(slowdown)
    assert "W_{(n:n)}" in result.latex("imbalance_slowdown")
    assert r"\mathrm{table}\left(\mathrm{distribution}, \mathrm{lanes}\right)" in result.latex(
        "imbalance_loss"
    )
    joined = dse.model("occupancy + mwp_cwp + imbalance")
    assert {"distribution", "lanes"} <= set(joined.inputs)
    assert "imbalance_loss" not in joined.inputs


def test_ten_thousand_pairs_take_seconds() -> None:
    """The issue allows 20 s on two cores; a tenth of the pairs, with room for a busy machine."""
    Study(model="imbalance", set={"distribution": "uniform:0,9"}, outputs=["imbalance_loss"])
    began = time.perf_counter()
    study = Study(
        model="imbalance",
        axes={"success_probability": np.linspace(0.1, 0.9, 25), "lanes": range(2, 42)},
        set={"work_law": "binomial", "trial_count": 250},
        outputs=["imbalance_loss"],
    )
    assert study.grid().points == 1000
    assert time.perf_counter() - began < 5


def test_docstrings() -> None:
    failed, attempted = run_doctests(model)
    assert failed == 0
    assert attempted > 5
