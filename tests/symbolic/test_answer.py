"""One record of an answer: its text, its JSON and its page hold the same, whatever it contains."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.answer import HTML_ROWS, Answer, Table, cell_text, to_html, to_json, value_text
from symbolic.quantities import text_unit
from symbolic.safe_text import escape_controls, one_line
from tests.long import draws

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "a\nb", "<b>&\"'", "\x1b[31m", "\u202eabc", "\ud800", "-1", "µs", "\t|"]),
)
NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.sampled_from([0.0, -0.0, 2.0**53, 1e300, -1e-300, 5e-324, np.float64("nan"), np.int8(-1)]),
)
UNITS = st.sampled_from(["", "1", "s", "Hz", "B/s", "cycle", "J", "W", "?\x1b"])
CELLS = st.one_of(TEXTS, NUMBERS, st.none(), st.tuples(NUMBERS, UNITS), st.tuples(TEXTS, UNITS))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 4))
    names = draw(st.lists(TEXTS, min_size=width, max_size=width, unique=True))
    columns: Any = draw(
        st.sampled_from([(), names, dict(zip(names, [draw(UNITS) for _ in names], strict=True))])
    )
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))
    return Table(
        title=draw(TEXTS),
        columns=columns,
        rows=rows,
        max_rows=draw(st.sampled_from([None, 1, 3, 60])),
        is_open=draw(st.booleans()),
        sortable=draw(st.booleans()),
    )


def test_numbers_have_prefixes_and_units_of_their_quantity() -> None:
    assert value_text(0.000301272, "J s") == "301.3 µJ s"
    assert value_text(16, text_unit("arithmetic_intensity", "1/B")) == "16 FLOP/B"
    assert value_text(9.895e14, "FLOP/s") == "989.5 TFLOP/s"


class Page(HTMLParser):
    """Tags that must nest, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(max_examples=draws(500), deadline=None)
@given(
    TEXTS,
    st.dictionaries(TEXTS, TEXTS, max_size=3),
    st.lists(tables(), max_size=3),
    st.lists(TEXTS, max_size=3),
    TEXTS,
)
def test_text_and_page_hold_every_part(
    title: str, facts: dict[str, str], parts: list[Table], notes: list[str], certificate: str
) -> None:
    answer = Answer(
        title=title, facts=facts, tables=parts, notes=notes, certificate=certificate, data={}
    )
    text, page = str(answer), Page(to_html(answer))
    assert page.seen <= {"div", "b", "table", "tr", "td", "th", "details", "summary"}
    assert escape_controls(page.text) == page.text
    assert "\n" not in repr(answer)
    for part in [title, certificate, *facts.values(), *notes]:
        assert part in text
        assert escape_controls(part) in page.text or one_line(part) in page.text
    for table in parts:
        for row in table.rows[: table.max_rows]:
            for cell in row:
                shown = cell_text(cell, "")
                value = cell[0] if isinstance(cell, tuple) else cell  # a column shares a prefix
                assert isinstance(value, (int, float)) or one_line(shown) in text
        if table.rows and table.columns and table.max_rows and len(table.rows) > table.max_rows:
            assert (
                f"... and {len(table.rows) - table.max_rows:,} more (--json has them all)" in text
            )


@settings(max_examples=draws(300), deadline=None)
@given(
    st.recursive(
        st.one_of(NUMBERS, st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
        lambda each: st.one_of(
            st.lists(each, max_size=3), st.dictionaries(TEXTS, each, max_size=3)
        ),
        max_leaves=10,
    )
)
def test_json_is_valid_and_keeps_every_number(value: Any) -> None:
    def same(one: Any, read: Any) -> bool:
        if isinstance(one, dict):
            return list(map(str, one)) == list(read) and all(
                same(x, read[str(name)]) for name, x in one.items()
            )
        if isinstance(one, list):
            return len(one) == len(read) and all(map(same, one, read))
        if isinstance(one, (float, np.floating)) and not math.isfinite(one):
            return read == (None if math.isnan(one) else "inf" if one > 0 else "-inf")
        return bool(read == one)

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    assert same(value, json.loads(to_json(value), parse_constant=refuse))


def test_a_page_cuts_long_tables_and_text_shows_all_unless_told() -> None:
    table = Table(columns={"n": "s"}, rows=[[float(k)] for k in range(1, HTML_ROWS + 2)])
    answer = Answer(title="many", tables=[table])
    assert "and 1 more" in to_html(answer)
    assert str(answer).count("\n") == HTML_ROWS + 3
