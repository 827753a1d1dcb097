"""The domain of a quantity: between which ends, whole or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from symbolic.errors import DomainError

__all__ = ["Domain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values a quantity may take: an interval of the reals or of the whole numbers."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True
    whole: bool = False

    @classmethod
    @cache
    def parse(cls, text: str) -> Domain:
        """Read ``"[0, inf)"``, ``"(0, 1]"``, ``"whole [1, inf)"``.

        >>> Domain.parse("whole [1, inf)").contains(3)
        True
        """
        body = text.removeprefix("whole").strip()
        try:
            low, high = (float(part) for part in body[1:-1].split(","))
            if body[0] not in "[(" or body[-1] not in "])" or not low <= high:
                raise ValueError(text)
        except (ValueError, IndexError):
            raise DomainError(
                f"{text!r} is no domain: expected an interval such as '[0, inf)', '(0, 1]' "
                "or 'whole [1, inf)'"
            ) from None
        return cls(
            low=low,
            high=high,
            low_open=body[0] == "(",
            high_open=body[-1] == ")",
            whole=text.startswith("whole"),
        )

    def holds(self, values: Any) -> Any:
        """Elementwise: whether each value lies inside (NaN never does)."""
        array = np.asarray(values, dtype=float)
        above = array > self.low if self.low_open else array >= self.low
        below = array < self.high if self.high_open else array <= self.high
        inside = above & below
        if self.whole:
            inside &= (np.floor(array) == array) | np.isinf(array)
        return inside

    def contains(self, value: float) -> bool:
        """Whether one value lies inside."""
        return bool(self.holds(value))

    def __str__(self) -> str:
        left, right = "[("[self.low_open], "])"[self.high_open]
        return f"{'whole ' if self.whole else ''}{left}{self.low:g}, {self.high:g}{right}"
