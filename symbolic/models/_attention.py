"""Equations that models of attention and of experts share.

Sequences of a batch have the same length, or their lengths follow the law ``lengths``. Then the
mean work is that of all sequences, and the longest sequence is the mean of the longest of a batch.
"""

from __future__ import annotations

from typing import Any

from symbolic.equation import Equation, equation
from symbolic.models._labels import by_label
from symbolic.models.gemm import gemm_rate, time_high, time_low
from symbolic.models.imbalance import require_law
from symbolic.ops import minimum, where

DATA = "fitted to ai-dynamo/aiconfigurator, commit 095f58a: times of TensorRT-LLM"


KV_ELEMENT_BYTES = by_label(
    "kv_element_bytes", "by definition", "kv_dtype", {"bf16": 2.0, "fp8": 1.0}
)


EQUAL, BY_LAW = {"batch_lengths": "equal"}, {"batch_lengths": "lengths"}
LENGTHS_SOURCE = "mean over the law of lengths"


def _same(length):
    """Length of each sequence. [tokens]"""
    return length


def _mean_length(lengths):
    """Mean length of a sequence. [tokens]"""
    return require_law(lengths, "lengths").mean_of(lambda length: length)


def _longest(lengths, batch):
    """Mean length of the longest sequence of a batch. [tokens]"""
    return require_law(lengths, "lengths").mean_max(batch, 0.0)


def length_equations(length: str, longest: str) -> tuple[Equation, ...]:
    """Return the equations of the mean length of sequences, and of the longest of a batch."""
    return (
        equation(_mean_length, name=length, source=LENGTHS_SOURCE, when=BY_LAW, table=True),
        equation(_same, name=longest, source="equal lengths", when=EQUAL, inputs=[length]),
        equation(_longest, name=longest, source=LENGTHS_SOURCE, when=BY_LAW, table=True),
    )


def visible_keys(length, window):
    """Number of keys that the last query of the longest sequence sees. [keys]"""
    return where(window > 0, minimum(window, length), length)


def keys_equation(name: str, length: str, **options: Any) -> Any:
    """Return the equation of the keys that the last query of a sequence sees."""
    source = "by definition; a window of 0 is none"
    return equation(visible_keys, name=name, source=source, inputs=[length, "window"], **options)


def rate_and_interval(model: str) -> tuple[Equation, ...]:
    """Return the equations of a model's attained rate, and of the interval of its time."""
    scale = ("core_clock", "boost_clock", "n_sms", "rated_sms")
    return (
        gemm_rate.copy_as(f"{model}_rate", f"{model}_peak", f"{model}_share", *scale),
        time_low.copy_as("time_low", "time", f"{model}_error_low", f"{model}_floor"),
        time_high.copy_as("time_high", "time", f"{model}_error_high"),
    )
