"""Every printed number is met or its row says why it is not; the page of them is up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.papers.claims import CHAPTERS, Claim, claims, page

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]\d+)?(?![\w.]*\w)")


ROWS = [claim for chapter in CHAPTERS for claim in claims(chapter)]


@pytest.mark.parametrize("claim", ROWS, ids=lambda claim: f"{claim.source}: {claim.claim}")
def test_a_claim_is_met_or_explained(claim: Claim) -> None:
    assert claim.met() != bool(claim.differs)


def test_the_page_is_up_to_date() -> None:
    """Words alike; numbers to five digits, since the last of six may round either way."""
    kept, made = PAGE.read_text(), page()
    assert NUMBER.sub("#", kept) == NUMBER.sub("#", made)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (kept, made)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-5)
