"""Long tests: more cases and draws of quick tests, and whole pages of the docs.

    python -m pytest -m "long or hypothesis" --hypothesis-profile=many -n 2 --dist worksteal

CI runs them after the others: ``hypothesis`` marks what is drawn, ``many`` draws as many as a test
says, and the quick run a fifth of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

long = pytest.mark.long

#: How many cases a test draws that does not say: with the profile ``many``, and in the quick run.
MANY, QUICK = 100, 20


def draws(many: int) -> int:
    """Return the number of cases that a test draws, ``many`` with the profile ``many``."""
    return max(1, round(many * settings().max_examples / MANY))


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
