"""Tests that take long: more cases of what quick ones beside them try, and whole pages of the docs.

    python -m pytest -m long -n 2 --dist worksteal

CI runs them after the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["long", "mostly_long"]

long = pytest.mark.long


def mostly_long(cases: Iterable[Any], quick: Callable[[int, Any], bool]) -> list[Any]:
    """Cases of which all are long but those of which ``quick``, given number and case, is true."""
    every = list(cases)
    assert any(quick(k, case) for k, case in enumerate(every))
    return [
        case
        if quick(k, case)
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=long)
        for k, case in enumerate(every)
    ]
