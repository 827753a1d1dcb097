"""The printed numbers of the papers against what is computed here; prints ``docs/claims.md``.

    python -m tests.papers.claims > docs/claims.md

The rows of a paper stand in ``claims_*.py`` beside this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

__all__ = ["CHAPTERS", "Claim", "claims", "page"]

HEAD = """\
# What the papers claim, and what is computed here

Printed by `python -m tests.papers.claims`; each row is a test. "Printed" is the paper's number, in
brackets where it is not printed but worked from the paper's equations and inputs. A number that is
not met within half of its last printed digit says why. How the models stand to measurements that
others published is in [fits.md](fits.md).
"""

#: The title of a table, and the module of its rows.
CHAPTERS = {
    "MWP-CWP (Hong 2012, chapter 2)": "claims_mwp_cwp",
    "Calibrated TMM, all-pairs shortest paths (Ma 2014)": "claims_tmm",
    "Imbalance of threads in lockstep (Swatman 2022)": "claims_imbalance",
    "Power, temperature, best number of SMs, energy against speed-up (Hong 2012)": "claims_power",
    "Placement of active SMs (Hong 2012)": "claims_placement",
    "Throughput and work shared by it (Hong 2012, chapter 5)": "claims_throughput",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A printed number, how it is computed here, and why the two differ where they do.

    ``printed`` is ``nan`` where the number is ``worked`` from the paper's equation and inputs;
    ``within`` is half of the last printed digit.
    """

    claim: str
    source: str
    printed: float | str
    computed: Callable[[], float | str]
    within: float = 0.0
    differs: str = ""
    worked: float = math.nan

    @property
    def expected(self) -> float | str:
        """The number that is to be met."""
        if isinstance(self.printed, float) and math.isnan(self.printed):
            return self.worked
        return self.printed

    def met(self) -> bool:
        """Whether what is computed is the number, within its last digit."""
        computed, expected = self.computed(), self.expected
        if isinstance(computed, str) or isinstance(expected, str):
            return computed == expected
        return abs(computed - expected) <= self.within


def claims(chapter: str) -> list[Claim]:
    """The rows of a table, by its title."""
    found: list[Claim] = import_module(f"tests.papers.{CHAPTERS[chapter]}").CLAIMS
    return found


def page() -> str:
    """The text of ``docs/claims.md``."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    tables = {chapter: claims(chapter) for chapter in CHAPTERS}
    told = [bool(claim.differs) for table in tables.values() for claim in table]
    yield HEAD
    yield f"{len(told)} numbers, {told.count(False)} met, {told.count(True)} not."
    for chapter, table in tables.items():
        yield f"\n## {chapter}\n"
        yield "| Claim | Source | Printed | Computed | |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_line, table)


def _line(claim: Claim) -> str:
    worked = claim.expected is not claim.printed
    printed = f"[{_number(claim.expected, 10)}]" if worked else _number(claim.printed, 10)
    computed = _number(claim.computed(), 6)
    return f"| {claim.claim} | {claim.source} | {printed} | {computed} | {claim.differs} |"


def _number(value: float | str, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


if __name__ == "__main__":
    print(page(), end="")
