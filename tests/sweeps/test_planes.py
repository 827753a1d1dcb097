"""Number of boxes of a proof: questions in which one factor stands on both sides.

The counts depend neither on the machine nor on the number of threads. Each is a tenth or less of
what it takes where curves are touched at the middle of their range, where a minimum with infinity
hides what lies below it, or where an order told as an equality is not halved.
"""

from __future__ import annotations

from typing import Any

import pytest

import dse
from tests.benchmarks.test_certify import HARDWARE, THROUGHPUT


@pytest.mark.parametrize(
    ("study", "question"),
    [
        (THROUGHPUT, {"maximize": "flops / core_clock"}),
        (HARDWARE, {"minimize": "time * active_sms"}),
    ],
    ids=["throughput by clock", "time by SMs"],
)
def test_a_proof_over_1e12_points_takes_few_boxes(
    study: dict[str, Any], question: dict[str, Any]
) -> None:
    best = dse.Study(**study).optimum(**question, method="certified", time_limit=60)
    assert best.attrs["gap"] == 0
    assert best.attrs["boxes"] <= 60_000
