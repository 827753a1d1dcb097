"""Uneven work of language models: experts with skewed loads, sequences with random lengths."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dse
from dse import Study
from stochastic import Pmf
from sweeps.grid.work_laws import read_law
from symbolic.errors import DseError
from symbolic.models.moe import TILE_ROWS
from tests.papers.language_model_fits import DATA, TYPES

SIZES: dict[str, Any] = {"hidden": 4096, "intermediate": 2048, "experts": 64, "topk": 4}
LAYER = SIZES | {"machine": "h100_sxm"}
HEADS: dict[str, Any] = {"heads": 32, "kv_heads": 8, "machine": "h100_sxm"}
LAWS = ["balanced", "power: 1.2", "dirichlet: 0.3"]


def _time(**changes: Any) -> Any:
    return dse.evaluate("moe", **{**LAYER, "tokens": 4096, **changes}).time.values


# --- experts


@pytest.mark.parametrize("ranks", [1, 3, 8, 64])
def test_balanced_routing_has_the_time_without_routing(ranks: int) -> None:
    sizes: dict[str, Any] = {"tokens": [1, 5, 64, 4096, 16384], "expert_parallel": ranks}
    plain = dse.evaluate("moe", **LAYER, **sizes)
    balanced = dse.evaluate("moe", **LAYER, **sizes, routing="balanced")
    for name in ("time", "time_low", "time_high", "moe_rank_tokens", "moe_occupied_experts"):
        assert (plain[name] == balanced[name]).all(), name
    assert "moe_tiles_16" not in plain


def test_the_busiest_rank_decides_for_many_tokens_and_few_experts_for_few_tokens() -> None:
    many = [_time(expert_parallel=64, routing=law) for law in LAWS]
    assert many[0] < many[1]
    assert many[0] < many[2]
    few = [_time(tokens=16, routing=law) for law in LAWS]
    assert few[0] > few[1]
    assert few[0] > few[2]


@pytest.mark.parametrize("law", LAWS[1:])
def test_no_time_is_below_the_floor(law: str) -> None:
    sizes: dict[str, Any] = {"tokens": 2.0 ** np.arange(15)[:, None], "expert_parallel": [1, 4, 64]}
    result = dse.evaluate("moe", **LAYER, **sizes, routing=law)
    assert (result.time >= result.moe_floor).all()
    assert (result.time_low >= result.moe_floor).all()
    one = result.moe_occupied_experts[:, 0]
    balanced = dse.evaluate("moe", **LAYER, **sizes).moe_occupied_experts[:, 0]
    assert (one <= balanced).all()


def test_the_chosen_rows_of_a_tile_are_the_best_for_balanced_loads() -> None:
    for tokens in (64, 1024, 4096, 16384):
        plain = [_time(tokens=tokens, moe_tile_rows=r, routing="balanced") for r in TILE_ROWS]
        skewed = [_time(tokens=tokens, moe_tile_rows=r, routing="power: 1.2") for r in TILE_ROWS]
        assert _time(tokens=tokens, routing="power: 1.2") == skewed[int(np.argmin(plain))]
        assert _time(tokens=tokens) == min(plain)
    assert np.isinf(_time(moe_tile_rows=17, routing="power: 1.2"))


def test_a_random_level_gives_the_law_of_the_time() -> None:
    """The twin evaluates the time at each of the draws behind the law."""
    study = Study(
        model="moe",
        machine="h100_sxm",
        axes={"expert_parallel": [4, 16]},
        set=SIZES | {"tokens": 4096, "routing": "power: 1.2"},
        random={"routing_level": "uniform: 0, 1", "draws": 1024},
        outputs=["mean(time)", "quantile(time, 0.99)", "chance(time > 1 ms)"],
    )
    answer = study.run()
    levels = (np.arange(1024) + 0.5) / 1024
    for ranks in (4, 16):
        times = _time(expert_parallel=ranks, routing="power: 1.2", routing_level=levels)
        here = answer.sel(expert_parallel=ranks)
        assert float(here["mean(time)"]) == pytest.approx(times.mean(), rel=0.01)
        assert float(here["quantile(time, 0.99)"]) == pytest.approx(
            np.quantile(times, 0.99), rel=0.02
        )
        assert float(here["chance(time > 1 ms)"]) == pytest.approx((times > 1e-3).mean(), abs=0.01)
        # the time at mean loads is near the mean time
        assert _time(expert_parallel=ranks, routing="power: 1.2") == pytest.approx(
            times.mean(), rel=0.03
        )
    best = study.optimum(minimize="quantile(time, 0.99)")
    assert best.expert_parallel.item() == 16
    chances = study.chances(minimize="time")
    assert float(chances.chance.sum()) == pytest.approx(1, abs=1e-6)


def test_remedies_are_axes() -> None:
    study = Study(
        model="moe",
        machine="h100_sxm",
        axes={
            "routing": LAWS,
            "capacity_factor": [0, 1, 1.25, 2],
            "expert_copies": [0, 8],
            "moe_tile_rows": [0, 64, 128],
        },
        set=SIZES | {"tokens": 4096, "expert_parallel": 16},
    )
    times = study.run().time
    skewed = times.sel(routing="power: 1.2", moe_tile_rows=0)
    assert float(skewed.sel(capacity_factor=1, expert_copies=0)) < float(skewed[0, 0])
    assert float(skewed.sel(capacity_factor=0, expert_copies=8)) < float(skewed[0, 0])
    balanced = times.sel(routing="balanced")
    assert (balanced == balanced.isel(capacity_factor=0, expert_copies=0)).all()
    for routing in LAWS:
        scan, proof = (
            study.optimum(minimize="time", per="routing", method=method).time.sel(routing=routing)
            for method in ("scan", "certified")
        )
        assert float(scan) == float(proof) == float(times.sel(routing=routing).min())


def test_the_example_study_shows_what_its_first_lines_say() -> None:
    path = Path(dse.__file__).parents[1] / "examples/skewed-experts.toml"
    times = Study.from_toml(path).run().time
    ratio = times.sel(routing="power: 1.2") / times.sel(routing="balanced")
    assert (ratio.sel(expert_parallel=1, tokens=[16, 64, 256]) < 0.9).all()
    assert (ratio.sel(tokens=16384).diff("expert_parallel") > 0).all()


def test_bare_text_and_wrong_sizes_are_refused() -> None:
    with pytest.raises(DseError, match=r"routing = 'powr: 1.2'.*did you mean 'power'"):
        _time(routing="powr: 1.2")
    with pytest.raises(DseError, match="expert_parallel = 128: expected at most experts = 64"):
        _time(routing="power: 1.2", expert_parallel=128)
    equation = next(e for e in dse.model("moe").equations if e.name == "moe_tiles_16")
    with pytest.raises(DseError, match="bare text"):
        equation("power: 1.2", *[1.0] * 8)


def test_24_000_rows_take_less_than_a_minute() -> None:
    """On two idle cores they take 5 s."""
    rng = np.random.default_rng(0)
    sizes = {
        "tokens": 2.0 ** rng.integers(0, 15, 24_000),
        "experts": 2.0 ** rng.integers(6, 9, 24_000),
        "topk": rng.integers(1, 9, 24_000),
        "expert_parallel": 2.0 ** rng.integers(0, 7, 24_000),
    }
    began = time.monotonic()
    dse.evaluate("moe", **{**LAYER, **sizes}, routing="power: 1.2")
    assert time.monotonic() - began < 60


with_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/llm_kernels")
_COLUMNS = {
    "tokens": "num_tokens",
    "hidden": "hidden_size",
    "intermediate": "inter_size",
    "experts": "num_experts",
    "topk": "topk",
    "tensor_parallel": "moe_tp_size",
    "expert_parallel": "moe_ep_size",
}


def _errors(predicted: Any, measured: Any) -> tuple[float, float]:
    off = np.abs(predicted / measured - 1)
    return float(np.median(off)), float(np.quantile(off, 0.9))


@with_data
def test_the_cost_of_skew_on_an_h100() -> None:
    """The fit knows balanced rows only; it predicts skewed over balanced times."""
    rows = pd.read_parquet(DATA / "moe_h100_sxm.parquet")
    rows = rows[rows.moe_dtype.isin(TYPES)].reset_index(drop=True)
    rows["gated"] = np.where(rows.kernel_source.str.contains("nongated"), "false", "true")
    rows[["predicted", "load", "busy"]] = 0.0
    for (law, dtype, gated), part in rows.groupby(["distribution", "moe_dtype", "gated"]):
        given = {name: part[column].to_numpy(float) for name, column in _COLUMNS.items()}
        routing = {} if law == "balanced" else {"routing": f"power: {law.split('_')[-1]}"}
        answer = dse.evaluate(
            "moe",
            machine="h100_sxm",
            dtype=TYPES[dtype],
            gated=gated,
            outputs=["time", "moe_rank_tokens", "moe_occupied_experts"],
            **routing,
            **given,
        )
        rows.loc[part.index, ["predicted", "load", "busy"]] = np.stack(
            [answer[name].values for name in answer.data_vars if name != "feasible"], axis=1
        )
    shape = ["moe_dtype", "kernel_source", *_COLUMNS.values()]
    balanced = rows[rows.distribution.eq("balanced")]
    pairs = rows[rows.distribution.ne("balanced")].merge(
        balanced, on=shape, suffixes=("", "_balanced")
    )
    assert len(pairs) == 23_220
    measured = pairs.latency / pairs.latency_balanced
    predicted = pairs.predicted / pairs.predicted_balanced
    none = np.ones(len(pairs))
    few = pairs.num_tokens * pairs.topk < 8 * pairs.num_experts
    ratio = np.where(few, pairs.busy / pairs.busy_balanced, pairs.load / pairs.load_balanced)
    naive = 0.6 + 0.4 * ratio
    result, no_change, mix = (_errors(p, measured) for p in (predicted, none, naive))
    print(f"law {result}, no change {no_change}, naive mix {mix}")
    assert result[0] <= 0.055
    assert result[1] <= 0.24
    assert no_change[0] > 0.12
    assert no_change[1] > 0.5
    assert result[0] < 0.6 * mix[0]
    assert result[1] < 0.75 * mix[1]
    assert np.corrcoef(predicted.rank(), measured.rank())[0, 1] >= 0.81


# --- sequences


@pytest.mark.parametrize("window", [0, 1000])
def test_equal_lengths_are_a_law(window: int) -> None:
    for model, name in (("prefill_attention", "seq_len"), ("decode_attention", "context")):
        given = {**HEADS, "batch": [1, 8, 64], "window": window}
        plain = dse.evaluate(model, **(given | {name: 4096}))
        law = dse.evaluate(model, **given, lengths="uniform:4096,4096")
        assert (plain.time == law.time).all()
        assert (plain.time_low == law.time_low).all()


@pytest.mark.parametrize("window", [0, 300])
def test_the_work_of_random_lengths_is_the_mean_of_each_length(window: int) -> None:
    batch, law = 8, {100: 0.5, 700: 0.25, 5000: 0.25}
    lengths = Pmf.from_weights(law)
    given: dict[str, Any] = {**HEADS, "batch": batch, "window": window}
    parts = {n: dse.evaluate("prefill_attention", **given, seq_len=n) for n in law}
    result = dse.evaluate("prefill_attention", **given, lengths=lengths)
    names = ("prefill_scores", "prefill_tiles", "prefill_late_tiles", "prefill_masked_scores")
    for name in (*names, "prefill_bytes", "prefill_operations", "prefill_mean_time"):
        mean = sum(chance * float(parts[n][name]) for n, chance in law.items())
        assert float(result[name]) == pytest.approx(mean, rel=1e-12), name
    below = {100: 0.5**batch, 700: 0.75**batch, 5000: 1.0}
    longest = 100 * below[100] + 700 * (below[700] - below[100]) + 5000 * (1 - below[700])
    assert float(result.longest_prompt) == pytest.approx(longest)
    assert float(result.time) >= float(result.prefill_floor)
    parts = {n: dse.evaluate("decode_attention", **given, context=n) for n in law}
    result = dse.evaluate("decode_attention", **given, lengths=lengths)
    mean = sum(chance * float(parts[n].decode_bytes) for n, chance in law.items())
    assert float(result.decode_bytes) == pytest.approx(mean)
    assert float(result.longest_context) == pytest.approx(longest)


def test_longer_tails_take_longer_than_equal_lengths() -> None:
    laws = ["uniform:4096,4096", "uniform:1,8191", "geometric:0.000244140625"]
    study = Study(
        model="prefill_attention",
        machine="h100_sxm",
        axes={"lengths": laws, "batch": [1, 8]},
        set={"heads": 32, "kv_heads": 8},
    )
    times = study.run().time
    assert (np.diff(times.values, axis=0) > 0).all()


def test_a_wrong_law_of_lengths_is_refused() -> None:
    with pytest.raises(DseError, match=r"lengths = 'geometrc:0\.1'"):
        dse.evaluate("prefill_attention", **HEADS, batch=1, lengths="geometrc:0.1")
    with pytest.raises(DseError, match="seq_len"):
        dse.evaluate("prefill_attention", **HEADS, batch=1)
    assert read_law("poisson:9").mean_of(lambda x: x**2) == pytest.approx(90)
