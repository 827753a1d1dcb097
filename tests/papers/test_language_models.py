"""Attention and experts: laws by counting, floors, and scores against measured times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dse
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.models.decode_attention import decode_bytes, decode_splits
from symbolic.models.moe import moe_expert_tokens, moe_occupied_experts, moe_rank_tokens
from symbolic.models.prefill_attention import prefill_late_tiles, prefill_scores, prefill_tiles
from tests.long import mostly_long
from tests.papers.language_model_fits import (
    DATA,
    LIBRARY,
    errors,
    fit_numbers,
    left_out_predictions,
    machine_values,
    predict,
    read_rows,
)

with_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/llm_kernels")

#: Median and 90 % quantile of the errors of shapes left out, which must not be exceeded.
MOST = {
    ("prefill_attention", "h100_sxm"): (0.06, 0.15),
    ("prefill_attention", "b200"): (0.06, 0.15),
    ("decode_attention", "h100_sxm"): (0.11, 0.31),
    ("decode_attention", "b200"): (0.07, 0.2),
    ("moe", "h100_sxm"): (0.08, 0.4),
    ("moe", "b200"): (0.09, 0.3),
}
#: The same of a GPU whose numbers are those of the other one.
MOST_OF_OTHER = {
    ("prefill_attention", "h100_sxm"): (0.14, 0.36),
    ("prefill_attention", "b200"): (0.12, 0.45),
    ("decode_attention", "h100_sxm"): (0.2, 0.67),
    ("decode_attention", "b200"): (0.21, 0.5),
    ("moe", "h100_sxm"): (0.125, 0.4),
    ("moe", "b200"): (0.11, 0.35),
}
PREFILL = {"batch": 2, "seq_len": 4096, "heads": 32, "kv_heads": 8}
DECODE = {"batch": 64, "context": 8192, "heads": 32, "kv_heads": 8}
MOE = {"tokens": 4096, "hidden": 4096, "intermediate": 2048, "experts": 64, "topk": 4}
SHAPES = {"prefill_attention": PREFILL, "decode_attention": DECODE, "moe": MOE}


def _time(model, machine="h100_sxm", **changes):
    return dse.evaluate(model, machine=machine, **{**SHAPES[model], **changes}).time.item()


# --- laws by counting


@pytest.mark.parametrize(("length", "window"), [(1, 1), (7, 7), (300, 300), (300, 128), (513, 40)])
def test_scores_are_the_pairs_that_a_causal_window_keeps(length, window):
    query, key = np.mgrid[:length, :length]
    seen = (key <= query) & (key > query - window)
    assert prefill_scores(float(length), float(window)) == seen.sum()


@pytest.mark.parametrize(("length", "window"), [(128, 128), (512, 128), (512, 200), (1000, 256)])
def test_late_tiles_are_blocks_that_drop_the_first_key(length, window):
    tiles = prefill_tiles(float(length))
    first = [128 * tile for tile in range(int(tiles))]
    late = sum(query - window + 1 > 0 for query in first)
    assert prefill_late_tiles(tiles, float(window)) == late


def test_splits_fill_the_machine_and_are_not_shorter_than_a_tile():
    assert decode_splits(100.0, 0.0, 1.0, 8.0, 132.0) == 1
    assert decode_splits(1280.0, 0.0, 1.0, 8.0, 132.0) == 10
    assert decode_splits(1e6, 0.0, 4.0, 8.0, 132.0) == 264
    assert decode_splits(1e6, 1.0, 4.0, 8.0, 132.0) == 33  # a kernel for single heads fills once


def test_a_window_bounds_the_cache_that_is_read():
    read = dse.evaluate("decode_attention", machine="h100_sxm", **DECODE, window=[0, 100, 1e5])
    assert read.decode_bytes.values.tolist() == [
        decode_bytes(64.0, 8.0, keys, 128.0, 2.0) for keys in (8192.0, 100.0, 8192.0)
    ]


def test_few_tokens_read_the_weights_of_few_experts():
    pairs = moe_rank_tokens(2.0, 4.0, 1.0)
    assert (pairs, moe_occupied_experts(pairs, 64.0)) == (8, 8)
    assert moe_expert_tokens(pairs, 8.0) == 1
    assert moe_occupied_experts(moe_rank_tokens(4096.0, 4.0, 8.0), 8.0) == 8


def test_an_expert_with_a_gate_has_half_as_many_operations_again():
    gated, plain = (
        dse.evaluate("moe", machine="h100_sxm", **MOE, gated=g).moe_operations.item()
        for g in ("true", "false")
    )
    assert gated == 1.5 * plain == 6 * 4096 * 4 * 4096 * 2048


def test_types_without_kernels_are_rejected():
    with pytest.raises(DseError, match="int8"):
        _time("moe", dtype="int8")
    with pytest.raises(DseError, match="fp4"):
        _time("prefill_attention", dtype="fp4", kv_dtype="fp8")


# --- directions and floors


@pytest.mark.parametrize("machine", ["h100_sxm", "b200"])
def test_directions(machine):
    assert _time("prefill_attention", machine, window=128) < _time("prefill_attention", machine)
    assert _time("prefill_attention", machine, kv_dtype="fp8") < _time("prefill_attention", machine)
    assert _time("decode_attention", machine, kv_dtype="fp8") < _time("decode_attention", machine)
    assert _time("decode_attention", machine, kv_heads=4) < _time("decode_attention", machine)
    assert _time("moe", machine, dtype="fp8") < _time("moe", machine)
    assert _time("moe", machine, expert_parallel=8) < _time("moe", machine)
    assert _time("moe", machine, gated="false") < _time("moe", machine)


@pytest.mark.parametrize("model", SHAPES)
def test_no_time_is_below_the_floor_of_the_machine(model):
    """The shares of a perfect machine are 1 and its other costs 0."""
    ideal = {
        name: 1 if name.endswith("_share") else 1e-12
        for name in load_model(model).fitted
        if not name.endswith("tail_share")
    }
    random = np.random.default_rng(1)
    columns = {
        name: 2.0 ** random.integers(0, 13, 500)
        for name in SHAPES[model]
        if name not in ("heads", "kv_heads", "experts", "topk")
    }
    fixed = {name: value for name, value in SHAPES[model].items() if name not in columns}
    floor = f"{model.split('_')[0]}_floor"
    for machine in ("h100_sxm", "b200"):
        result = dse.evaluate(model, machine=machine, **fixed, **columns, **ideal)
        assert (result.time >= result[floor]).all()
        assert (result.time_low >= result[floor]).all()
        assert (result.time_low <= result.time).all()
        assert (result.time <= result.time_high).all()


# --- measured times


@pytest.fixture(scope="module")
def rows():
    return {key: read_rows(*key) for key in MOST}


def _shipped_fit(model, machine):
    path = Path(dse.__file__).parent / f"data/fits/{model}-{machine}.fit.json"
    fit = json.loads(path.read_text(encoding="utf-8"))
    return fit, fit["set"] | dict(zip(fit["names"], fit["values"], strict=True))


def _values(model, machine):
    return machine_values(machine) | LIBRARY.get((model, machine), {})


@with_data
@pytest.mark.parametrize(("model", "machine"), mostly_long(MOST, lambda k, _: k in (1, 2, 4)))
def test_errors_of_shapes_left_out(model, machine, rows):
    table = rows[model, machine]
    out = left_out_predictions(model, table, _values(model, machine), count=600)
    result = errors(out, table.measured)
    most = MOST[model, machine]
    assert result["median"] <= most[0]
    assert result["p90"] <= most[1]
    # an interval from four fifths of the shapes covers the last fifth
    ratio = (table.measured / out).to_numpy()
    inside = np.zeros(len(ratio), bool)
    for fold in table.fold.unique():
        last = (table.fold == fold).to_numpy()
        low, high = np.quantile(ratio[~last], [0.05, 0.95])
        inside[last] = (low <= ratio[last]) & (ratio[last] <= high)
    assert 0.87 <= inside.mean() <= 0.93


@with_data
@pytest.mark.parametrize(("model", "machine"), mostly_long(MOST, lambda k, _: k in (0, 3, 4)))
def test_errors_of_a_gpu_left_out(model, machine, rows):
    other = "b200" if machine == "h100_sxm" else "h100_sxm"
    numbers, _ = fit_numbers(model, [(rows[model, other], _values(model, other))], 600)
    table, values = rows[model, machine], _values(model, machine) | numbers
    result = errors(predict(model, table, values), table.measured)
    most = MOST_OF_OTHER[model, machine]
    assert result["median"] <= most[0]
    assert result["p90"] <= most[1]
    # without a fit of the machine, the ends of the interval are the defaults
    ends = [predict(model, table, values, output=name) for name in ("time_low", "time_high")]
    assert ((ends[0] <= table.measured) & (table.measured <= ends[1])).mean() >= 0.85


@with_data
@pytest.mark.parametrize(("model", "machine"), MOST)
def test_shipped_fits_are_those_of_the_rows(model, machine, rows):
    table = rows[model, machine]
    fit, numbers = _shipped_fit(model, machine)
    values = _values(model, machine) | numbers
    result = errors(predict(model, table, values), table.measured)
    assert result["median"] == pytest.approx(fit["errors"]["median"], rel=1e-6)
    assert result["p90"] == pytest.approx(fit["errors"]["p90"], rel=1e-6)
    ends = [predict(model, table, values, output=name) for name in ("time_low", "time_high")]
    # the ends are those of shapes left out, which these are not
    assert 0.87 <= ((ends[0] <= table.measured) & (table.measured <= ends[1])).mean() <= 0.95


@with_data
@pytest.mark.parametrize(("model", "machine"), MOST)
def test_evaluate_takes_the_shipped_fit(model, machine, rows):
    """The interface yields what the formulas with the numbers of the file yield."""
    table = rows[model, machine].iloc[::5000]
    path = dse.__path__[0] + f"/data/fits/{model}-{machine}.fit.json"
    with open(path, encoding="utf-8") as file:
        fit = json.load(file)
    values = (
        machine_values(machine) | fit["set"] | dict(zip(fit["names"], fit["values"], strict=True))
    )
    expected = predict(model, table, values)
    skipped = ("shape", "fold", "measured")
    for row, time in zip(table.to_dict("records"), expected, strict=True):
        given = {name: value for name, value in row.items() if name not in skipped}
        assert dse.evaluate(model, machine=machine, **given).time.item() == pytest.approx(time)
