"""Measured errors that the pages of docs/ask print: how sure the answer to each question is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

import dse

ROOT = Path(__file__).parents[2]
ASK = ROOT / "docs" / "ask"
DATA = ROOT.parent / "shared/data/llm_kernels"
MEASURED = ROOT / "docs" / "gpu-validation" / "gemm-h100.csv"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/llm_kernels")
#: Machine and file of each GPU, by its name in the tables.
MACHINES = {"A100": "a100_80", "H100": "h100_sxm", "B200": "b200", "L40S": "l40s"}
FILES = {"A100": "a100_sxm", "H100": "h100_sxm", "B200": "b200_sxm", "L40S": "l40s"}


def read_products(gpu: str) -> pd.DataFrame:
    """Return m, n, k and the median time of the measured bf16 products of a GPU."""
    rows = pd.read_parquet(DATA / f"gemm_{FILES[gpu]}.parquet")
    rows = rows[rows.gemm_dtype == "bfloat16"]
    times: pd.DataFrame = rows.groupby(["m", "n", "k"], as_index=False).latency.median()
    return times.assign(time=times.latency * 1e-3)


def evaluate(rows: pd.DataFrame, output: str = "time", **options: Any) -> Any:
    shape = {name: rows[name].to_numpy() for name in "mnk"}
    return dse.evaluate("gemm", outputs=[output], **shape, **options)[output].to_numpy()


def errors(predicted: Any, measured: Any) -> tuple[float, float]:
    """Return the median and the 90 % quantile of the relative errors, in percent."""
    off = 100 * np.abs(np.asarray(predicted) / np.asarray(measured) - 1)
    return float(np.median(off)), float(np.quantile(off, 0.9))


def operations(rows: pd.DataFrame) -> Any:
    return 2.0 * rows.m * rows.n * rows.k


def roofline(rows: pd.DataFrame, rate: float, bandwidth: float) -> Any:
    moved = 2.0 * (rows.m * rows.n + rows.n * rows.k + rows.m * rows.k)
    return np.maximum(operations(rows) / rate, moved / bandwidth)


def cells(page: str, first: str) -> list[str]:
    """Return the cells of the only row of a page's tables that begins with a text."""
    text = (ASK / f"{page}.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^ *\| {re.escape(first)} \|(.*)\|$", text, re.M)
    return [cell.strip() for cell in row.split("|")]


def assert_printed(printed: str, *computed: float) -> None:
    """Fail unless a text contains the computed numbers, each rounded as it is printed."""
    texts = re.findall(r"-?\d+(?:\.\d+)?", printed.replace(",", ""))
    assert len(texts) == len(computed), (printed, computed)
    for text, value in zip(texts, computed, strict=True):
        digits = len(text.partition(".")[2])
        assert float(text) == pytest.approx(value, abs=0.6 * 10**-digits), (printed, computed)


def sentence(page: str, pattern: str) -> str:
    """Return the group of a pattern in the text of a page, on one line."""
    text = " ".join((ASK / f"{page}.md").read_text(encoding="utf-8").split())
    match = re.search(pattern, text)
    assert match, pattern
    return match[1]


@needs_data
@pytest.mark.parametrize("gpu", MACHINES)
def test_hidden_sizes_have_the_measured_order_where_the_page_says_so(gpu: str) -> None:
    rows = read_products(gpu)
    rows = rows[(rows.m == 4096) & rows.n.between(2048, 8192) & rows.k.between(2048, 8192)]
    assert len(rows) == 39
    predicted = evaluate(rows, machine=MACHINES[gpu])
    share = operations(rows) / rows.time
    order = spearmanr(share, operations(rows) / predicted)[0]
    baseline = spearmanr(share, rows.n * rows.k)[0]
    time, rank, base = cells("which-hidden-size", gpu)
    assert_printed(time.removesuffix(" %"), *errors(predicted, rows.time))
    assert_printed(rank, order)
    assert_printed(base, baseline)


