"""Equations that models of attention and of experts share."""

from __future__ import annotations

from symbolic.equation import Equation, equation
from symbolic.models._labels import by_label
from symbolic.models.gemm import gemm_rate, time_high, time_low
from symbolic.ops import minimum, where

DATA = "fitted to ai-dynamo/aiconfigurator, commit 095f58a: times of TensorRT-LLM"


KV_ELEMENT_BYTES = by_label(
    "kv_element_bytes", "by definition", "kv_dtype", {"bf16": 2.0, "fp8": 1.0}
)


@equation(source="by definition; a window of 0 is none")
def prefill_keys(seq_len, window):
    """Number of keys that the last query sees. [keys]"""
    return where(window > 0, minimum(window, seq_len), seq_len)


decode_keys = prefill_keys.copy_as("decode_keys", "context", "window")


def rate_and_interval(model: str) -> tuple[Equation, ...]:
    """Return the equations of a model's attained rate, and of the interval of its time."""
    scale = ("core_clock", "boost_clock", "n_sms", "rated_sms")
    return (
        gemm_rate.copy_as(f"{model}_rate", f"{model}_peak", f"{model}_share", *scale),
        time_low.copy_as("time_low", "time", f"{model}_error_low", f"{model}_floor"),
        time_high.copy_as("time_high", "time", f"{model}_error_high"),
    )
