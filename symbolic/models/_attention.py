"""Equations that models of attention and of experts share.

Sequences of a batch have the same length, or their lengths follow the law ``lengths``. Then the
mean work is that of all sequences, and the longest sequence is the mean of the longest of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbolic.equation import Equation, equation
from symbolic.models._labels import by_label
from symbolic.models.gemm import gemm_rate, time_high, time_low
from symbolic.models.imbalance import require_law
from symbolic.ops import constant, minimum, reference, where

DATA = "fitted to ai-dynamo/aiconfigurator, commit 095f58a: times of TensorRT-LLM"


KV_ELEMENT_BYTES = by_label(
    "kv_element_bytes", "by definition", "kv_dtype", {"bf16": 2.0, "fp8": 1.0}
)


EQUAL, BY_LAW = {"batch_lengths": "equal"}, {"batch_lengths": "lengths"}
LENGTHS_SOURCE = "mean over the law of lengths"


def _same(length):
    """Length of each sequence. [tokens]"""
    return length


def _longest(lengths, batch):
    """Mean length of the longest sequence of a batch. [tokens]"""
    return require_law(lengths, "lengths").mean_max(batch, 0.0)


def mean_over_lengths(name: str, function: Callable[..., Any], *inputs: str) -> Equation:
    """Return the equation of the mean of a function, whose first argument is a random length."""

    def mean(lengths, *others):
        """Mean over the law of lengths."""
        return require_law(lengths, "lengths").mean_of(lambda length: function(length, *others))

    result = equation(
        mean, name=name, source=LENGTHS_SOURCE, when=BY_LAW, table=True, inputs=("lengths", *inputs)
    )
    formula = repr(constant(function(*map(reference, result.inputs))))
    return result.copy_as(name, *result.inputs, formula=formula)


def length_equations(length: str, longest: str) -> tuple[Equation, ...]:
    """Return the equations of the mean length of sequences, and of the longest of a batch."""
    return (
        mean_over_lengths(length, _same),
        equation(_same, name=longest, source="equal lengths", when=EQUAL, inputs=[length]),
        equation(_longest, name=longest, source=LENGTHS_SOURCE, when=BY_LAW, table=True),
    )


@equation(source="by definition; a window of 0 is none")
def prefill_keys(longest_prompt, window):
    """Number of keys that the last query of the longest sequence sees. [keys]"""
    return where(window > 0, minimum(window, longest_prompt), longest_prompt)


decode_keys = prefill_keys.copy_as("decode_keys", "context", "window", when=EQUAL)
decode_longest_keys = prefill_keys.copy_as("decode_longest_keys", "longest_context", "window")


def rate_and_interval(model: str) -> tuple[Equation, ...]:
    """Return the equations of a model's attained rate, and of the interval of its time."""
    scale = ("core_clock", "boost_clock", "n_sms", "rated_sms")
    return (
        gemm_rate.copy_as(f"{model}_rate", f"{model}_peak", f"{model}_share", *scale),
        time_low.copy_as("time_low", "time", f"{model}_error_low", f"{model}_floor"),
        time_high.copy_as("time_high", "time", f"{model}_error_high"),
    )
