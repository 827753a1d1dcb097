"""Matrix products on tensor cores: the model by hand, its floors, and measured times."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.errors import DseError, UnknownNameError
from symbolic.models import gemm
from tests.long import long
from tests.papers._solve import run_doctests

DATA = Path(__file__).parents[3] / "shared/data/llm_kernels"
FITS = Path(dse.__file__).parent / "data" / "fits"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/llm_kernels")
TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8_block", "nvfp4": "fp4", "sq": "int8"}
FITTED = ("a100_80", "h100_sxm", "b200", "l40s")


def test_doctests_of_equations() -> None:
    assert run_doctests(gemm)[0] == 0


NUMBERS = {
    "n_sms": 10.0,
    "tensor_bf16_flops": 1e14,
    "tensor_fp4_flops": 4e14,
    "mem_bandwidth": 1e12,
    "l2_size": 1e6,
    "core_clock": 1e9,
    "boost_clock": 2e9,
    "gemm_start_time": 1e-6,
    "gemm_dram_share": 0.8,
    "gemm_operand_bytes_per_cycle": 40.0,
    "gemm_wave_overlap": 0.25,
    "gemm_cache_share": 0.5,
    "gemm_output_ratio": 2.0,
    "gemm_bf16_share": 0.9,
    "gemm_operation_energy": 2e-12,
    "seconds_per_joule": 0.005,
    "tensor_fp16_flops": 1e14,
    "gemm_fp4_share": 0.9,
    "gemm_fp4_cast_time": 5e-6,
}


def by_hand(m: int, n: int, k: int, dtype: str) -> dict[str, float]:
    """Return the time and the best tile, by loops over tiles and splits of exact counts."""
    four = dtype == "fp4"
    element, step, cast = (0.5625, 256, 6.0) if four else (2.0, 64, 0.0)
    peak = NUMBERS["tensor_fp4_flops" if four else "tensor_bf16_flops"]
    tiles = [(16, 64), (32, 64), (64, 32), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256)]
    tiles, splits = (tiles[6:], (1,)) if four else (tiles, (1, 4, 16))
    weights, activations, results = n * k * element, m * k * element, 2 * m * n
    cache = NUMBERS["l2_size"] * 0.5

    def misses(used: float) -> float:
        return (used / cache) ** 4 / (1 + (used / cache) ** 4)

    dram = weights * misses(5 * weights + activations + results)
    dram += activations * misses(weights + activations + results)
    best: dict[str, float] = {"product_time": math.inf}
    for split in splits:
        terms = -(-k // (split * step)) * step
        for rows, columns in tiles:
            blocks = -(-m // rows) * -(-n // columns) * split
            waves, mean = -(-blocks // 10), max(blocks / 10, 1)
            work = 0.75 * waves + 0.25 * mean
            seconds = (
                work * 2 * rows * columns * terms / (peak * 0.9 / 2 / 10),
                mean * (rows + columns) * terms * element / (40 * 1e9),
                dram / (0.8 * 1e12),
            )
            time = sum(each**4 for each in seconds) ** 0.25
            if split > 1:
                time += 2.6e-6 + 8 * split * m * n / (10 * 40 * 1e9)
            if time < best["product_time"]:
                of_last = blocks - (waves - 1) * 10
                best = {"product_time": time, "gemm_blocks": blocks, "gemm_waves": waves}
                best |= {"gemm_tile_rows": rows, "gemm_tile_columns": columns}
                best |= {"gemm_splits": split, "gemm_last_wave_share": of_last / 10}
                times = ("gemm_tensor_time", "gemm_operand_time", "gemm_dram_time")
                best |= dict(zip(times, seconds, strict=True))
    missed = misses(weights + activations + results)
    output = (results + m * k * cast) * ((1 - missed) / 2 + missed) / (0.8 * 1e12)
    total = 1e-6 + (5e-6 if four else 0) + best["product_time"] + output
    energy = 2 * m * n * k * 2e-12 * element / 2
    return best | {"time": (total**4 + (energy * 0.005) ** 4) ** 0.25}


@pytest.mark.parametrize("dtype", ["bf16", "fp4"])
def test_time_tile_and_waves_are_those_by_hand(dtype: str) -> None:
    rng = np.random.default_rng(3)
    shapes = np.exp(rng.uniform(0, np.log(9000), (200, 3))).astype(int)
    shapes = np.vstack([shapes, [(1, 1, 1), (256, 2560, 64), (257, 2560, 65), (16, 64, 9000)]])
    wanted = [by_hand(int(m), int(n), int(k), dtype) for m, n, k in shapes]
    m, n, k = shapes.T
    ds = dse.evaluate(
        "gemm", m=m, n=n, k=k, dtype=dtype, outputs=[*wanted[0], "gemm_tile"], **NUMBERS
    )
    for name in wanted[0]:
        column = [row[name] for row in wanted]
        np.testing.assert_allclose(ds[name].values, column, rtol=1e-12, atol=1e-20, err_msg=name)
    if dtype == "bf16":
        assert set(ds.gemm_splits.values) == {1, 4, 16}
        assert len(set(ds.gemm_tile.values % (len(gemm.CHOICES) // 3))) == 8


def test_the_tile_has_a_name_and_follows_the_first_of_equal_times() -> None:
    given: dict[str, Any] = {"m": [1, 8192], "n": 8192, "k": 8192, "dtype": "bf16", **NUMBERS}
    ds = dse.evaluate("gemm", outputs=["gemm_tile"], **given)
    assert ds.dse.labels("gemm_tile").values.tolist() == ["16x64", "256x256"]
    free = {"gemm_operand_bytes_per_cycle": 1e300, "tensor_bf16_flops": 1e300}
    tied = dse.evaluate("gemm", outputs=["gemm_tile", "gemm_splits"], **(given | free))
    assert tied.gemm_tile.values.tolist() == [0, 0]  # only the time of DRAM is left
    names = {gemm.CHOICES[place]: name for place, name in gemm.CHOICE_NAMES.items()}
    assert names[64, 128, 4] == "64x128 in 4 parts"


def test_tiles_are_computed_only_if_they_are_outputs() -> None:
    shape = {"m": 512, "n": 512, "k": 512, "dtype": "bf16"}
    graph = dse.Study(model="gemm", machine="h100_sxm", set=shape, outputs=["time"]).grid().graph
    assert not [name for name in graph.definitions if name.startswith("gemm_tile")]


@pytest.mark.parametrize("name", ["gemm_waves", "gemm_last_wave_share", "gemm_splits"])
def test_extremes_of_waves_are_certified(name: str) -> None:
    """The equation of the tile shares most of its steps: its text would have 10**7 characters."""
    axes = {"product_rows": [*range(1, 5000, 500)], "product_columns": [*range(64, 9000, 1000)]}
    study = dse.Study(
        model="gemm",
        machine="h100_sxm",
        axes=axes | {"product_depth": [512, 8192]},
        set={"dtype": "bf16"},
        outputs=[name],
    )
    values = study.run()[name]
    least = study.optimum(method="certified", minimize=name)
    most = study.optimum(method="certified", maximize=name)
    assert least.attrs["gap"] == most.attrs["gap"] == 0
    assert (least[name], most[name]) == (values.min(), values.max())
    assert values.min() < values.max()


@pytest.mark.parametrize("machine", [*FITTED, "h200", "gb200", "rtxpro6000"])
def test_no_prediction_is_below_the_floor_of_the_machine(machine: str) -> None:
    rng = np.random.default_rng(0)
    m, n, k = np.exp(rng.uniform(0, np.log(65536), (3, 5000))).round()
    entry: dict[str, Any] = {"machine": machine, "dtype": "bf16"}
    names = ["time", "time_low", "tensor_bf16_flops", "l2_size", "mem_bandwidth"]
    ds = dse.evaluate("gemm", m=m, n=n, k=k, outputs=["time", "time_low"], **entry)
    one = dse.evaluate("gemm", m=1, n=1, k=1, **entry)
    peak, cache, bandwidth = (float(one[name]) for name in ("gemm_peak", *names[3:]))
    moved = 2 * (m * k + n * k + m * n)
    floor = np.maximum(2 * m * n * k / peak, (moved - cache) / bandwidth)
    assert np.all(ds.time.values >= floor * (1 - 1e-12))
    assert np.all(ds.time_low.values >= floor * (1 - 1e-12))


@pytest.mark.parametrize(
    ("goal", "where"),
    [
        ({"maximize": "gemm_efficiency"}, ()),
        ({"minimize": "time"}, ("gemm_operations >= 1e12",)),
        ({"minimize": "time"}, ()),
    ],
)
@pytest.mark.parametrize("tiny", [False, True])
def test_optima_of_a_billion_shapes_are_certified(
    goal: dict[str, str], where: tuple[str, ...], tiny: bool
) -> None:
    """A grid of 8,000 shapes is scanned for comparison."""
    count = 20 if tiny else 1000
    sizes = {"m": range(1, 1 + count), "n": range(64, 64 + 64 * count, 64)}
    axes = {**sizes, "k": range(64, 64 + 64 * count, 64)}
    if tiny and where:
        where = ("gemm_operations >= 2e7",)
    names = {"m": "product_rows", "n": "product_columns", "k": "product_depth"}
    study = dse.Study(
        model="gemm",
        machine="b200",
        axes={names[name]: [*values] for name, values in axes.items()},
        set={"dtype": "bf16"},
        outputs=["time", "gemm_efficiency"],
        where=where,
    )
    best = study.optimum(method="certified", **goal)
    assert best.attrs["gap"] == 0
    assert best.attrs["settled"] == 1
    if tiny:
        scanned = study.optimum(method="scan", **goal)
        assert all(best[name].item() == scanned[name].item() for name in names.values())


def test_efficiency_is_operations_over_time_and_the_printed_rate() -> None:
    rng = np.random.default_rng(2)
    m, n, k = np.exp(rng.uniform(0, np.log(30000), (3, 2000))).round()
    for dtype in ("bf16", "fp8", "fp8_block", "fp4"):
        outputs = ["gemm_efficiency", "gemm_flops", "gemm_peak", "gemm_floor", "time"]
        ds = dse.evaluate("gemm", machine="b200", dtype=dtype, m=m, n=n, k=k, outputs=outputs)
        assert np.allclose(ds.gemm_flops.values, 2 * m * n * k / ds.time.values, rtol=1e-12)
        expected = ds.gemm_flops.values / float(ds.gemm_peak)
        assert np.allclose(ds.gemm_efficiency.values, expected, rtol=1e-12)
        assert np.all(ds.gemm_efficiency.values <= 1)


def test_the_largest_rate_is_certified_in_few_boxes() -> None:
    """A million shapes took 50,000 boxes, and a billion 30 s, while a rate followed from time."""
    sizes = np.arange(64, 6464, 64)
    axes = {"product_rows": sizes, "product_columns": sizes, "product_depth": sizes}
    study = dse.Study(model="gemm", machine="b200", set={"dtype": "bf16"}, axes=axes)
    best = study.optimum(maximize="gemm_flops", method="certified")
    assert best.attrs["settled"] == 1
    assert best.attrs["boxes"] < 1000


def test_a_machine_without_units_for_the_type_is_refused() -> None:
    for machine, dtype in (("v100_sxm2", "bf16"), ("l40s", "fp4")):
        with pytest.raises(DseError, match=r"'gemm_peak > 0' is broken .* for the number type"):
            dse.evaluate("gemm", machine=machine, m=64, n=64, k=64, dtype=dtype)


def test_the_bottleneck_follows_from_the_shape() -> None:
    def bound(m: int, n: int, k: int, machine: str = "h100_sxm") -> str:
        ds = dse.evaluate("gemm", machine=machine, m=m, n=n, k=k, outputs=["gemm_bound"])
        return str(ds.dse.labels("gemm_bound").values)

    shapes = ((8192, 8192, 8192), (1, 8192, 8192), (64, 64, 64), (64, 64, 65536), (8192, 8192, 8))
    assert [bound(*shape) for shape in shapes] == ["power", "memory", "start", "tiles", "output"]
    assert bound(8192, 8192, 8192, "a100_80") == "tensor"


def test_the_floor_follows_multiprocessors_and_clock() -> None:
    """Twice the multiprocessors did not help, because the floor stayed that of the machine.

    They need twice the power, too.
    """
    given: dict[str, Any] = {"machine": "h100_sxm", "m": 8192, "n": 8192, "k": 8192}
    names = ["time", "gemm_floor"]
    here, twice, fast = (
        dse.evaluate("gemm", **given, **more, outputs=names)
        for more in (
            {},
            {"n_sms": 264, "seconds_per_joule": 1 / 1400},
            {"core_clock": "3.96 GHz", "seconds_per_joule": 1 / 1400},
        )
    )
    assert float(twice.gemm_floor) == pytest.approx(float(here.gemm_floor) / 2)
    assert float(fast.gemm_floor) == pytest.approx(float(here.gemm_floor) / 2)
    assert float(here.time / twice.time) > 1.5


def test_a_column_more_is_a_wave_more_where_blocks_do_not_overlap() -> None:
    """Horace He, What shapes do matrix multiplications like; smaller tiles soften the step."""
    shape = {"m": 1792, "n": [3584, 3585], "k": 65536, "dtype": "bf16"}

    def growth(overlap: float) -> float:
        values = {**NUMBERS, "gemm_wave_overlap": overlap, "n_sms": 98.0, "l2_size": 1e9}
        both = dse.evaluate("gemm", outputs=["time"], **shape, **values).time.values
        return float(both[1] / both[0] - 1)

    assert growth(0.0) > 1.4 * growth(1.0)


def test_the_former_model_is_named() -> None:
    with pytest.raises(UnknownNameError, match="gemm replaced it"):
        dse.evaluate("tiled_product", machine="a100_80")


# --- shipped fits


@pytest.mark.parametrize("machine", FITTED)
def test_a_gpu_has_at_most_twelve_numbers(machine: str) -> None:
    tree = json.loads((FITS / f"gemm-{machine}.fit.json").read_text())
    of_types = [name for name in tree["names"] if name.split("_")[1] in ("fp8", "fp4", "int8")]
    assert len(tree["names"]) - len(of_types) == 5
    assert len(tree["names"]) <= 12
    assert "TensorRT-LLM" in tree["rows"]["data"]


def test_a_shipped_fit_is_used_and_named_and_can_be_left_out() -> None:
    shape = {"m": 64, "n": 4096, "k": 4096, "dtype": "bf16"}
    fitted = dse.evaluate("gemm", machine="h100_sxm", **shape)
    assert json.loads(fitted.attrs["fits"]) == ["gemm-h100_sxm.fit.json"]
    assert "1.3.0rc20" in json.loads(fitted.attrs["sources"])["gemm_start_time"]
    without = dse.evaluate("gemm", machine="h100_sxm", fit="none", **shape)
    assert "fits" not in without.attrs
    assert float(without.time) != float(fitted.time)
    assert "gemm_start_cycles" in json.loads(without.attrs["defaults"])
    study = dse.Study(model="gemm", machine="h100_sxm", set=shape, fit="none", outputs=["time"])
    assert float(study.run().time) == float(without.time)
    saved = dse.load_fit(FITS / "gemm-h100_sxm.fit.json")
    assert float(dse.evaluate("gemm", machine="h100_sxm", fit=saved, **shape).time) == float(
        fitted.time
    )


def test_a_machine_that_was_not_measured_takes_the_numbers_of_its_relative() -> None:
    shape = {"m": 64, "n": 4096, "k": 4096, "dtype": "bf16"}
    ds = dse.evaluate("gemm", machine="h200", **shape)
    assert json.loads(ds.attrs["fits"]) == ["gemm-h100_sxm.fit.json"]
    assert any("as h100_sxm" in text for text in json.loads(ds.attrs["assumptions"]))
    measured = dse.evaluate("gemm", machine="h100_sxm", **shape)
    assert float(ds.time_high / ds.time) > float(measured.time_high / measured.time)


def test_a_fit_of_another_kind_is_refused() -> None:
    with pytest.raises(DseError, match="'none' to use no fit"):
        dse.evaluate("gemm", machine="h100_sxm", m=1, n=1, k=1, fit=3)


# --- measured times


def errors(gpu: str, machine: str, raw: str, **more: Any) -> tuple[Any, Any]:
    """Return the relative errors of a GPU and type, and whether each time is in its interval."""
    import pandas as pd

    rows = pd.read_parquet(DATA / f"gemm_{gpu}.parquet")
    rows = rows[rows.gemm_dtype == raw]
    time = rows.latency.to_numpy() * 1e-3
    shape = {name: rows[name].to_numpy() for name in "mnk"}
    outputs = ["time", "time_low", "time_high"]
    ds = dse.evaluate("gemm", machine=machine, dtype=TYPES[raw], outputs=outputs, **shape, **more)
    inside = (ds.time_low.values <= time) & (time <= ds.time_high.values)
    return np.abs(ds.time.values / time - 1), inside


@needs_data
@pytest.mark.parametrize(
    ("gpu", "machine", "raw", "median", "tail"),
    [
        ("a100_sxm", "a100_80", "bfloat16", 0.066, 0.19),
        ("h100_sxm", "h100_sxm", "bfloat16", 0.04, 0.12),
        ("h100_sxm", "h100_sxm", "fp8", 0.03, 0.10),
        ("b200_sxm", "b200", "bfloat16", 0.065, 0.18),
        ("b200_sxm", "b200", "fp8", 0.045, 0.125),
        ("b200_sxm", "b200", "nvfp4", 0.04, 0.16),
        ("l40s", "l40s", "bfloat16", 0.10, 0.31),
        ("l40s", "l40s", "fp8", 0.07, 0.26),
    ],
)
def test_errors_and_intervals_of_measured_times(
    gpu: str, machine: str, raw: str, median: float, tail: float
) -> None:
    off, inside = errors(gpu, machine, raw)
    assert np.median(off) <= median
    assert np.quantile(off, 0.9) <= tail
    assert 0.87 <= inside.mean() <= 0.93
    tree = json.loads((FITS / f"gemm-{machine}.fit.json").read_text())
    left_out = tree["left_out"]["groups"][TYPES[raw]]
    assert left_out["median"] <= median
    assert left_out["p90"] <= tail


@needs_data
@pytest.mark.parametrize(
    ("gpu", "machine", "raw", "median", "tail"),
    [
        ("a100_sxm", "a100_80", "bfloat16", 0.075, 0.20),
        ("h100_sxm", "h100_sxm", "bfloat16", 0.07, 0.16),
        ("h100_sxm", "h100_sxm", "fp8", 0.045, 0.105),
        ("b200_sxm", "b200", "bfloat16", 0.095, 0.24),
        ("b200_sxm", "b200", "fp8", 0.06, 0.14),
        ("l40s", "l40s", "bfloat16", 0.10, 0.30),
        ("l40s", "l40s", "fp8", 0.07, 0.20),
    ],
)
def test_ratios_that_four_gpus_share_predict_each(
    gpu: str, machine: str, raw: str, median: float, tail: float
) -> None:
    off, inside = errors(gpu, machine, raw, fit="none")
    assert np.median(off) <= median
    assert np.quantile(off, 0.9) <= tail
    assert inside.mean() >= 0.85


@long
@needs_data
def test_the_numbers_of_three_gpus_predict_the_fourth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))
    import gemm_fits  # type: ignore[import-not-found]

    some = gemm_fits.read_shared(DATA.parent, 500)
    for gpu, (machine, _) in gemm_fits.GPUS.items():
        parts = [part for name, each in some.items() if name != machine for part in each]
        parts = [each for each in parts if each[0]["dtype"].iloc[0] in ("bf16", "fp8")]
        numbers = gemm_fits.fit_shared(parts)
        raws = ("bfloat16", "fp8") if machine != "a100_80" else ("bfloat16",)
        off = np.concatenate([errors(gpu, machine, raw, fit="none", **numbers)[0] for raw in raws])
        assert np.median(off) <= 0.11
        assert np.quantile(off, 0.9) <= 0.28


# --- power


def test_a_lower_limit_takes_longer_and_the_power_is_the_limit() -> None:
    shape = {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "machine": "b200"}
    outputs = ["time", "sustained_time", "sustained_power", "power_demand", "gemm_energy"]
    outputs += ["gemm_idle_power"]
    limits = [250.0, 500.0, 1000.0, 2000.0]
    ds = dse.evaluate("gemm", power_limit=limits, outputs=outputs, **shape)
    assert np.all(np.diff(ds.sustained_time.values) <= 0)
    assert ds.sustained_power.values[1] == pytest.approx(500)
    assert ds.sustained_power.values[3] == pytest.approx(float(ds.power_demand))
    assert ds.sustained_time.values[1] == pytest.approx(
        float(ds.gemm_energy) / (500 - float(ds.gemm_idle_power))
    )
    assert math.isinf(ds.sustained_time.values[0])  # below the idle power
    assert ds.sustained_time.values[3] == float(ds.time)


def test_a_meter_shows_less_than_is_drawn_after_a_pause() -> None:
    """Counts of a meter that averages a second, of measurements between equal pauses."""
    time, pause = 2e-5, 0.25
    metered = min(3000 * 5 * time, 1.0)
    for history in (0.0, 1.0):
        before = history * metered / (metered + pause)
        expected = np.mean([u + (1 - u) * before for u in (np.arange(1e5) + 0.5) / 1e5 * metered])
        share = gemm.gemm_metered_share(metered, 1.0, pause, 1000.0, history)
        assert share == pytest.approx(expected, rel=1e-6)
    shape = {"m": [1, 4096], "n": 2048, "k": 4096, "machine": "b200"}
    names = ["power", "sustained_power", "gemm_idle_power"]
    for dtype in ("bf16", "fp4"):
        shown = dse.evaluate("gemm", dtype=dtype, outputs=names, **shape)
        assert np.all(shown.power.values < shown.sustained_power.values)
        assert np.all(shown.power.values >= float(shown.gemm_idle_power))
    without = dse.evaluate("gemm", dtype="bf16", gemm_pause=0.0, outputs=names, **shape)
    assert np.allclose(without.power.values, without.sustained_power.values)


def test_energy_takes_its_time_at_the_power_limit() -> None:
    """Tensor cores without limit take 1.11 s for 1e15 operations at 1e15/s and 90 %."""
    shape: dict[str, Any] = {"m": 1e5, "n": 1e5, "k": 5e4, "dtype": "bf16", "outputs": ["time"]}
    fast: dict[str, Any] = {
        **NUMBERS,
        "tensor_bf16_flops": 1e15,
        "core_clock": 2e9,
        "l2_size": 1e12,
    }
    times = [
        float(dse.evaluate("gemm", **shape, **{**fast, "seconds_per_joule": 1 / watts}).time)
        for watts in (1e3, 1e2, 1e9)
    ]
    assert times[2] > 1e15 / 0.9e15
    for watts, time in zip((1e3, 1e2), times, strict=False):
        assert time == pytest.approx((times[2] ** 4 + (2e3 / watts) ** 4) ** 0.25, rel=1e-6)


def test_a_board_of_less_power_slows_products() -> None:
    """A B200 of 400 W took the time of one of 1,000 W."""
    shape: dict[str, Any] = {"m": 8192, "n": 8192, "k": 8192, "outputs": ["time"]}
    for machine, board in (("h100_sxm", 700.0), ("l4", 72.0)):
        limits = np.array([board / 2, board, 2 * board])
        times = dse.evaluate("gemm", machine=machine, board_power=limits, **shape).time.values
        expected = [
            float(dse.evaluate("gemm", machine=machine, seconds_per_joule=1 / each, **shape).time)
            for each in limits
        ]
        assert times == pytest.approx(expected)
        assert times[0] > 1.05 * times[1] > 1.1 * times[2]
    both = {"machine": ["l4", "mi250x"], "board_power": ["36 W", "72 W"]}  # one has no limit
    given = {"m": 8192, "n": 8192, "k": 8192}
    study = dse.Study(model="gemm", axes=both, set=given, outputs=["time"])
    slower, unlimited = study.run().time.values
    assert slower[0] > 1.2 * slower[1]
    assert unlimited[0] == unlimited[1]


def test_a_slower_clock_slows_products_and_not_memory() -> None:
    options: dict[str, Any] = {"machine": "h100_sxm", "dtype": "bf16", "outputs": ["time"]}
    # at the full clock, the power limit slows the large product, too
    for shape, least in (((8192, 8192, 8192), 1.6), ((1, 16384, 16384), 1.0)):
        m, n, k = shape
        times = dse.evaluate("gemm", m=m, n=n, k=k, core_clock=[990e6, 1980e6], **options).time
        growth = float(times[0] / times[1])
        assert least <= growth <= least + 0.2


@needs_data
def test_power_tells_which_products_throttle() -> None:
    import pandas as pd

    rows = pd.read_parquet(DATA / "gemm_power_b200_sxm.parquet")
    parts = []
    for raw, part in rows.groupby("gemm_dtype"):
        shape = {name: part[name].to_numpy() for name in "mnk"}
        options: dict[str, Any] = {"machine": "b200", "dtype": TYPES[raw], "power_limit": 1000.0}
        outputs = ["power", "power_demand"]
        ds = dse.evaluate("gemm", outputs=outputs, **options, **shape)
        columns = {name: ds[name].values for name in outputs}
        parts.append(pd.DataFrame({**columns, "measured": part.power.to_numpy()}))
    table = pd.concat(parts)
    throttled = (table.measured > 0.97 * 1000).to_numpy()
    ranks = table.power_demand.rank().to_numpy()
    yes, no = throttled.sum(), (~throttled).sum()
    assert (ranks[throttled].sum() - yes * (yes + 1) / 2) / (yes * no) >= 0.95
    assert np.median(np.abs(table.power / table.measured - 1)) <= 0.10
    assert (table.power / table.measured - 1).abs().quantile(0.9) <= 0.29
