"""Tensor units have a pipe of their own, with a rate for each number type."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.catalog.entries import entry_number

MODEL = "occupancy + latency_roofline"
#: A kernel of products alone, that fills every machine.
PRODUCTS: dict[str, Any] = {
    "threads_per_block": 128,
    "blocks": 1 << 20,
    "registers_per_thread": 32,
    "shared_mem_per_block": 0,
    "comp_insts": 1,
    "coalesced_insts": 0,
    "uncoalesced_insts": 0,
    "mem_insts": 0,
    "total_insts": 1,
    "fp_insts": 0,
    "dram_bytes": 0,
    "warp_tensor_flops": 2**20,
}


def evaluate(machine: str, **more: Any) -> Any:
    return dse.evaluate(MODEL, machine=machine, **{**PRODUCTS, **more})


@pytest.mark.parametrize(
    ("machine", "kind", "tera"),
    [
        ("v100_sxm2", "fp16", 125),
        ("a100_40", "fp16", 312),
        ("a100_40", "fp16_fp16", 312),
        ("a100_40", "bf16", 312),
        ("a100_40", "tf32", 156),
        ("a100_40", "fp64", 19.5),
        ("a100_40", "int8", 624),
        ("a100_40", "int4", 1248),
        ("a100_40", "binary", 4992),
        ("h100_pcie", "fp8", 1513),
        ("rtx2080ti", "fp16", 53.8),
        ("rtx2080ti", "fp16_fp16", 107.6),
        ("rtx3090", "fp16_fp16", 142),
        ("rtx4090", "fp8_fp16", 660.6),
        ("t4", "int8", 130),
        ("mi300x", "fp64", 163.4),
        ("mi100", "bf16", 92.3),
    ],
)
def test_products_take_the_printed_rate(machine: str, kind: str, tera: float) -> None:
    boost = entry_number(dse.machine(machine), "boost_clock")
    ds = evaluate(machine, tensor_type=kind, core_clock=boost, dispatch_cycles=0)
    assert float(ds.tensor_flops) / float(ds.tensor_time) == pytest.approx(tera * 1e12)
    assert float(ds.throughput_time) == float(ds.tensor_time)
    meanings = ds.bound_by.attrs["flag_meanings"].split()
    numbers = list(ds.bound_by.attrs["flag_values"])
    assert meanings[numbers.index(int(ds.bound_by))] == "tensor"


def test_a_slower_clock_and_fewer_multiprocessors_take_longer() -> None:
    clock = 1.41e9
    whole = float(evaluate("a100_40", core_clock=clock).tensor_time)
    assert float(evaluate("a100_40", core_clock=clock / 2).tensor_time) == pytest.approx(2 * whole)
    some = float(evaluate("a100_40", core_clock=clock, active_sms=54).tensor_time)
    assert some == pytest.approx(2 * whole)


@pytest.mark.parametrize(("machine", "kind"), [("t4", "bf16"), ("gtx580", "fp16"), ("l4", "fp64")])
def test_a_type_without_units_never_ends(machine: str, kind: str) -> None:
    given = {"l1_bytes_per_cycle": 64, "l2_bandwidth": 1e12, "dependent_latency": 18}
    assert math.isinf(float(evaluate(machine, tensor_type=kind, **given).tensor_time))


def test_a_kernel_without_products_needs_no_units() -> None:
    given = {"l1_bytes_per_cycle": 64, "l2_bandwidth": 1e12, "dependent_latency": 18}
    ds = evaluate("gtx580", warp_tensor_flops=0, fp_insts=100, **given)
    assert float(ds.tensor_time) == 0
    assert math.isfinite(float(ds.time))


# --- suites of kernels with tensor instructions of different number types, and without any


def write_workload(folder: Path, name: str, **values: Any) -> str:
    rows = {**PRODUCTS, **values}
    texts = [
        f'{n} = {{ value = {v!r}, source = "a test" }}' for n, v in rows.items() if v is not None
    ]
    path = folder / f"{name}.toml"
    path.write_text(f'title = "{name}"\n[values]\n' + "\n".join(texts) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("method", ["scan", "certified"])
def test_a_suite_gives_the_times_of_its_kernels_alone(tmp_path: Path, method: str) -> None:
    """Each kernel has the number type of its file; a file without one does not matter."""
    files = [
        write_workload(tmp_path, "half", tensor_type="fp16"),
        write_workload(tmp_path, "none", warp_tensor_flops=None, comp_insts=1000, total_insts=1000),
        write_workload(tmp_path, "whole", tensor_type="int8"),
        write_workload(tmp_path, "unnamed"),
        write_workload(tmp_path, "sums", tensor_type="fp16_fp16"),
    ]
    given: dict[str, Any] = {"model": MODEL, "outputs": ["time", "tensor_time"]}
    machines = ["a100_40", "t4", "rtx3090"]
    suite = dse.Study(axes={"machine": machines, "workload": files}, **given)
    ds = suite.run()
    for machine, file in itertools.product(machines, files):
        alone = dse.Study(machine=machine, workload=file, **given).run()
        here = ds.sel(machine=machine, workload=file)
        assert float(here.time) == float(alone.time)
        assert float(here.tensor_time) == float(alone.tensor_time)
    assert len({*ds.tensor_time.sel(machine="rtx3090").values.tolist()}) == 4
    best = suite.optimum(minimize="time", per="workload", method=method)
    assert best.time.values.tolist() == ds.time.min("machine").values.tolist()
    counted = suite.count(where="tensor_type == 'int8'").feasible_points.item()
    assert counted == len(machines)


def test_one_number_type_of_a_suite_is_that_of_all(tmp_path: Path) -> None:
    files = [write_workload(tmp_path, "a", tensor_type="fp16"), write_workload(tmp_path, "b")]
    suite = dse.Study(model=MODEL, machine="t4", axes={"workload": files}, outputs=["time"])
    assert suite._parts.switches["tensor_type"] == "fp16"
    assert np.ptp(suite.run().time.values) == 0


def test_a_number_type_that_a_machine_lacks_takes_forever_on_this_machine(tmp_path: Path) -> None:
    files = [write_workload(tmp_path, t, tensor_type=t) for t in ("fp16", "fp8")]
    axes = {"machine": ["h100_sxm", "a100_40"], "workload": files}
    times = dse.Study(model=MODEL, axes=axes, outputs=["time"]).run().time.values
    assert np.isfinite(times).tolist() == [[True, True], [True, False]]


def test_labels_of_tables_differ_along_a_suite(tmp_path: Path) -> None:
    """Such a label is no switch: table equations read it."""
    model = tmp_path / "label.py"
    model.write_text(
        "import dse\n"
        'OUTPUTS = ("letters",)\n'
        'kind = dse.quantity("kind", labels=(), meaning="any text")\n'
        '@dse.equation(source="a test", table=True)\n'
        "def letters(kind):\n    return len(kind)\n",
        encoding="utf-8",
    )
    files = []
    for name in ("one", "three"):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'title = "{name}"\n[values]\nkind = {{ value = "{name}", source = "a test" }}\n',
            encoding="utf-8",
        )
        files.append(str(path))
    ds = dse.Study(model=str(model), axes={"workload": files}, outputs=["letters"]).run()
    assert ds.letters.values.tolist() == [3, 5]
