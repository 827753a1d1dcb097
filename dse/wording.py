"""Values with their units, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from symbolic.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.grid.failing import Failure

_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}
_SCALED = ("Hz", "s", "J", "W", "B/s")


def value_text(value: Any, unit: str = "") -> str:
    """A value for people, with a prefix where its unit takes one.

    >>> value_text(1.35e9, "Hz"), value_text(0.016660123, "s"), value_text(float("nan"))
    ('1.35 GHz', '16.66 ms', '-')
    """
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":
        return "yes" if value else "no"
    if isinstance(value, str):
        return one_line(value)
    unit = "" if unit == "1" else one_line(unit)
    number = float(value)
    if math.isnan(number):
        return "-"
    if unit in _SCALED and math.isfinite(number) and number:
        power = min(max(3 * math.floor(math.log10(abs(number)) / 3), -12), 12)
        return f"{number / 10.0**power:.4g} {_PREFIXES[power]}{unit}"
    text = str(value) if isinstance(value, Integral) else f"{number:.6g}"
    return f"{text} {unit}{'s' if unit == 'cycle' and number != 1 else ''}".rstrip()


def failures_text(failures: Sequence[Failure], most: int = 5) -> list[str]:
    """What could not be computed, in a few lines, and how to go on; nothing where all was."""
    if not failures:
        return []
    points = sum(failure.points for failure in failures)
    lines = [f"failed: {points:,} points; the same command tries them again"]
    lines += [f"  {failure}" for failure in failures[:most]]
    return lines + ([f"  and {len(failures) - most:,} more"] if len(failures) > most else [])


def warn_of(failures: Sequence[Failure]) -> None:
    """Warn of what could not be computed, where the question was called."""
    import warnings

    warnings.warn("; ".join(failures_text(failures)), stacklevel=3)
