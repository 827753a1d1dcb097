"""Random tables of known content in hostile dress: what is read is that content, or an error.

    python -m tests.dse.foreign_tables 20000 1

A third argument prints the whole tables that were refused, too.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import dse
from dse.importers.records import identifier
from symbolic.errors import DseError
from symbolic.units import to_si_exact

UNITS = ("", "", "", "ms", "us", "µs", "μs", "ns", "GB/s", "%", "W", "MHz", "KiB", "cycles")
MISSING = ("", "", "nan", "NaN", "N/A", "n/a", "NULL", "-", "#N/A", "None")
WORDS = ("copy", "a b", "x,y", "p;q", 'say "hi"', "two\nlines", "µ", "f(int, float)", "t\tt", "a|b")
SEPARATORS = (",", ",", ";", "\t", "|", " ")
GROUPS = ("", "", "", ",", ".", "'", "\u00a0", "\u202f")
#: Dresses in which a table has no single reading, so that it must be refused.
BROKEN = ("", "", "", "", "twice", "second table", "wider table", "torn", "no name", "footer")
PREAMBLES = (
    "",
    "",
    "# measured by hand\n",
    "# a,b;c\n#\n",
    "Report of a run\n\n",
    "Device: A100, 40 GB\nDriver = 550\n\n",
    "\n\n",
)


@dataclass(frozen=True, kw_only=True)
class Column:
    """The name, the unit and the known values of a column; None is missing."""

    name: str
    unit: str
    values: list[Any]


@dataclass(frozen=True, kw_only=True)
class Dress:
    """The format of a table."""

    separator: str
    decimal: str
    group: str
    quote_all: bool
    broken: str
    encoding: str
    newline: str
    preamble: str
    trailing: bool
    brackets: str
    packed: bool


def drawn_columns(rng: random.Random) -> list[Column]:
    """Return columns of random kinds with as many rows."""
    rows = rng.choice([1, 2, 3, 5, 8, 70])
    return [
        Column(
            name=f"{rng.choice(['time', 'block size', 'Rate', 'n', 'Grid_x', 'wert'])} {place}",
            unit=rng.choice(UNITS),
            values=_values(rng, rows),
        )
        for place in range(rng.choice([1, 2, 2, 3, 3, 5]))
    ]


def _values(rng: random.Random, rows: int) -> list[Any]:
    kind = rng.choice(["int", "int", "large", "float", "float", "wide", "label"])
    draw = {
        "int": lambda: rng.choice([0, 1, -7, 16, 128, 1024, 65536, rng.randrange(10**7)]),
        "large": lambda: 1_700_000_000_000_000_000 + rng.randrange(10**6),
        "float": lambda: Fraction(rng.randrange(-(10**7), 10**7), 10 ** rng.randrange(1, 6)),
        "wide": lambda: Fraction(str(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-12, 13))),
        "label": lambda: rng.choice(WORDS),
    }[kind]
    values = [draw() for _ in range(rows)]
    if kind in ("int", "float", "wide") and rows > 2:
        return [values[0], *(None if rng.random() < 0.1 else value for value in values[1:])]
    return values


def drawn_dress(rng: random.Random) -> Dress:
    """Return a random way of writing a table."""
    separator = rng.choice(SEPARATORS)
    decimal = rng.choice([".", ".", ","])
    group = rng.choice([g for g in GROUPS if g != decimal])
    return Dress(
        separator=separator,
        decimal=decimal,
        group=group,
        quote_all=rng.random() < 0.3 or separator in (decimal, group),
        broken=rng.choice(BROKEN),
        encoding=rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
        newline=rng.choice(["\n", "\n", "\r\n", "\r"]),
        preamble=rng.choice([*PREAMBLES, f"sep={separator}\n"]),
        trailing=rng.random() < 0.2 and separator != " ",
        brackets=rng.choice(["[]", "()"]),
        packed=rng.random() < 0.1,
    )


def write_table(columns: list[Column], dress: Dress, rng: random.Random) -> bytes:
    """Return the file of a table."""
    names = [
        f"{c.name} {dress.brackets[0]}{c.unit}{dress.brackets[1]}" if c.unit else c.name
        for c in columns
    ]
    if dress.broken == "twice":
        names = [*names, names[-1]]
    if dress.broken == "no name" and len(names) > 1:
        names[-1] = ""
    cells = [[_text(value, dress, rng) for value in column.values] for column in columns]
    if dress.broken == "twice":
        cells.append(cells[0])
    rows = [list(row) for row in zip(*cells, strict=True)]
    quoting = csv.QUOTE_ALL if dress.quote_all else csv.QUOTE_MINIMAL
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=dress.separator, quoting=quoting, lineterminator="\n")
    end = [""] if dress.trailing and dress.broken not in ("torn", "no name") else []
    writer.writerows([names + end, *(row + end for row in rows)])
    if dress.broken in ("second table", "wider table"):
        more = ["again"] if dress.broken == "wider table" else []
        out.write("\n")
        writer.writerow([*(f"other {k}" for k in range(len(names))), *more])
        writer.writerows([*row, *more] for row in rows[::-1])
    if dress.broken == "footer":
        out.write("\n(total of all)\n")
    text = out.getvalue()
    if dress.broken == "torn" and len(names) > 1:
        text += "1"
    text = dress.preamble + text
    if dress.newline != "\n":
        text = text.replace("\n", dress.newline)
    raw = text.encode(dress.encoding)
    return gzip.compress(raw) if dress.packed else raw


def _text(value: Any, dress: Dress, rng: random.Random) -> str:
    if value is None:
        word = rng.choice(MISSING)
        return word if dress.separator != " " else word or "nan"  # spaces cannot hold nothing
    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        text = f"{float(value)!r}" if rng.random() < 0.3 else _decimals(value)
        if "e" in text:
            return text.replace(".", dress.decimal)
        whole, _, part = text.partition(".")
        return _group_digits(whole, dress.group) + (dress.decimal + part if part else "")
    return _group_digits(str(value), dress.group)


def _decimals(value: Fraction) -> str:
    sign, digits = "-" * (value < 0), 0
    while (abs(value) * 10**digits).denominator != 1:
        digits += 1
    text = str(abs(value) * 10**digits).rjust(digits + 1, "0")
    return sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)


def _group_digits(whole: str, mark: str) -> str:
    if not mark:
        return whole
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return sign + f"{int(digits):,}".replace(",", mark)


def difference(columns: list[Column], dress: Dress, path: Path) -> tuple[str, str]:
    """Return how a reading went ("read", "refused", "said", "different"), and why."""
    try:
        ds = dse.open(path, shape="rows")
    except DseError as error:
        return "refused", str(error)
    only = columns[0].values if len(columns) == 1 else []
    whole = dress.broken in ("torn", "no name") and only
    words = dress.broken == "wider table" and any(isinstance(value, str) for value in only)
    if words:
        return "read", ""  # the first table is a list of words, as a report above a table is
    if dress.broken and not whole:
        return "different", f"{dress.broken}: read all the same"
    if not json.loads(ds.attrs.get("assumptions", "[]")):
        return "different", "nothing is said of how it was read"
    if ds.sizes["configuration"] != len(columns[0].values):
        return "different", f"{ds.sizes['configuration']} rows"
    for column in columns:
        name = identifier(column.name)
        if name not in ds.variables:
            return "different", f"no {name} in {sorted(map(str, ds.variables))}"
        labels = any(isinstance(value, str) for value in column.values)
        factor = Fraction(1) if labels or not column.unit else to_si_exact(1, column.unit)[0]
        for value, read in zip(column.values, ds[name].values.tolist(), strict=True):
            if not _same(value, factor, read):
                if dress.group == "." and "no thousands" in ds.attrs["assumptions"]:
                    return "said", ""
                return "different", f"{name}: {value!r} [{column.unit}] is read as {read!r}"
    return "read", ""


def _same(value: Any, factor: Fraction, read: Any) -> bool:
    if value is None:
        return isinstance(read, float) and math.isnan(read)
    if isinstance(value, str):
        return isinstance(read, str) and read.splitlines() == value.splitlines()
    if isinstance(read, str) or (isinstance(value, int) and factor == 1 and abs(value) > 2**53):
        return bool(read == value)
    expected = float(value * factor)
    return math.isclose(read, expected, rel_tol=4e-16, abs_tol=0)


def _show(path: Path, dress: Dress) -> str:
    raw = path.read_bytes()
    return repr((gzip.decompress(raw) if dress.packed else raw).decode(dress.encoding)[:300])


def attack(count: int, seed: int, verbose: bool = False) -> Counter[str]:
    """Read random tables; return how often each outcome came, and print what differs."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            columns, dress = drawn_columns(rng), drawn_dress(rng)
            path = Path(folder) / ("a.csv.gz" if dress.packed else "a.csv")
            path.write_bytes(write_table(columns, dress, rng))
            outcome, words = difference(columns, dress, path)
            kind = "broken" if dress.broken else "whole"
            outcomes[f"{kind}: {outcome}"] += 1
            if outcome == "different":
                print(f"{seed} {number}: {words}\n  {_show(path, dress)}")
            elif outcome == "refused" and not dress.broken and verbose:
                print(f"refused: {words}\n  {_show(path, dress)}")
    return outcomes


if __name__ == "__main__":
    result = attack(int(sys.argv[1]), int(sys.argv[2]), verbose=len(sys.argv) > 3)
    for name, times in sorted(result.items()):
        print(f"{times:8,} {name}")
    sys.exit(any("different" in name for name in result))
