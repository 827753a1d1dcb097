"""Check arguments of laws of work: probabilities, weights, counts and samples."""

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_integer, check_real
from stochastic.work.distribution import Tabulated, check_span, tabulate

_TOLERANCE = 1e-9  # accepted difference of the sum of weights from 1
_UNITS = "count the work in larger units"
_SHORT = 8  # upper limit on the number of weights that a repr shows


def check_probability(name: str, value: Any, *, zero: bool = False) -> float:
    """Return the value as a float in (0, 1], or in [0, 1] with ``zero``; LawError otherwise."""
    expected = f"a probability {'from 0' if zero else 'above 0 and up'} to 1, such as 0.05"
    return check_real(name, value, lambda x: 0 < x <= 1 or (zero and x == 0), expected)


def check_positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return the value as a finite float > 0, or >= 0 with ``zero``; LawError otherwise."""
    expected = f"a finite number {'from' if zero else 'above'} 0"
    return check_real(name, value, lambda x: x > 0 or (zero and x == 0), expected)


def _dense_mapping(mapping: Mapping[Any, Any], what: str) -> tuple[int, list[Any]]:
    if not mapping:
        raise LawError(f"no {what}: expected at least one value")
    keys = [check_integer("a value", key, least=0, example=3) for key in mapping]
    low = min(keys)
    check_span(low, max(keys), f"the range of the {what}", _UNITS)
    result: list[Any] = [0] * (max(keys) - low + 1)
    for key, item in zip(keys, mapping.values(), strict=True):
        result[key - low] = item
    return low, result


def _dense_weights(values: Any, low: Any, what: str) -> tuple[int, Any]:
    """Return the lowest value, and the weights of it and all larger values."""
    if hasattr(values, "index") and hasattr(values, "items"):  # a pandas Series
        values = dict(values.items())
    if isinstance(values, Mapping):
        if low != 0:
            raise LawError(f"low = {low!r}: a mapping names its values itself; leave low out")
        return _dense_mapping(values, what)
    low = check_integer("low", low, least=0, example=0)
    nested = isinstance(values, np.ndarray) and values.ndim != 1
    if isinstance(values, str | bytes) or not np.iterable(values) or nested:
        raise LawError(
            f"{what} = {values!r}: expected a list of numbers, or a dict that maps values to them"
        )
    items = values if isinstance(values, np.ndarray) else list(values)
    if len(items) == 0:
        raise LawError(f"no {what}: expected at least one value")
    check_span(low, low + len(items) - 1, f"the range of the {what}", _UNITS)
    return low, items


_NORMALISE = "give normalise=True to divide them by their sum"


def normalize_weights(
    items: Any, normalise: bool, what: str = "weights", hint: str = _NORMALISE
) -> Floats:
    """Return weights as floats that sum to 1; LawError if the given weights have another sum.

    Rational weights must sum to exactly 1. With ``normalise``, any sum above 0 is accepted.
    """
    if all(isinstance(item, Rational) and not isinstance(item, bool) for item in items):
        exact = [Fraction(int(item.numerator), int(item.denominator)) for item in items]
        for item in exact:
            if item < 0:
                raise LawError(f"{what} hold {item!s}: expected numbers from 0 on")
        total = sum(exact)
        if total != 1 and (not normalise or total == 0):
            raise _sum_error(what, total, hint)
        return np.array([float(item / total) for item in exact])
    try:
        weights = np.array(items, dtype=np.float64)
        if weights.ndim != 1:
            raise ValueError
    except (TypeError, ValueError):
        raise LawError(f"{what} = {items!r:.60}: expected numbers") from None
    wrong = ~(weights >= 0) | (weights == math.inf)
    if wrong.any():
        item = weights[wrong][0].item()
        raise LawError(f"{what} hold {item!r}: expected finite numbers from 0 on")
    if normalise and weights.max() > 0:
        weights /= weights.max()
    sum_ = math.fsum(weights)
    if sum_ == 0 or (not normalise and abs(sum_ - 1) > _TOLERANCE):
        raise _sum_error(what, sum_, hint)
    return weights if sum_ == 1 else weights / sum_


def _sum_error(what: str, total: Any, hint: str) -> LawError:
    if total == 0:
        return LawError(f"{what} are all 0: expected at least one above 0")
    return LawError(f"{what} sum to {total!s}, not to 1: {hint}")


def law_from_weights(
    values: Any, low: Any, normalise: bool, constructor_text: str = ""
) -> Tabulated:
    """Return the law with the given weights of low, low + 1, ..., or of the keys of a mapping."""
    low, items = _dense_weights(values, low, "weights")
    result = normalize_weights(items, normalise)
    if not constructor_text and len(items) <= _SHORT:
        constructor_text = f"Pmf.from_weights({result.tolist()!r}{f', low={low}' if low else ''})"
    return tabulate(low, result, constructor_text)


def law_from_counts(values: Any, low: Any) -> Tabulated:
    """Return the law whose probabilities are the counts divided by their sum."""
    low, items = _dense_weights(values, low, "counts")
    counts = [check_integer("a count", item, least=0, example=7) for item in items]
    if not any(counts):
        raise LawError("counts are all 0: expected at least one item")
    total = sum(counts)
    return tabulate(low, [count / total for count in counts])


def check_samples(values: Any) -> Ints:
    """Return samples of any shape as a flat array of whole numbers from 0 on, or raise LawError."""
    try:
        result = np.ravel(np.asarray(values))
    except ValueError:
        result = np.array(["ragged"])
    if result.size == 0:
        raise LawError("no samples: expected at least one whole number from 0 on")
    if result.dtype.kind == "O":
        result = np.array(
            [check_integer("a sample", one, least=0, example=12) for one in result.tolist()]
        )
    if result.dtype.kind not in "iuf":
        raise LawError(f"samples of type {result.dtype}: expected whole numbers from 0 on")
    wrong = ~(result >= 0) | (result > 2**53)
    if result.dtype.kind == "f":
        wrong |= result != np.floor(result)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise LawError(
            f"sample {place} is {result[place].item()!r}: expected whole numbers from 0 on"
            + (", such as 12" if result[place] < 0 or result[place] != result[place] else "")
        )
    return result.astype(np.int64)


def law_from_samples(values: Any) -> Tabulated:
    """Return the law in which each value is as probable as its share of the samples."""
    result = check_samples(values)
    low = int(result.min())
    check_span(low, int(result.max()), "the range of the samples", _UNITS)
    return tabulate(low, np.bincount(result - low) / len(result))
