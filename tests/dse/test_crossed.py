"""Statistics and random inputs with every use of a study and its store: no pair is wrong."""

from __future__ import annotations

from itertools import product

import pytest

from tests.dse.crossing import STUDIES, USES, run_pair
from tests.long import mostly_long

#: Pairs that must work, not only be refused; each ended in a traceback.
WORK = [
    ("extend the first axis", "over an axis"),
    ("extend the second axis", "over an axis, and plain"),
    ("extend the second axis", "random, a quantile"),
    ("add thread_limit", "random"),
    ("add thread_limit", "over an axis"),
    ("derive thread_limit", "random"),
    ("explain", "in a constraint"),
    ("explain", "random, in a constraint"),
    ("export .nc", "of a quotient"),
    ("export .zarr", "of a quotient"),
    ("plot lines s.zarr --quantity OUT --out o.png", "over a switch"),
]


@pytest.mark.parametrize(("use", "study"), WORK)
def test_a_pair_that_was_mended_works(use: str, study: str) -> None:
    assert run_pair(use, study) == "works"


@pytest.mark.parametrize(
    ("use", "study"), mostly_long(product(USES, STUDIES), lambda number, _: number % 19 == 0)
)
def test_a_pair_works_or_is_refused_in_words(use: str, study: str) -> None:
    end = run_pair(use, study)
    assert end == "works" or end.startswith("refused: "), end
    assert "Traceback" not in end
