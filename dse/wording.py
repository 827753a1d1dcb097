"""What could not be computed, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sweeps.grid.failing import Failure


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
