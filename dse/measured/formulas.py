"""Formulas over the columns of a file: sums of products, over one divisor."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.delimited import header
from dse.measured.content import printed_numbers
from dse.measured.records import Records
from stochastic.delimited import Cell, is_missing
from symbolic.errors import DseError

__all__ = ["Formulas", "columns_of"]

#: Beyond this a whole number is none that a float holds.
_MOST = 1e300
#: Floats hold every whole number up to this; larger ones are computed as Python's up to the next.
_EXACT, _LARGEST = 2**53, 2**100


def columns_of(formula: str) -> list[str]:
    """The columns that a formula names.

    >>> columns_of("32 * read + 32 * written / @warps [B]")
    ['read', 'written', '@warps']
    """
    text, _ = header(formula)
    above, _, below = text.partition(" / ")
    parts = [part for term in above.split(" + ") for part in term.split(" * ")]
    return [
        part for part in (*parts, below) if part and not re.fullmatch(r"-?[\d.]+(e-?\d+)?", part)
    ]


def _constant(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


class Formulas:
    """Columns as numbers, and what formulas made of them."""

    def __init__(self, records: Records, rows: int) -> None:
        self.records, self.rows = records, rows
        self.values: dict[str, NDArray[Any]] = {}
        self.sources: dict[str, str] = {}

    def solve(self, name: str, formulas: Sequence[str], title: str) -> str | None:
        """The unit of the first formula that can be computed; None if none can."""
        for formula in formulas:
            text, unit = header(formula)
            needed = columns_of(formula)
            parts = {part: self._number(part) for part in needed}
            if any(values is None for values in parts.values()):
                continue
            self.values[name] = self._value(text, parts)
            self.sources[name] = f"{title}: {formula.replace('@', '')}"
            first = self.records.units.get(self._column(needed[0]), "") if len(needed) == 1 else ""
            return first if unit is None else unit
        return None

    def _value(self, text: str, parts: Mapping[str, Any]) -> NDArray[Any]:
        """Return the values of a formula; whole numbers are added before they become floats."""
        above, _, below = text.partition(" / ")
        summed: Any = 0
        for term in above.split(" + "):
            factors = [parts[p] if p in parts else _constant(p) for p in term.split(" * ")]
            summed = summed + functools.reduce(operator.mul, factors)
        total: NDArray[Any] = np.array(np.broadcast_to(np.asarray(summed), (self.rows,)))
        if not below and any(abs(one) > _EXACT for one in total[total == total]):
            return total
        total = total.astype(np.float64)
        if not below:
            return total
        with np.errstate(divide="ignore", invalid="ignore"):
            divisor = np.asarray(parts[below] if below in parts else float(below))
            share = total / divisor.astype(np.float64)
        return np.where(np.isfinite(share), share, np.nan)

    def _column(self, name: str) -> str:
        return self.records.aliases.get(name, name)

    def _number(self, name: str) -> NDArray[Any] | None:
        """A column as numbers, or what was made before; NaN where there is none.

        One with whole numbers beyond 2**53, such as timestamps, is an array of Python's.
        """
        if name in self.values:
            return self.values[name]
        if name in ("@warps", "@threads"):
            return self._launched(name)
        name = self._column(name)
        if name not in self.records.columns:
            return None
        listed = self.records.columns[name]
        cells = [Cell(k + 2, v) for k, v in enumerate(listed) if isinstance(v, str)]
        read = printed_numbers(cells, f"the column {name!r}")
        numbers: list[float] = []
        for row, value in enumerate(listed):
            number: float | None = None
            if isinstance(value, str):
                number = read(Cell(row + 2, value))
            elif isinstance(value, (int, float)):
                number = value if abs(value) < _MOST else None
            if number is None and not is_missing(str(value)):
                raise DseError(
                    f"the column {name!r} holds {value!r} at row {row + 1}, expected a number"
                )
            known = number is not None and math.isfinite(number)
            numbers.append(number if number is not None and known else np.nan)
        whole = [abs(one) for one in numbers if isinstance(one, int)]
        large = _EXACT < max(whole, default=0) < _LARGEST
        return np.array(numbers, dtype=object if large else np.float64)

    def _launched(self, name: str) -> NDArray[Any] | None:
        blocks, threads = (self.values.get(n) for n in ("blocks", "threads_per_block"))
        if blocks is None or threads is None:
            return None
        size = self.values.get("warp_size", np.full(self.rows, 32.0))
        launched: NDArray[Any] = blocks * (np.ceil(threads / size) if name == "@warps" else threads)
        return launched
