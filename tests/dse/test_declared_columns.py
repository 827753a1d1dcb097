"""Columns of quantities that a workload declares, such as the argument ``n`` of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse

MODEL = "occupancy + latency_roofline + footprint"
VALUES = {
    "launch_bytes": '"12 * n"',
    "block_bytes": '"12 * threads_per_block"',
    "warp_bytes": 384,
    "comp_insts": 10,
    "coalesced_insts": 3,
    "uncoalesced_insts": 0,
    "fp_insts": 2,
    "int_insts": 2,
    "threads_per_block": 256,
    "elements": '"n"',
    "blocks": '"ceil(elements / threads_per_block)"',
    "registers_per_thread": 20,
    "shared_mem_per_block": 0,
    "mem_strength": 2,
    "load_requests": 2,
    "n": 1048576,
}


@pytest.fixture
def workload(tmp_path: Path) -> str:
    lines = [f'{name} = {{ value = {value}, source = "test" }}' for name, value in VALUES.items()]
    head = ['title = "add"', "[quantities]", 'n = { meaning = "elements" }', "[values]"]
    path = tmp_path / "add.toml"
    path.write_text("\n".join([*head, *lines]) + "\n")
    return str(path)


def test_validate_and_fit_read_a_declared_column(workload: str) -> None:
    sizes = [2**20, 2**21, 2**22, 2**23]
    times = [
        float(dse.evaluate(MODEL, machine="h100_pcie", workload=workload, n=n).time) for n in sizes
    ]
    rows = {"n": sizes, "time [s]": times}
    about = {"machine": "h100_pcie", "workload": workload, "to": "time"}
    assert dse.validate(MODEL, rows, **about).score.p90 == pytest.approx(0, abs=1e-12)
    result = dse.fit(MODEL, rows, free=["bandwidth_share"], **about)
    share = float(dse.machine("h100_pcie").values["bandwidth_share"].value)
    assert result["bandwidth_share"] == pytest.approx(share, rel=1e-3)
