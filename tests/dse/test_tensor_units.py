"""Tensor units have a pipe of their own, with a rate for each number type."""

from __future__ import annotations

import math
from typing import Any

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
    ds = evaluate(machine, tensor_type=kind, core_clock=boost)
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
