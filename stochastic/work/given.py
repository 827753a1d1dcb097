"""What users give a law by: probabilities, weights, counts, samples; each checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from stochastic.arrays import Floats, Ints
from stochastic.checks import real, whole
from stochastic.errors import LawError
from stochastic.work.distribution import Tabulated, spanned, tabulated

_TOLERANCE = 1e-9
_UNITS = "count the work in larger units"
_SHORT = 8  # weights that a repr shows


def probability(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a number from 0 (excluded unless ``zero``) to 1."""
    expected = f"a probability {'from 0' if zero else 'above 0 and up'} to 1, such as 0.05"
    return real(name, value, lambda x: 0 < x <= 1 or (zero and x == 0), expected)


def positive(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a finite number above 0, or from 0 on."""
    expected = f"a finite number {'from' if zero else 'above'} 0"
    return real(name, value, lambda x: x > 0 or (zero and x == 0), expected)


def _values(mapping: Mapping[Any, Any], what: str) -> tuple[int, list[Any]]:
    """A mapping of values as the lowest one and a dense list."""
    if not mapping:
        raise LawError(f"no {what}: expected at least one value")
    keys = [whole("a value", key, least=0, example=3) for key in mapping]
    low = min(keys)
    spanned(low, max(keys), f"the range of the {what}", _UNITS)
    found: list[Any] = [0] * (max(keys) - low + 1)
    for key, item in zip(keys, mapping.values(), strict=True):
        found[key - low] = item
    return low, found


def _dense(given: Any, low: Any, what: str) -> tuple[int, Any]:
    """A sequence from ``low`` on, or a mapping from values, as the lowest one and what follows."""
    if hasattr(given, "index") and hasattr(given, "items"):  # a pandas Series: by its labels
        given = dict(given.items())
    if isinstance(given, Mapping):
        if low != 0:
            raise LawError(f"low = {low!r}: a mapping names its values itself; leave low out")
        return _values(given, what)
    low = whole("low", low, least=0, example=0)
    nested = isinstance(given, np.ndarray) and given.ndim != 1
    if isinstance(given, str | bytes) or not np.iterable(given) or nested:
        raise LawError(
            f"{what} = {given!r}: expected a list of numbers, or a dict that maps values to them"
        )
    items = given if isinstance(given, np.ndarray) else list(given)
    if len(items) == 0:
        raise LawError(f"no {what}: expected at least one value")
    spanned(low, low + len(items) - 1, f"the range of the {what}", _UNITS)
    return low, items


def shares(items: Any, normalise: bool, what: str = "weights") -> Floats:
    """Return weights that sum to one; those that are all rational must do so exactly."""
    if all(isinstance(item, Rational) and not isinstance(item, bool) for item in items):
        exact = [Fraction(int(item.numerator), int(item.denominator)) for item in items]
        for item in exact:
            if item < 0:
                raise LawError(f"{what} hold {item!s}: expected numbers from 0 on")
        total = sum(exact)
        if total != 1 and (not normalise or total == 0):
            raise _sum_error(what, total)
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
        raise _sum_error(what, sum_)
    return weights if sum_ == 1 else weights / sum_


def _sum_error(what: str, total: Any) -> LawError:
    if total == 0:
        return LawError(f"{what} are all 0: expected at least one above 0")
    return LawError(
        f"{what} sum to {total!s}, not to 1: give normalise=True to divide them by their sum"
    )


def weighed(given: Any, low: Any, normalise: bool, made: str = "") -> Tabulated:
    """Return the law of weights."""
    low, items = _dense(given, low, "weights")
    found = shares(items, normalise)
    if not made and len(items) <= _SHORT:
        made = f"Pmf.from_weights({found.tolist()!r}{f', low={low}' if low else ''})"
    return tabulated(low, found, made)


def counted(given: Any, low: Any) -> Tabulated:
    """The law of counts."""
    low, items = _dense(given, low, "counts")
    counts = [whole("a count", item, least=0, example=7) for item in items]
    if not any(counts):
        raise LawError("counts are all 0: expected at least one item")
    total = sum(counts)
    return tabulated(low, [count / total for count in counts])


def samples(given: Any) -> Ints:
    """An array of whole numbers from 0 on, of any shape, as one of one dimension."""
    try:
        found = np.ravel(np.asarray(given))
    except ValueError:
        found = np.array(["ragged"])
    if found.size == 0:
        raise LawError("no samples: expected at least one whole number from 0 on")
    if found.dtype.kind == "O":
        found = np.array([whole("a sample", one, least=0, example=12) for one in found.tolist()])
    if found.dtype.kind not in "iuf":
        raise LawError(f"samples of type {found.dtype}: expected whole numbers from 0 on")
    wrong = ~(found >= 0) | (found > 2**53)
    if found.dtype.kind == "f":
        wrong |= found != np.floor(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise LawError(
            f"sample {place} is {found[place].item()!r}: expected whole numbers from 0 on"
            + (", such as 12" if found[place] < 0 or found[place] != found[place] else "")
        )
    return found.astype(np.int64)


def drawn(given: Any) -> Tabulated:
    """The law of samples: each value as often as it occurs."""
    found = samples(given)
    low = int(found.min())
    spanned(low, int(found.max()), "the range of the samples", _UNITS)
    return tabulated(low, np.bincount(found - low) / len(found))
