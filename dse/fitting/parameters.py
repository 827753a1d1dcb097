"""Set up the parameters of a fit: the bounds, scale and starting range of each free quantity."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbolic.errors import DseError, check_name
from symbolic.expression import parse_value
from symbolic.model import Model
from symbolic.ops import Node
from symbolic.quantities import Quantity

Floats = NDArray[np.float64]
Names = Sequence[str]
Start = Mapping[str, float | str]
Range = tuple[float, float]

#: A positive quantity is searched on a logarithmic scale if its starting range spans this factor.
LOG_RATIO = 10.0
START_FACTOR = 3.0  # factor by which the starting range extends the typical range at each end
LOG_RANGE = 1e12  # factor by which a search on a logarithmic scale may leave the starting range


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeParameter:
    """One free quantity, or its value for one label.

    Its value is between ``low`` and ``high``; ``attainable_bounds`` are the bounds that are inside
    its domain. Starting points are within ``start_range``, evenly spaced in the logarithm if
    ``is_log_start``. The search varies the logarithm if ``is_log``, and otherwise the value in
    units of ``typical_size``.
    """

    name: str
    low: float
    high: float
    attainable_bounds: tuple[float, ...]
    is_log: bool
    is_log_start: bool
    start_range: Range
    typical_size: float
    start: float | None = None
    label: str | None = None

    @property
    def key(self) -> str:
        """The name of the quantity, with its label."""
        return self.name if self.label is None else f"{self.name}[{self.label}]"

    def start_values(self, share: Floats) -> Floats:
        """Map shares to values of the starting range: 0 to its low end, 1 to its high end."""
        low, high = self.start_range
        if self.is_log_start:
            return np.exp(math.log(low) + share * (math.log(high) - math.log(low)))
        return low + share * (high - low)

    @property
    def middle(self) -> float:
        """The start value, or by default the middle of the starting range."""
        if self.start is not None:
            return self.start
        value = float(self.start_values(np.array([0.5]))[0])
        return min(max(value, self.low), self.high)


Parameters = tuple[FreeParameter, ...]


def check_free(
    free: Names, per: Names, model: Model, columns: Mapping[str, Any], targets: Names
) -> tuple[str, ...]:
    """Return the quantities to fit, those of ``per`` last; raise an error if one is unsuitable."""
    for key, names in (("free", free), ("per", per)):
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise DseError(f"{key} = {names!r}: expected a list of quantities")
    listed = [*free, *per]
    if not listed:
        raise DseError("free is empty: name the quantities to be fitted")
    for name in listed:
        row = model.quantity(name)
        if listed.count(name) > 1:
            raise DseError(f"{name} is freed twice: name it once, in free or in per")
        if row.is_label:
            raise DseError(f"{name} has labels and cannot be fitted: fit once for each label")
        if row.domain.whole:
            raise DseError(
                f"{name} is an integer, which least squares cannot fit: fit with each of its "
                "values (set=), and choose the fit with the smallest error"
            )
        if name in targets:
            raise DseError(f"{name} is measured (to=) and free: keep one of them")
        if name in columns:
            raise DseError(
                f"{name} is free and a column of the data: leave the column out with columns=, or "
                "do not free it"
            )
    return tuple(listed)


def parse_number(value_or_text: Any, row: Quantity, model: Model, role: str) -> float:
    """Parse a number in ``start`` or ``bounds``, which may be text with a unit."""
    value = value_or_text
    if isinstance(value, str):
        value = parse_value(value, row, model.quantities)
    if isinstance(value, Node):
        raise DseError(f"{role} of {row.name} is a formula, {value_or_text!r}: expected a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DseError(f"{role} of {row.name} is {value_or_text!r}: expected a number") from None
    if math.isnan(number):
        raise DseError(f"{role} of {row.name} is not a number: give one, or leave it out")
    return number


def free_parameters(
    free: Names,
    model: Model,
    *,
    per: Names,
    labels: Names,
    known_values: Mapping[str, float],
    start: Start | None,
    bounds: Mapping[str, Sequence[Any]] | None,
) -> Parameters:
    """Return the parameters of a fit; a quantity of ``per`` has one parameter for each label."""
    for key, values in (("start", start), ("bounds", bounds)):
        for name in values or {}:
            check_name(name, free, f"{key} names {name}, which is not free", "free are")
    result = []
    for name in free:
        row = model.quantity(name)
        limits = _read_bounds(row, model, (bounds or {}).get(name))
        first = None
        if start is not None and name in start:
            first = parse_number(start[name], row, model, "the start")
            if not limits[0] <= first <= limits[1] or not row.domain.contains(first):
                low, high = limits
                raise DseError(f"the start of {name}, {first:g}, is outside {low:g} to {high:g}")
        elif name in known_values and limits[0] <= known_values[name] <= limits[1]:
            first = known_values[name]
        parameter = _make_parameter(row, limits, first, has_bounds=name in (bounds or {}))
        if name in per:
            result += [replace(parameter, label=label) for label in labels]
        else:
            result.append(parameter)
    return tuple(result)


def _read_bounds(row: Quantity, model: Model, bounds: Sequence[Any] | None) -> Range:
    domain = row.domain
    if bounds is None:
        return domain.low, domain.high
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise DseError(f"the bounds of {row.name} are {bounds!r}: expected (low, high)")
    ends = (domain.low, domain.high)
    low, high = (
        end if value is None else parse_number(value, row, model, "a bound")
        for value, end in zip(bounds, ends, strict=True)
    )
    if not domain.low <= low < high <= domain.high:
        raise DseError(
            f"the bounds of {row.name} are {low:g} and {high:g}: expected two ascending numbers "
            f"within its domain {domain}"
        )
    return low, high


def _make_parameter(
    row: Quantity, limits: Range, start: float | None, *, has_bounds: bool
) -> FreeParameter:
    low, high = limits
    positive = low > 0 or (low == 0 and row.domain.low_open)
    first, last = (low, high) if has_bounds else (-math.inf, math.inf)
    if not (math.isfinite(first) and math.isfinite(last)):
        first, last = _find_start_range(row, low, high, start)
    is_log_start = first >= 0 and (first == 0 or last / first >= LOG_RATIO)
    if is_log_start and first == 0:
        first = last * 1e-6
    is_log = positive and is_log_start
    ends = (each for each in (low, high) if math.isfinite(each) and row.domain.contains(each))
    return FreeParameter(
        name=row.name,
        low=max(low, first / LOG_RANGE) if is_log else low,
        high=min(high, last * LOG_RANGE) if is_log else high,
        attainable_bounds=tuple(ends),
        is_log=is_log,
        is_log_start=is_log_start,
        start_range=(first, last),
        typical_size=max(abs(first), abs(last)) or 1.0,
        start=start,
    )


def _find_start_range(row: Quantity, low: float, high: float, start: float | None) -> Range:
    """Return a range between ``low`` and ``high``, around the typical range or the start value."""
    if row.typical is not None:
        first, last = row.typical
    elif start:
        first, last = sorted((start / LOG_RATIO, start * LOG_RATIO))
    else:
        first, last = 1e-3, 1e3
    if first > 0:
        first, last = first / START_FACTOR, last * START_FACTOR
    if low < 0 and row.typical is not None:
        first = min(first, -last)
    first, last = max(first, low), min(last, high)
    if first < last:
        return first, last
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    if math.isfinite(low):
        return low, low + max(abs(low), 1.0)
    return high - max(abs(high), 1.0), high