@needs_data
def test_the_gain_of_a_newer_gpu_is_predicted() -> None:
    old, new = read_products("H100"), read_products("B200")
    rows = old.merge(new, on=["m", "n", "k"], suffixes=("_old", "_new"))
    rows = rows[(rows.n >= 2048) & (rows.k >= 2048)]
    gain = rows.time_old / rows.time_new
    predicted = evaluate(rows, machine="h100_sxm") / evaluate(rows, machine="b200")
    printed = roofline(rows, 989.4e12, 3352e9) / roofline(rows, 2250e12, 7.68e12)
    page = "b200-or-h200"
    assert sentence(page, r"with ([\d,]+) bf16 products") == f"{len(rows):,}"
    assert_printed(sentence(page, r"gain a factor of (\S+) from"), float(np.median(gain)))
    assert_printed(
        sentence(page, r"errs by (\S+ % in the median and \S+ %)"), *errors(predicted, gain)
    )
    assert_printed(sentence(page, r"rooflines errs by (\S+ and \S+ %)"), *errors(printed, gain))


def doubling(rows: pd.DataFrame, time: Any) -> float:
    """Return the number of rows at which the time has doubled, between measured numbers."""
    ratio = np.asarray(time) / np.asarray(time)[0]
    if ratio.max() < 2:
        return float("nan")
    past = int(np.argmax(ratio >= 2))
    ends = slice(past - 1, past + 1)
    return float(np.exp(np.interp(np.log(2), np.log(ratio[ends]), np.log(rows.m.iloc[ends]))))


@needs_data
@pytest.mark.parametrize("gpu", MACHINES)
def test_the_batch_that_doubles_the_time_of_a_product(gpu: str) -> None:
    rows = read_products(gpu)
    rows = rows[(rows.n >= 4096) & (rows.k >= 4096) & (rows.m <= 4096) & (rows.n * rows.k <= 3e8)]
    rows = rows.assign(predicted=evaluate(rows, machine=MACHINES[gpu]))
    each = np.array(
        [
            (doubling(part, part.time), doubling(part, part.predicted))
            for _, part in rows.sort_values("m").groupby(["n", "k"])
        ]
    )
    each = each[np.isfinite(each).all(axis=1)]
    peak, bandwidth = (
        dse.evaluate("gemm", machine=MACHINES[gpu], m=1, n=1, k=1, outputs=[name])[name].item()
        for name in ("gemm_peak", "mem_bandwidth")
    )
    count, measured, model, printed = cells("which-batch", gpu)
    assert_printed(count, len(each))
    assert_printed(measured, float(np.median(each[:, 0])))
    assert_printed(model, *errors(each[:, 1], each[:, 0]))
    assert_printed(printed, *errors(2 * peak / bandwidth, each[:, 0]))


@needs_data
def test_which_products_draw_the_power_limit() -> None:
    rows = pd.read_parquet(DATA / "gemm_power_b200_sxm.parquet")
    rows = rows[(rows.gemm_dtype == "bfloat16") & (rows.m <= 3100)]
    rows = rows.assign(predicted=evaluate(rows, "sustained_power", machine="b200"))
    layers = rows[(rows.n >= 1024) & rows.k.between(1024, 16384)]
    page = "which-power-limit"
    for low, high in ((1, 16), (17, 64), (65, 257), (258, 1025), (1026, 3100)):
        part = layers[layers.m.between(low, high)]
        count, measured, model = cells(page, f"{low:,} to {high:,}")
        assert_printed(count, len(part))
        assert_printed(measured, 100 * float((part.power >= 950).mean()))
        assert_printed(model, 100 * float((part.predicted >= 950).mean()))
    hot = (rows.power >= 950).to_numpy()

    def area_under_curve(score: Any) -> float:
        rank, n = rankdata(score)[hot].sum(), hot.sum()
        return float((rank - n * (n + 1) / 2) / (n * (~hot).sum()))

    assert_printed(
        sentence(page, r"area under the curve of (\S+)\. "), area_under_curve(operations(rows))
    )
    assert_printed(sentence(page, r"The model has (\S+)\. "), area_under_curve(rows.predicted))


