"""Laws as they are spoken on a command line, and as they lie in CSV files."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from stochastic import delimited
from stochastic.errors import LawError

__all__ = ["PARAMETERS", "spoken"]

#: What each family takes, as a reader is told; weights may be any number.
PARAMETERS = {
    "bernoulli": ("p",),
    "binomial": ("trials", "p"),
    "geometric": ("p",),
    "negative_binomial": ("r", "p"),
    "poisson": ("rate",),
    "uniform": ("low", "high"),
    "weights": (),
}
INITIALS = {"nb": "negative_binomial", "negbin": "negative_binomial"}
EXAMPLES = "geometric:0.05, uniform:20,40, binomial:40,0.5, negative_binomial:5,0.3, poisson:30"
PROBABILITIES = {"p", "prob", "probability", "probabilities", "weight", "weights", "pmf", "mass"}
COUNTS = {"count", "counts", "items", "frequency", "n"}


def spoken(text: str) -> tuple[str, tuple[Any, ...]]:
    """The constructor of a law and its arguments."""
    if not isinstance(text, str) or not text.strip():
        raise LawError(f"{text!r} is no law: expected one such as {EXAMPLES} or the path of a CSV")
    text = text.strip()
    if re.search(r"\.csv(\.gz)?$", text, flags=re.IGNORECASE):
        return _read(Path(text))
    name, _, rest = text.partition(":")
    family = _family(name, text)
    wanted = PARAMETERS[family]
    words = [word.strip() for word in rest.split(",")] if rest.strip() else []
    if family == "weights" and words:
        return "from_weights", ([_number(word, text) for word in words],)
    if len(words) != len(wanted) or not words:
        such = next((e for e in EXAMPLES.split(", ") if e.startswith(family)), "")
        shape = f"{family}:{','.join(name.upper() for name in wanted) or 'P0,P1,...'}"
        raise LawError(
            f"{text!r} gives {family} {len(words)} of its {len(wanted) or 'one or more'} numbers: "
            f"expected {shape}" + (f", such as {such}" if such else "")
        )
    return family, tuple(_number(word, text) for word in words)


def _family(name: str, text: str) -> str:
    asked = name.strip().lower().replace("-", "_").replace(" ", "_")
    if asked in INITIALS:
        return INITIALS[asked]
    found = [family for family in PARAMETERS if asked and family.startswith(asked)]
    if asked in PARAMETERS:
        found = [asked]
    if len(found) == 1:
        return found[0]
    if found:
        raise LawError(f"{text!r} may be {' or '.join(found)}: write more of the name")
    raise LawError(
        f"{text!r} names no family: expected {', '.join(PARAMETERS)} with their numbers, such as "
        "geometric:0.05, or the path of a .csv or .csv.gz file"
    )


def _number(word: str, text: str) -> Any:
    """A whole number, a fraction a/b, or a float."""
    try:
        if re.fullmatch(r"[+-]?\d+", word):
            return int(word)
        return Fraction(word) if "/" in word else float(word)
    except (ValueError, ZeroDivisionError):
        raise LawError(f"{word!r} in {text!r} is no number: expected one such as 0.05") from None


def _read(path: Path) -> tuple[str, tuple[Any, ...]]:
    """Samples from one column; values with probabilities or counts from two."""
    table = delimited.read(path, header=False)
    columns = table.numbers().columns
    if len(columns) > 2:
        raise LawError(
            f"{path}, line {table.lines[0]}: {len(columns)} columns; expected one of samples, or "
            "two, of values and of their probabilities or counts"
        )
    if not table.lines:
        raise LawError(f"{path} holds no numbers: expected samples, or values and probabilities")
    values = [
        _whole(path, *cell) for cell in zip(table.lines, table.columns[0], columns[0], strict=True)
    ]
    if len(columns) == 1:
        return "from_samples", (values,)
    found: dict[int, float] = {}
    weights = zip(table.lines, table.columns[1], columns[1], strict=True)
    for key, (line, text, number) in zip(values, weights, strict=True):
        if key in found:
            raise LawError(f"{path}, line {line}: the value {key} occurs a second time")
        found[key] = _real(path, line, text, number)
    named = table.names[1].lower() if table.names else ""
    whole = all(number.is_integer() for number in found.values())
    if named in COUNTS or (named not in PROBABILITIES and whole and sum(found.values()) != 1):
        if not whole:
            raise LawError(f"{path}: the column {named!r} holds fractions: expected counts")
        return "from_counts", ({key: int(number) for key, number in found.items()},)
    return "from_weights", (found,)


def _real(path: Path, line: int, text: str, value: Any) -> float:
    if text.strip().lower() == "nan":
        return math.nan
    if value is None or isinstance(value, str):
        raise LawError(f"{path}, line {line}: {text!r} is no number")
    return float(value)


def _whole(path: Path, line: int, text: str, value: Any) -> int:
    number = _real(path, line, text, value)
    if not (number >= 0 and number.is_integer()):
        raise LawError(f"{path}, line {line}: {text!r} is no whole number from 0 on")
    return int(value)
