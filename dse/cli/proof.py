"""How an optimum is found, and what is proven of it: options and what is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import click

from dse.cli.beside import compiling_beside
from dse.cli.ends import UNPROVEN, end_with
from dse.cli.options import Adds, time_limit

#: What is told of an answer, of one where it is not 0, and of what is certified.
_ALWAYS = ("within", "configurations", "complete", "points_proven", "boxes_left")
_SOME = ("points_skipped", "points_left")
_TOLD = (
    *("bound", "gap", "settled", "boxes"),
    *("points_visited", "points_excluded"),
)


def proving() -> AbstractContextManager[object]:
    """While something may be proven: two processes compile the search, where it must be."""
    program = "from sweeps.bounds.search import parts; parts()"
    return compiling_beside(program, bodies=("enclose", "relax"), begins="dig")


def end_unproven(attributes: Mapping[str, Any], slack: float | None = None) -> None:
    """Let the command exit with 3 if its answer is not proven to the gap that was asked."""
    import numpy as np

    proven = np.all(np.atleast_1d(attributes.get("gap", 0.0)) <= (slack or 0.0))
    if not attributes.get("interrupted") and not (proven and attributes.get("complete", 1)):
        end_with(UNPROVEN)


def share(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A share of a value, as a number: 0.01, or 1%."""
    if value is None:
        return None
    try:
        found = float(value.strip().removesuffix("%")) / (100 if value.strip()[-1:] == "%" else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise click.BadParameter(f"{value!r} is no share such as 1% or 0.01", param=param)
    return found


def how(text: str) -> Adds:
    """The option --method."""
    kinds = click.Choice(["auto", "scan", "certified"])
    return click.option("--method", type=kinds, help=f"Look at every point, or {text}. [auto]")


def seconds(text: str) -> Adds:
    """The option --time-limit."""
    told = f"Seconds after which {text}; counted from the start of the command."
    return time_limit(told)


slack = click.option(
    "--gap",
    type=click.FloatRange(min=0),
    metavar="X",
    help="End when none can be better by more than this share, such as 0.05.",
)


def proof_data(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """For JSON: the method, what a scan left out, and the certificate of a certified answer."""
    found: dict[str, Any] = {"method": attributes.get("method", "scan")}
    found |= {name: attributes[name] for name in _ALWAYS if name in attributes}
    found |= {name: attributes[name] for name in _SOME if attributes.get(name)}
    if attributes.get("interrupted"):
        found["interrupted"] = True
    if "bound" in attributes:
        found["certificate"] = {key: attributes[key] for key in _TOLD if key in attributes}
        if "settled" in attributes:
            found["certificate"]["settled"] = bool(attributes["settled"])
    return found


def _of_each(gaps: Any, bounds: Any, settled: bool) -> str:
    """What is proven of objectives in order of priority."""
    if not gaps.any():
        told = "none is better in the order of the objectives"
        return told if settled else f"{told}, though an earlier one may be as good"
    parts = []
    for number, (gap, bound) in enumerate(zip(gaps.tolist(), bounds.tolist(), strict=True)):
        among = " among those as good before" if number else ""
        if gap == 0:
            parts.append(f"({number + 1}) none is better{among}")
        elif math.isfinite(bound):
            off = f"{bound:.6g}, {gap:.2%} from the best found"
            parts.append(f"({number + 1}) none{among} is better than {off}")
        else:
            parts.append(f"({number + 1}) nothing is proven: the time was up")
    return "; ".join(parts)


def proof_text(attributes: Mapping[str, Any]) -> str:
    """What is proven, or what a scan could leave out, in a line of its own; else nothing.

    >>> proof_text({"points_skipped": 4096}).strip()
    'scanned, but for 4,096 configurations: bounds over whole tiles told enough of them'

    >>> proof_text({"gap": 0.0, "bound": 2.5, "settled": 1, "boxes": 1200, "points_visited": 5,
    ...             "points_excluded": 1e20}).strip()
    'certified: none is better (1,200 boxes bounded, 5 points looked at, 1e+20 excluded)'
    """
    if attributes.get("points_left"):
        many = f"{attributes['points_left']:,}"
        return f"\n\nscanned, but for {many} configurations, of which one may be better"
    if "configurations" in attributes:
        many, how = attributes["configurations"], attributes["method"]
        return f"\n\n{how}: {many:,} within {attributes['within']:.4g} of the best, and no others"
    if attributes.get("points_skipped"):
        many = f"{attributes['points_skipped']:,}"
        return (
            f"\n\nscanned, but for {many} configurations: bounds over whole tiles told enough of "
            "them"
        )
    if "complete" in attributes:
        told = "each is proven to be on the front, and no others"
        if not attributes["complete"]:
            told = f"{attributes['points_proven']:,} are proven to be on the front; others may be, "
            told += f"in {attributes['boxes_left']:,} boxes: the time was up"
        return f"\n\ncertified: {told} ({attributes['boxes']:,} boxes bounded)"
    if "bound" not in attributes:
        return ""
    import numpy as np

    excluded = attributes["points_excluded"]
    gaps = np.atleast_1d(attributes["gap"])
    if gaps.size > 1:
        told = _of_each(gaps, np.atleast_1d(attributes["bound"]), bool(attributes["settled"]))
    elif (gap := float(gaps[0])) == 0:
        told = "none is better"
        told += "" if attributes["settled"] else ", though an earlier one may be as good"
    else:
        told = f"none is better than {attributes['bound']:.6g}, {gap:.2%} from the best found"
    many = f"{excluded:,}" if isinstance(excluded, int) else f"{excluded:.3g}"
    return (
        f"\n\ncertified: {told} ({attributes['boxes']:,} boxes bounded, "
        f"{attributes['points_visited']:,} points looked at, {many} excluded)"
    )
