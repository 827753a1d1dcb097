"""Test that each command in the table of papers gives the result and the label of its row."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dse.plots.papers import find_paper
from tests.long import long, mostly_long
from tests.papers.assumed import moved_assumed, reads_assumed
from tests.papers.items import (
    LABELS,
    ROOT,
    Item,
    differs,
    find_misses,
    items,
    outcome,
    page,
    papers,
    sections,
)

TEXTS = ROOT.parent / "shared" / "papers"
FILES = {
    "li2015": "transit-2015",
    "ma2014": "tmm-calibrated-2014",
    "swatman2022": "simt-imbalance-2022",
    "hong2012": "gpu-performance-power-2012",
}
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ITEMS = items()
RUN = [item for item in ITEMS if item.run]
DIFFERENT = [item for item in ITEMS if item.label == "differs"]


def name_of(item: Item) -> str:
    return f"{item.paper}, {item.item}"


@pytest.mark.parametrize("item", mostly_long(RUN, lambda k, _: k % 4 == 0), ids=name_of)
def test_a_command_gives_the_result_and_the_label_of_its_row(item: Item) -> None:
    """The printed numbers are met, except where the row says that they differ."""
    with reads_assumed() as assumed:
        result = outcome(item.run)
    assert not differs(item, result)
    wrong = find_misses(item, result) if item.printed else []
    if item.label == "differs":
        assert wrong, "the printed numbers are met: another label"
    elif item.label != "needs hardware":
        assert not wrong
    if item.label == "works":
        assert bool(assumed) is item.despite, assumed


@long
@pytest.mark.parametrize("item", [item for item in RUN if item.despite], ids=name_of)
def test_what_works_does_not_rest_on_assumed_values(item: Item) -> None:
    """The result stays if any assumed number that the command reads is doubled."""
    with reads_assumed() as names:
        outcome(item.run)
    for name in names:
        with moved_assumed(name):
            assert not differs(item, outcome(item.run)), name


@pytest.mark.parametrize("item", mostly_long(DIFFERENT, lambda k, _: k % 4 == 0), ids=name_of)
def test_the_cause_of_a_difference_was_tried(item: Item) -> None:
    result = Item(paper="", item="", says="", gives=item.brings)
    assert not differs(result, outcome(item.tried))


def test_moved_values_move_results_that_rest_on_them() -> None:
    """The test above can fail: Fig. 106 rests on assumed counts, and is labelled a choice."""
    (item,) = (item for item in ITEMS if item.item == "Figs. 106-108")
    with moved_assumed("fp_insts"):
        assert differs(item, outcome(item.run))


#: Number of items of each part that readers listed before they saw the table.
LISTED = {
    "Transit (Li 2015)": 24,
    "Calibrated TMM (Ma 2014)": 25,
    "Thread imbalance (Swatman 2022)": 24,
    "chapter 2": 35,
    "chapter 3": 43,
    "chapter 4": 12,
    "chapter 5": 41,
    "appendix A": 12,
    "chapter 7": 2,
}


def test_the_table_has_the_items_that_readers_of_the_papers_listed() -> None:
    count = {title.rpartition(", ")[2]: len(rows) for title, rows in sections().items()}
    assert {title: count[title] for title in LISTED if count[title] < LISTED[title]} == {}
    assert len(ITEMS) >= sum(LISTED.values()) == 218


#: Numbers of equations, figures and tables; and figures that only explain the parts of a machine.
NUMBERED = {
    "li2015": (3, 19, 1, {1, 2}),
    "ma2014": (15, 5, 0, set()),
    "swatman2022": (11, 3, 0, set()),
    "hong2012": (117, 159, 16, {1, 35, 54, 92, 93, 94}),
}


@pytest.mark.parametrize("paper", papers())
def test_every_equation_figure_and_table_has_a_row(paper: str) -> None:
    equations, figures, tables, drawings = NUMBERED[paper]
    counts = {"Eq": (equations, set()), "Fig": (figures, drawings), "Table": (tables, set())}
    for kind, (count, without) in counts.items():
        named: set[int] = set()
        for item in items(paper):
            for numbers in re.findall(rf"{kind}s?\.? ([\d, and-]+)", item.item):
                spans = re.findall(r"(\d+)(?:-(\d+))?", numbers)
                named |= {n for low, high in spans for n in range(int(low), int(high or low) + 1)}
        assert set(range(1, count + 1)) - named == without, kind


def test_each_item_has_a_command_that_can_fail_or_needs_hardware() -> None:
    bare = [item for item in ITEMS if not item.run or (item.gives is None and not item.has)]
    assert all(item.hardware and not item.printed for item in bare), bare
    assert max(Counter((item.paper, item.item) for item in ITEMS).values()) == 1


def test_each_row_has_one_label_and_its_reason() -> None:
    for item in ITEMS:
        reasons = [bool(why) for why in (item.choice, item.cause, item.hardware)]
        assert sum(reasons) <= 1, item.item
        assert bool(item.cause) == bool(item.tried) == (item.brings is not None), item.item
        assert not item.cause or item.printed, item.item
        assert not (item.echo or item.despite) or item.label == "works", item.item


def test_few_items_differ_and_nothing_is_missing_but_hardware() -> None:
    count = Counter(item.label for item in ITEMS)
    assert set(count) == set(LABELS)
    assert count["differs"] <= 15
    assert count["works"] > len(ITEMS) / 2
    assert count["needs hardware"] < len(ITEMS) / 8


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the papers are not there")
@pytest.mark.parametrize("paper", papers())
def test_printed_numbers_stand_in_the_paper(paper: str) -> None:
    """Each number is in the paper, as digits or a word; "more" is a relation to 0 or 1."""
    text = Path(TEXTS, FILES[paper] + ".txt").read_text().replace(",", "").lower()
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?|\.\d+", text)}
    numbers |= {float(n) for n, word in enumerate(WORDS) if word in text}

    def is_printed(entry: str) -> bool:
        relation, _, bound = entry.rpartition(" ")
        try:
            return (bool(relation) and float(bound) in (0, 1)) or float(bound) in numbers
        except ValueError:
            return True  # a name

    absent = [(i.item, n) for i in items(paper) for n in i.printed if n and not is_printed(n)]
    assert not absent


@pytest.mark.parametrize("name", papers())
def test_every_figure_that_is_drawn_stands_in_the_table(name: str) -> None:
    drawn = [number for number, row in find_paper(name).figures.items() if row.kind]
    assert set(drawn) == {number for item in items(name) for number in item.figures}


def test_the_page_of_the_papers_is_up_to_date() -> None:
    assert (ROOT / "docs" / "papers.md").read_text() == page()


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"gives": [2.0]}, "differs"),
        ({"printed": ["1.51"]}, "missed"),
        ({"printed": ["> 2"]}, "missed"),
    ],
)
def test_a_wrong_row_is_noticed(change: dict[str, Any], wrong: str) -> None:
    row: dict[str, Any] = {
        "paper": "li2015",
        "item": "",
        "says": "",
        "run": "[1.5]",
        "gives": [1.5],
    }
    right = Item(**row, printed=["1.5"])
    assert not differs(right, outcome(right.run))
    assert not find_misses(right, [1.5])
    item = Item(**{**row, "printed": ["1.5"], **change})
    assert differs(item, [1.5]) if wrong == "differs" else find_misses(item, [1.5])
