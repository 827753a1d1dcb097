"""Parse laws of work from texts such as ``uniform:20,40``, or read them from a CSV file."""

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from stochastic import delimited
from stochastic.checks import LawError
from stochastic.work.families import FAMILIES


@dataclass(frozen=True, slots=True)
class LawSyntax:
    """The syntax of a family: the names of its numbers.

    The last ``optional`` numbers may be left out. A family without names takes any number of
    values; its usage shows ``placeholder`` instead.
    """

    numbers: tuple[str, ...]
    example: str
    optional: int = 0
    aliases: tuple[str, ...] = ()
    note: str = ""
    placeholder: str = "P0,P1,..."

    def __str__(self) -> str:
        return self.usage + (f" ({self.note})" if self.note else "")

    @property
    def usage(self) -> str:
        """Return the usage, such as ``binomial:TRIALS,P``."""
        family = self.example.partition(":")[0]
        return f"{family}:{','.join(map(str.upper, self.numbers)) or self.placeholder}"


#: The syntax of each family of laws of work.
LAW_SYNTAX = {
    **{
        name: LawSyntax(row.names, row.example, aliases=row.aliases, note=row.note)
        for name, row in FAMILIES.items()
    },
    "weights": LawSyntax((), "weights:0.2,0.8"),
}
#: Upper limit on the characters of a number, so that messages stay readable.
_LONGEST = 500
_FILE = "the path of a .csv or .csv.gz file"
_PROBABILITIES = {"p", "prob", "probability", "probabilities", "weight", "weights", "pmf", "mass"}
_COUNTS = {"count", "counts", "items", "frequency", "n"}


def split_law(text: Any, forms: Mapping[str, LawSyntax], others: str) -> tuple[str, list[str]]:
    """Split the text of a law into the full name of its family and its numbers, as texts."""
    if not isinstance(text, str) or not text.strip():
        examples = ", ".join(form.example for form in forms.values())
        raise LawError(f"{text!r} is no law: expected one such as {examples}, or {others}")
    text = text.strip()
    name, _, rest = text.partition(":")
    family = _match_family(name.strip(), text, forms, others)
    form = forms[family]
    words = [word.strip() for word in rest.split(",")] if rest.strip() else []
    for word in words:
        if len(word) > _LONGEST:
            raise LawError(f"{_shorten(word)} in {_shorten(text)} is no number: it is too long")
    least = len(form.numbers) - form.optional
    fits = len(words) in (least, len(form.numbers)) if form.numbers else bool(words)
    if not fits:
        raise LawError(
            f"{_shorten(text)} gives {family} {len(words)} of its "
            f"{len(form.numbers) or 'one or more'} numbers: expected {form.usage}, such as "
            f"{form.example}"
        )
    return family, words


def _match_family(name: str, text: str, forms: Mapping[str, LawSyntax], others: str) -> str:
    short = name.lower().replace("-", "_").replace(" ", "_")
    if short in forms:
        return short
    named = [family for family, form in forms.items() if short in form.aliases]
    named = named or [family for family in forms if short and family.startswith(short)]
    if len(named) == 1:
        return named[0]
    if named:
        raise LawError(f"{_shorten(text)} may be {' or '.join(named)}: write more of the name")
    near = difflib.get_close_matches(short[:100], forms, n=1)
    raise LawError(
        f"{_shorten(text)} is no law: {_shorten(name)} names no family"
        + (f" (did you mean {near[0]!r}?)" if near else "")
        + f": expected {', '.join(forms)} with their numbers, such as "
        f"{next(iter(forms.values())).example}, or {others}"
    )


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def parse_law(text: Any) -> tuple[str, tuple[Any, ...]]:
    """Parse the text of a law of work; return a constructor of `Pmf` and its arguments."""
    if isinstance(text, str) and re.search(r"\.csv(\.gz)?$", text.strip(), flags=re.IGNORECASE):
        return _read_law(Path(text.strip()))
    family, words = split_law(text, LAW_SYNTAX, _FILE)
    numbers = tuple(_parse_number(word, text) for word in words)
    return ("from_weights", (list(numbers),)) if family == "weights" else (family, numbers)


def _parse_number(word: str, text: str) -> Any:
    try:
        if re.fullmatch(r"[+-]?\d+", word):
            return int(word)
        return Fraction(word) if "/" in word else float(word)
    except (ValueError, ZeroDivisionError):
        raise LawError(
            f"{_shorten(word)} in {_shorten(text)} is no number: expected one such as 0.05"
        ) from None


def _read_law(path: Path) -> tuple[str, tuple[Any, ...]]:
    """Read a law from one column (samples) or two (values, and probabilities or counts)."""
    table = delimited.read_table(path, header=False)
    columns = table.parse_numbers().columns
    if len(columns) > 2:
        raise LawError(
            f"{path}, line {table.lines[0]}: {len(columns)} columns; expected one column of "
            "samples, or two columns: values, and their probabilities or counts"
        )
    if not table.lines:
        raise LawError(f"{path} holds no numbers: expected samples, or values and probabilities")
    cells = zip(table.lines, table.columns[0], columns[0], strict=True)
    values = [_check_integer(path, *cell) for cell in cells]
    if len(columns) == 1:
        return "from_samples", (values,)
    result: dict[int, float] = {}
    weights = zip(table.lines, table.columns[1], columns[1], strict=True)
    for key, (line, text, number) in zip(values, weights, strict=True):
        if key in result:
            raise LawError(f"{path}, line {line}: the value {key} occurs a second time")
        result[key] = _check_real(path, line, text, number)
    named = table.names[1].lower() if table.names else ""
    whole = all(number.is_integer() for number in result.values())
    if named in _COUNTS or (named not in _PROBABILITIES and whole and sum(result.values()) != 1):
        if not whole:
            raise LawError(f"{path}: the column {named!r} holds fractions: expected counts")
        return "from_counts", ({key: int(number) for key, number in result.items()},)
    return "from_weights", (result,)


def _check_real(path: Path, line: int, text: str, value: Any) -> float:
    if text.strip().lower() == "nan":
        return math.nan
    if value is None or isinstance(value, str):
        raise LawError(f"{path}, line {line}: {text!r} is no number")
    return float(value)


def _check_integer(path: Path, line: int, text: str, value: Any) -> int:
    number = _check_real(path, line, text, value)
    if not (number >= 0 and number.is_integer()):
        raise LawError(f"{path}, line {line}: {text!r} is no whole number from 0 on")
    return int(value)
