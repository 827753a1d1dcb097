"""What a run of several models cannot be asked."""

from __future__ import annotations

from typing import Any

from symbolic.errors import DseError

__all__ = ["only_without_store"]


def only_without_store(**asked: Any) -> None:
    """Refuse, of models compared, what a run into a store is asked."""
    if wrong := [name for name, value in asked.items() if value]:
        raise DseError(
            f"{', '.join(wrong)}: the run of several models is kept in memory; dse.export writes "
            "its Dataset, or run each model into a store of its own"
        )
