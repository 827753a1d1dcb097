"""The printed numbers of the papers beside what is computed here; prints ``docs/claims.md``.

    python -m tests.papers.claims > docs/claims.md

The rows stand in ``claims.toml``, one for each printed number: what is asked (quantities, or a
formula of them) of which model, machine and workload. ``at`` and ``over`` hold what the claim
itself states, ``choice`` what no paper states: the row then tells what comes out without it.
``each`` makes a row of every value, with lists of what differs between them. ``why`` says why a
number is not met, or not without the choice.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import product
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

import dse

TABLE = Path(__file__).with_name("claims.toml")

HEAD = """\
# What the papers claim, and what comes out here

Printed by `python -m tests.papers.claims` from `tests/papers/claims.toml`; each row is a test.
Every number under "Printed" stands in the paper named, none is worked out from it; words that stand
for one are quoted under "Source". "Shipped" is what the machine and workload files give with
nothing set but what the claim itself states, all of which "Asked" shows. Chapters 2 and 3 leave the
threads of a block open ("from four to 512"): blocks of 64 to 512 are asked. Numbers that only
repeat a file are left out. A number is met within half of its last printed digit. Where a claim
leaves an input open that the files do not hold either, the row says what was chosen, and what comes
out without. How the models stand to measurements that others published is in [fits.md](fits.md).
"""

#: What becomes of a claim: the title of its table, and that of its last column.
KINDS = {
    "differs": ("Where they differ", "Why"),
    "choice": ("Met only by a choice that no paper states", "The choice, and why"),
    "untold": ("Not computed", "Why"),
    "met": ("Met by the shipped files", ""),
}
ENTRIES = ("machine", "workload")
RELATIONS = {"<=": le, ">=": ge, "<": lt, ">": gt}


def _one(values: Any) -> float | str:
    low, high = float(values.min()), float(values.max())
    return low if high - low <= 1e-4 * abs(high) else f"{low:.6g} to {high:.6g}"


def _labels(values: Any, best: Any) -> str:
    first, *others = values.dims
    among = (abs(values - best) <= 1e-9 * abs(best)).any(others)
    return " / ".join(among[first].values[among.values].astype(str))


def _all(values: Any) -> str:
    kept = values.all(values.dims[1:])
    return ", ".join(map(str, kept[kept.dims[0]].values[kept.values]))


#: What is made of the values over the axes; the first axis is that of ends and labels.
TAKES: dict[str, Callable[[Any], float | str]] = {
    "value": _one,
    "mean": lambda values: float(values.mean()),
    "least": lambda values: float(values.min()),
    "most": lambda values: float(values.max()),
    "rise": lambda values: _one(values[-1] - values[0]),
    "last to first": lambda values: _one(values[-1] / values[0]),
    "saved [%]": lambda values: float(100 * (1 - values[-1] / values[0]).mean()),
    "most saved [%]": lambda values: float(100 * (1 - values[-1] / values[0]).max()),
    "least at": lambda values: _labels(values, values.min(values.dims[0])),
    "most at": lambda values: _labels(values, values.max(values.dims[0])),
    "least from": lambda values: float(values.idxmin()),
    "all at": _all,
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A printed number and how it is asked for; no ``ask`` where it cannot be computed."""

    chapter: str
    claim: str
    source: str
    printed: str
    model: str = ""
    ask: str = ""
    take: str = "value"
    at: dict[str, Any] = field(default_factory=dict)
    over: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    def met(self, value: float | str) -> bool:
        """Whether it is the printed number, within half of the last digit, or the printed text."""
        if value == self.printed:
            return True
        relation, _, bound = self.printed.partition(" ")
        if relation in RELATIONS:
            return not isinstance(value, str) and bool(RELATIONS[relation](value, float(bound)))
        try:
            printed = Decimal(self.printed)
        except InvalidOperation:
            return False
        half = Decimal(5).scaleb(int(printed.as_tuple().exponent) - 1)
        return not isinstance(value, str) and abs(value - float(printed)) <= float(half) + 1e-9

    def computed(self, choice: bool) -> tuple[float | str, bool]:
        """What comes out, and whether it is no more than a number of the paper in a file."""
        names = sorted({n.id for n in ast.walk(ast.parse(self.ask)) if isinstance(n, ast.Name)})
        given = self.at | (self.choice if choice else {})
        over = {name: axis for name, axis in self.over.items() if name not in given}
        entries = {kind: given.pop(kind) for kind in ENTRIES if kind in given}
        try:
            ds = dse.Study(model=self.model, axes=over, set=given, outputs=names, **entries).run()
        except dse.DseError as error:
            lacking = {*re.findall(r"^  (\w+),", str(error), re.MULTILINE), *ENTRIES}
            wanted = [name for name in self.choice if name in lacking]
            if choice or not wanted:
                raise
            return f"asks for {' and '.join(wanted)}", False
        held = json.loads(ds.attrs["sources"])
        echo = all(self.chapter.partition(",")[0] in held.get(name, "") for name in names)
        values = ds.eval(self.ask)
        absent = {name: axis for name, axis in over.items() if name not in values.dims}
        return TAKES[self.take](values.expand_dims(absent).transpose(*over)), echo


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a claim."""

    claim: Claim
    shipped: float | str = ""
    chosen: float | str = ""
    echo: bool = False

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        if not self.claim.ask:
            return "untold"
        if self.claim.met(self.shipped):
            return "met"
        return "choice" if self.claim.choice and self.claim.met(self.chosen) else "differs"


def claims() -> list[Claim]:
    """The rows of the table, each with what its chapter has for all."""
    result = []
    for chapter in tomllib.loads(TABLE.read_text())["chapter"]:
        base = {"chapter": chapter["title"], "model": chapter.get("model", "")}
        for row in chapter["claim"]:
            each = row.pop("each", {})
            for n, values in enumerate(product(*each.values())):
                made = dict(zip(each, values, strict=True))
                one = {key: v[n] if isinstance(v, list) else v for key, v in row.items()}
                one["claim"] = row["claim"].format(**made)
                made.pop("of", None)
                one["at"] = made | one.get("at", {})
                one["over"] = {name: _axis(axis) for name, axis in one.get("over", {}).items()}
                result.append(Claim(**base | one))
    return result


def _axis(axis: Any) -> list[Any]:
    return list(range(axis["start"], axis["stop"] + 1)) if isinstance(axis, dict) else axis


@cache
def outcomes() -> list[Outcome]:
    """What became of each claim, in the order of the table."""
    return [_outcome(claim) for claim in claims()]


def _outcome(claim: Claim) -> Outcome:
    if not claim.ask:
        return Outcome(claim=claim)
    shipped, echo = claim.computed(choice=False)
    chosen, _ = claim.computed(choice=True) if claim.choice else ("", False)
    return Outcome(claim=claim, shipped=shipped, chosen=chosen, echo=echo)


def page() -> str:
    """The text of ``docs/claims.md``."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    result = outcomes()
    yield HEAD
    yield "| Paper | Numbers | Differ | Met by a choice | Not computed | Met |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for chapter in (*dict.fromkeys(o.claim.chapter for o in result), "All"):
        kinds = Counter(o.kind for o in result if chapter in ("All", o.claim.chapter))
        cells = (kinds.total(), *(kinds[kind] for kind in KINDS))
        yield f"| {chapter} | " + " | ".join(map(str, cells)) + " |"
    for kind, (title, last) in KINDS.items():
        yield f"\n## {title}"
        chapter = why = ""
        for outcome in (o for o in result if o.kind == kind):
            if outcome.claim.chapter != chapter:
                chapter = outcome.claim.chapter
                yield f"\n### {chapter}\n"
                yield f"| Claim | Source | Printed | Shipped | Asked | {last} |"
                yield "| --- | --- | --- | --- | --- | --- |"
            yield _line(outcome, above=why)
            why = outcome.claim.why


def _line(outcome: Outcome, above: str) -> str:
    claim = outcome.claim
    why = "as above" if claim.why and claim.why == above else claim.why
    if claim.choice:
        why = f"{_given(claim.choice)}: {_number(outcome.chosen)}; {why}"
    asked = f"`{claim.ask}` of {claim.model}: {_given(claim.at | claim.over)}" if claim.ask else ""
    if claim.take != "value":
        asked = f"{claim.take}, {asked}"
    shown = (claim.claim, claim.source, claim.printed, _number(outcome.shipped), asked, why)
    return "| " + " | ".join(shown) + " |"


def _given(values: dict[str, Any]) -> str:
    named = {name: _shown(values[name]) for name in (*ENTRIES, *values) if name in values}
    return ", ".join(v if name in ENTRIES else f"{name} = {v}" for name, v in named.items())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        few = len(value) < 4 or isinstance(value[0], str)
        return " / ".join(map(_shown, value)) if few else f"{value[0]} to {value[-1]}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value + 0:.6g}"


if __name__ == "__main__":
    print(page(), end="")
