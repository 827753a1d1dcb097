"""Every command of the table of the papers gives what the table says; the page is up to date."""

from __future__ import annotations

from collections import Counter

import pytest

from dse.plots.papers import find_paper
from tests.long import mostly_long
from tests.papers.items import ROOT, Item, differs, items, outcome, page, papers

ITEMS = items()
RUN = [item for item in ITEMS if item.run]


@pytest.mark.parametrize(
    "item", mostly_long(RUN, lambda k, _: k % 4 == 0), ids=lambda item: f"{item.paper}, {item.item}"
)
def test_an_item_of_a_paper_is_shown_by_its_command(item: Item) -> None:
    assert not differs(item, outcome(item))


def test_each_item_has_a_command_that_can_fail_or_needs_hardware() -> None:
    bare = [item for item in ITEMS if not item.run or (item.gives is None and not item.has)]
    assert all(item.hardware or item.lacks for item in bare), bare
    assert max(Counter((item.paper, item.item) for item in ITEMS).values()) == 1


def test_nothing_of_the_papers_is_lacking_but_what_needs_hardware() -> None:
    count = Counter(item.status for item in ITEMS)
    assert count["partly"] == 0
    assert count["works"] > 10 * count["hardware"]


@pytest.mark.parametrize("name", papers())
def test_every_figure_that_is_drawn_stands_in_the_table(name: str) -> None:
    drawn = [number for number, row in find_paper(name).figures.items() if row.kind]
    assert set(drawn) == {number for item in items(name) for number in item.figures}


def test_the_page_of_the_papers_is_up_to_date() -> None:
    assert (ROOT / "docs" / "papers.md").read_text() == page()