def read_own() -> pd.DataFrame:
    """Return the bf16 products that the project measured on an H100."""
    rows = pd.read_csv(MEASURED)
    return rows[rows["type"] == "bfloat16"].rename(columns={"time [s]": "time"})


def test_long_products_on_an_h100_draw_about_the_limit() -> None:
    rows = read_own()
    rows = rows[rows["sustained_time [s]"].notna()]
    page, watts = "which-power-limit", rows["power [W]"]
    assert_printed(sentence(page, r"There, (\d+) long products"), len(rows))
    assert_printed(sentence(page, r"drew (\d+ to \d+) W"), watts.min(), watts.max())
    predicted = evaluate(rows, "sustained_power", machine="h100_sxm")
    assert_printed(sentence(page, r"says (\d+ or \d+) W"), predicted.min(), predicted.max())
    assert_printed(sentence(page, r"median error of (\S+) %"), errors(predicted, watts)[0])
    clocks = rows["sustained_clock [Hz]"] / 1e6
    assert_printed(sentence(page, r"between ([\d,]+ and [\d,]+) MHz"), clocks.min(), clocks.max())
    slower = 100 * (rows["sustained_time [s]"] / rows.time - 1).median()
    assert_printed(sentence(page, r"grew by only (\d+) %"), slower)


def test_twelve_measured_products_predict_others(tmp_path: Path) -> None:
    page = "which-measurements"
    text = (ASK / f"{page}.md").read_text(encoding="utf-8")
    table = re.findall(r"^```text rows.csv\n(.*?)^```$", text, re.M | re.S)[0]
    (tmp_path / "rows.csv").write_text(table)
    shapes = [tuple(map(float, line.split(","))) for line in table.splitlines()[1:]]
    rows = read_own()
    known = [
        (m, n, k, round(1e6 * t, 1))
        for m, n, k, t in zip(rows.m, rows.n, rows.k, rows.time, strict=True)
    ]
    assert set(shapes) <= set(known)
    others = rows[[each not in shapes for each in known]]
    assert_printed(sentence(page, r"computed (\d+) other products"), len(others))
    fitted = dse.calibrate(
        tmp_path / "rows.csv", model="gemm", machine="h100_sxm", set={"dtype": "bf16"}
    )
    (fit,) = fitted.fits.values()
    for first, options in (
        ('the fit to twelve rows (`fit="mine.fit.json"`)', {"fit": fit}),
        ('no fit (`fit="none"`)', {"fit": "none"}),
        ("the shipped fit of the H100 (calls of TensorRT-LLM, not of cuBLAS)", {}),
    ):
        predicted = evaluate(others, machine="h100_sxm", **options)
        assert_printed(cells(page, first)[0], *errors(predicted, others.time))
    printed = roofline(others, 989.4e12, 3352e9)
    assert_printed(cells(page, "printed roofline")[0], *errors(printed, others.time))


def test_the_block_size_of_an_own_kernel_is_compared_with_measured_times() -> None:
    rows = pd.read_csv(MEASURED.with_name("kernels-h100.csv"))
    rows = rows[(rows.kernel == "nbody") & (rows.problem == "n=65536")]
    times = rows.set_index("block_x")["time [s]"]
    assert times.idxmin() == 512
    assert len(times) == 6
    measured = r"512 threads are best of six sizes, (256 take \d+ % longer, and 1,024 take \d+) %"
    more = 100 * (times / times.min() - 1)
    page = "which-block-size"
    assert_printed(sentence(page, measured), 256, more[256], 1024, more[1024])
    ds = dse.evaluate(
        "occupancy + latency_roofline + footprint",
        machine="h100_sxm",
        workload=str(ROOT / "examples/kernels/bodies.toml"),
        threads_per_block=[256, 512, 1024],
        outputs=["time"],
    )
    small, best, large = ds.time.values
    slower = sentence(page, r"The model says (\d+ and \d+) %")
    assert_printed(slower, 100 * (small / best - 1), 100 * (large / best - 1))
