"""The items of the four papers and the command that shows each; prints ``docs/papers.md``.

    python -m tests.papers                          # runs every command
    python -m tests.papers.items > docs/papers.md   # the page

The items stand in ``docs/papers.toml``, whose head tells what each key means.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from click.testing import CliRunner

from dse.plots.papers import find_paper

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "papers.toml"

HEAD = """\
# The four papers, item by item

What each equation, table, figure and claim of the four papers says, and one command that shows it.
Printed by `python -m tests.papers.items` from `docs/papers.toml`. `python -m tests.papers` runs
every command and holds what it gives against what stands here, and so does the test suite. Run them
in a clone of this repository. A command that is no line of `dse` is a Python
expression, after

```python
import dse, numpy as np
from dse.plots.papers import find_paper
from fractions import Fraction
from stochastic import Pmf, bounds, granularity, imbalance, measured, partition, simulate, split
```

*Works*: the command gives what the paper's equations and inputs give. Where the paper prints other
numbers, or needed an input that it does not print, the last column says so. *Partly*: something is
lacking, and what. *Hardware*: it was measured, the measurements are only drawn or not printed, and
nothing else can give them. `dse plot paper` draws figures. The printed numbers one by one are in
[claims](claims.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of a paper; the keys are told at the head of ``docs/papers.toml``."""

    paper: str
    item: str
    says: str
    run: str = ""
    gives: Any = None
    has: tuple[str, ...] | list[str] = ()
    within: float = 0.0
    note: str = ""
    lacks: str = ""
    hardware: str = ""

    @property
    def status(self) -> str:
        """``works``, ``partly`` or ``hardware``."""
        return "hardware" if self.hardware else "partly" if self.lacks else "works"

    @property
    def figures(self) -> list[str]:
        """The figures that the item names and `dse plot paper` draws."""
        named = " ".join(re.findall(r"Figs?\. ([\d, and-]+)", self.item)).replace("and", ",")
        spans = (span.split("-") for span in re.findall(r"[\d-]+", named))
        numbers = {
            str(n)
            for first, *last in spans
            for n in range(int(first), int((last or [first])[0]) + 1)
        }
        return [
            number
            for number, row in find_paper(self.paper).figures.items()
            if number in numbers and row.kind
        ]


@cache
def _source() -> dict[str, Any]:
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def papers() -> Mapping[str, str]:
    """The titles of the papers, by their keys."""
    result: Mapping[str, str] = _source()["papers"]
    return result


def items(paper: str = "") -> list[Item]:
    """The items of one paper, or of all."""
    source = _source()
    kept = [paper] if paper else list(papers())
    return [Item(paper=name, **entry) for name in kept for entry in source[name]]


def outcome(item: Item) -> Any:
    """What the command of an item gives: the text of a line of ``dse``, or the plain value.

    The command runs in an empty folder with the repository's examples.
    """
    with _folder():
        if item.run.startswith("dse "):
            from dse.cli import main

            done = CliRunner().invoke(main, shlex.split(item.run)[1:], prog_name="dse")
            if done.exit_code:
                raise AssertionError(done.output)
            return done.output
        return _plain(eval(item.run, dict(_names())))


def differs(item: Item, found: Any) -> str:
    """How an outcome differs from what the item says it gives; empty where it does not."""
    if item.gives is not None and not _same(found, item.gives, item.within):
        return f"gives {found}, expected {item.gives} within {item.within}"
    text, place = " ".join(str(found).split()), 0
    for words in item.has:
        place = text.find(words, place)
        if place < 0:
            return f"{words!r} is not in its place in {text}"
    return ""


@contextmanager
def _folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "examples", Path(folder, "examples"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@cache
def _names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(HEAD.split("```")[1].removeprefix("python"), names)
    return names


def _plain(value: Any) -> Any:
    if isinstance(value, xr.Dataset):
        return {str(name): _plain(array) for name, array in value.data_vars.items()}
    if isinstance(value, xr.DataArray | np.ndarray | np.generic):
        return np.asarray(value).tolist()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value


def _same(found: Any, gives: Any, within: float) -> bool:
    if isinstance(gives, Mapping):
        return all(name in found and _same(found[name], gives[name], within) for name in gives)
    if isinstance(gives, list):
        pairs = isinstance(found, list) and len(found) == len(gives)
        return pairs and all(_same(*two, within) for two in zip(found, gives, strict=True))
    if isinstance(gives, str):
        return str(found) == gives
    number = float(found)
    return (
        math.isnan(gives)
        if math.isnan(number)
        else math.isclose(number, gives, rel_tol=0 if within else 1e-9, abs_tol=within or 1e-12)
    )


def page() -> str:
    """The text of ``docs/papers.md``."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    yield "| paper | items | works | partly | hardware |\n| --- | --- | --- | --- | --- |"
    rows = {title: items(paper) for paper, title in papers().items()}
    for title, result in {**rows, "all": items()}.items():
        count = Counter(item.status for item in result)
        counts = " | ".join(str(count[status]) for status in ("works", "partly", "hardware"))
        yield f"| {title} | {len(result)} | {counts} |"
    for title, result in rows.items():
        yield f"\n## {title}\n"
        yield "| item | says | command | gives | |\n| --- | --- | --- | --- | --- |"
        for item in result:
            drawn = [f"dse plot paper {item.paper} --figure {number}" for number in item.figures]
            commands = "<br>".join(f"`{line}`" for line in (item.run, *drawn) if line)
            cells = (item.item, item.says, commands, _gives(item), _status(item))
            yield "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _gives(item: Item) -> str:
    told = (
        ", ".join(f"“{words}”" for words in item.has) if item.gives is None else _words(item.gives)
    )
    return f"{told} ± {item.within:g}" if item.within else told


def _words(gives: Any) -> str:
    if isinstance(gives, Mapping):
        return ", ".join(f"{name} {_words(value)}" for name, value in gives.items())
    if isinstance(gives, list):
        return "[" + ", ".join(map(_words, gives)) + "]"
    return gives if isinstance(gives, str) else f"{gives:.8g}"


def _status(item: Item) -> str:
    why = "; ".join(text for text in (item.lacks or item.hardware, item.note) if text)
    return f"**{item.status}**{': ' if why else ''}{why}"


if __name__ == "__main__":
    print(page(), end="")
