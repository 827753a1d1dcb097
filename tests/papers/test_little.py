"""Little's law: what arrives in a time, multiplied by how long it takes, is on its way."""

from __future__ import annotations

import pytest

import dse


def test_a_memory_is_full_where_what_is_in_flight_reaches_what_it_needs() -> None:
    """A bandwidth is met by as many warps as bandwidth, latency and the bytes of a request say."""
    given = {"mem_latency_dram": 400, "core_clock": "1 GHz", "mem_bandwidth": "102.4 GB/s"}
    given |= {"mem_strength": 2, "bytes_per_thread": 4, "active_sms": 10}
    result = dse.evaluate("little", warps_per_sm=[8, 16, 32], **given)
    assert result.bytes_in_flight_per_sm.values.tolist() == [2048, 4096, 8192]
    assert result.bytes_in_flight.values.tolist() == [20480, 40960, 81920]
    assert result.bytes_in_flight_needed.item() == pytest.approx(102.4e9 * 400e-9)
