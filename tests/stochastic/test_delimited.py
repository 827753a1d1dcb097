"""Delimited text: separators, numbers, headers, and what may be read in two ways."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from stochastic.delimited import (
    Cell,
    TableError,
    decimal_mark,
    parse_number,
    parse_table,
    read_table,
)

CONTENT = {"a": [1, 3], "b": [2.5, 4]}


def content(text: str, **options: Any) -> dict[str, list[Any]]:
    table = parse_table(text, "file", **options)
    return dict(zip(table.names, table.parse_numbers().columns, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2.5\n3,4\n",
        "a;b\n1;2,5\n3;4\n",
        "a\tb\n1\t2,5\n3\t4",
        "a|b\r\n1|2.5\r\n3|4\r\n",
        "a b\r1 2.5\r 3    4 \r",
        "a;b;\n1;2.5;\n3;4;\n",
        "a;b\n1;2.5;\n3;4;\n",
        "a;b;;\n1;2.5\n3;4\n",
        '"a","b"\n"1","2.5"\n"3","4"\n',
        'a, "b"\n1, "2.5"\n3, "4"\n',
        "sep=;\na;b\n1;2,5\n3;4\n",
        "# measured by hand\n\na,b\n1,2.5\n# one more\n3,4\n",
        "Device: A100, 40 GB\nClock = 1410\n\na,b\n1,2.5\n3,4\n",
        "Device: A100, 40 GB\na,b\n1,2.5\n3,4\n",
        "# a,b\n1,2.5\n3,4\n",
        "a,b\n1,2.5\na,b\n3,4\n",
        "\n\na,b\n\n1,2.5\n3,4\n\n",
        'a,b\n1,"2,5"\n3,"4"\n',
    ],
)
def test_one_table_in_many_dresses(text: str) -> None:
    assert content(text) == CONTENT


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    path = tmp_path / "a.csv"
    raw = "a,µ\n1,x\n".encode(encoding)
    path.write_bytes(gzip.compress(raw) if packed else raw)
    assert read_table(path).names == ("a", "µ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a\n1,2\n", r"line 1: two columns 'a' \(columns 1 and 2\)"),
        ("a,b\n1,2\n3\n", "line 3: 1 fields where line 1 has 2.*cut off"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 fields where line 1 has 2"),
        ("a,b\n1,2,3\n4,5,6\n", "is no table with a header: line 2 holds numbers"),
        ("16,3.5\n32,4\n", "line 1 holds numbers"),
        ('a,b\n1,"2\n', "a quote is not closed"),
        ("a,b,\n1,2,3\n", "a column without a name .column 3"),
        ("a,b\n1,2\n\nc,d\n3,4\n", "line 4: a second table"),
        ("a,b\n1,2\nc,d\n3,4\n", "line 3: a second table"),
        ("a,b\n1,2\n\nc,d,e\n3,4,5\n4,5,6\n", "line 4: a second table"),
        ("k,t\nx,1\ny,\n\nk,p\nx,3\n", "line 5: a second table"),
        ("a,b\n1,2\n\n(2 rows)\n", "line 4: 1 fields.*a second table or a remark"),
        ("k\nf(int, float)\nx,y\n", "line 1 has 1 fields and line 2 has 2"),
        ("k\nx\n\ny\n", "line 4: a second table"),
        ("a;b\n1;2\n3", "line 3: 1 fields where line 1 has 2"),
        ("Device: A100, 40 GB\nx\n\na;b\n1;2\n1", "cut its lines into as many fields"),
        ("a;b,c;d\np;q,r;s\n", "commas or semicolons may separate"),
        ("", "is empty"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        content(text)


def test_what_was_assumed_is_said() -> None:
    table = parse_table("# by hand\nA report\n\na;b\n1;2,5\n#3;4\n", "file")
    assert table.assumptions(table.parse_numbers()) == [
        "read as text: columns separated by semicolons, decimal comma",
        "left out, beginning with #: lines 1, 6",
        "left out, before the header: line 2",
    ]
    table = parse_table("a,b\n1,1.024\n", "file")
    assert (
        table.assumptions(table.parse_numbers())[1]
        == "1.024 and its like have decimals, and are no thousands"
    )
    table = parse_table("a,b\n1,1.024\n2,0.5\n", "file")
    assert len(table.assumptions(table.parse_numbers())) == 1


def test_words_for_nothing_are_missing_among_numbers_and_labels_elsewhere() -> None:
    assert content("a,b\nNaN,none\n1,l1\nN/A,\n#N/A,x\n") == {
        "a": [None, 1, None, None],
        "b": ["none", "l1", None, "x"],
    }


def test_labels_keep_their_separators_lines_and_spaces() -> None:
    text = 'k,t\n"f(int, float)",1\n"two\nlines",2\n  x ,3\n"say ""hi""",4\n'
    assert content(text)["k"] == ["f(int, float)", "two\nlines", "  x ", 'say "hi"']


def test_a_line_of_nothing_but_separators_is_a_row_without_values() -> None:
    assert content("a\tb\n1\t2\n\t\n") == {"a": [1, None], "b": [2, None]}
    assert content("a\t\n1\t\n\t\n") == {"a": [1, None]}


def test_rows_that_begin_with_a_hash_below_a_header_are_rows() -> None:
    assert content("id,t\n#1,2\n#2,3\n") == {"id": ["#1", "#2"], "t": [2, 3]}
    assert content("#,t\n1,2\n") == {"#": [1], "t": [2]}


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1,234,567", ".", 1234567),
        ("1.234.567,5", ",", 1234567.5),
        ("1'234'567.5", ".", 1234567.5),
        ("1\u202f234,5", ",", 1234.5),
        ("9007199254740993", ".", 9007199254740993),
        ("1,700,000,000,000,000,001", ".", 1700000000000000001),
        ("\u22123", ".", -3),
        ("1e3", ".", 1000.0),
        ("-inf", ".", -float("inf")),
        ("1,23", ".", None),
        ("12,34,567", ".", None),
        ("0,123", ".", None),
        ("1_000", ".", None),
        ("0x10", ".", None),
        ("\u0661", ".", None),
        ("1 234", ".", None),
        ("5 ms", ".", None),
    ],
)
def test_numbers_of_a_locale(text: str, decimal: str, value: float | None) -> None:
    read = parse_number(text, decimal)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("columns", "decimal"),
    [
        ([["3.5"], ["1,234"]], "."),
        ([["3,5"], ["1.234"]], ","),
        ([["1,234", "5678"]], ","),
        ([["1.234"]], "."),
        ([["1'234,5"]], ","),
        ([["1,234,567"]], "."),
        ([["0,234"]], ","),
        ([["x,y", "a.b.c"]], "."),
    ],
)
def test_one_cell_settles_the_decimal_mark_of_a_file(
    columns: list[list[str]], decimal: str
) -> None:
    assert decimal_mark([[Cell(1, t) for t in column] for column in columns], "file") == decimal


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([["1,234"]], "'1,234' may be 1234 or 1.234"),
        ([["1,234"], ["5678"]], "may be 1234"),
        ([["3.5"], ["3,5"]], "cannot both be numbers of one locale"),
        ([["1,234,567"], ["3,5"]], "cannot both be numbers"),
        ([["1,234,567"], ["1.234.567"]], "group digits by different marks"),
    ],
)
def test_numbers_that_may_be_two_are_refused(columns: list[list[str]], message: str) -> None:
    with pytest.raises(TableError, match=message):
        decimal_mark([[Cell(1, t) for t in column] for column in columns], "file")
