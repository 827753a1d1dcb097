"""Errors that a user can cause; a message says what was given, what was expected, and a way out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from symbolic.safe_text import escape_controls, one_line

#: Maximum length of a name for which similar names are searched, and of a list. [characters]
_LONG_NAME, _LONG_LIST = 100, 4000


class DseError(ValueError):
    """An invalid input; the message says what was given and what would be valid.

    Control characters are replaced by their codes, because a file name may contain any character.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(escape_controls(a) if isinstance(a, str) else a for a in args))


class UnknownNameError(DseError):
    """Error for a name that is not known."""


class UnknownEntryError(UnknownNameError, KeyError):
    """Error for a key that a mapping of models, machines or workloads does not have."""

    __str__ = Exception.__str__


class DomainError(DseError):
    """Error for a value outside the domain of its quantity."""


class UnitError(DseError):
    """Error for a unit that is unknown or has another dimension than the quantity."""


class ExpressionError(DseError):
    """Error for a formula that cannot be parsed at the 0-based ``position`` in ``text``."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.message = message
        pointer = " " * len(one_line(text[:position])) + "^"
        shown = f"    {one_line(text)}\n    {pointer}"
        super().__init__(f"{message} (at position {position})\n{shown}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.text, self.position)


class GraphError(DseError):
    """Equations that cannot be joined: an input is missing, defined twice, or part of a cycle."""


class InfeasibleError(DseError):
    """Error if no point satisfies the rules and constraints."""


class InternalError(RuntimeError):
    """A fault of this program, raised in place of a result that breaks an invariant.

    ``query``, ``result`` and ``study`` describe the query, the faulty result and the study.
    """

    def __init__(self, what: str, *, query: str, result: str, study: str = "") -> None:
        self.what, self.query, self.result, self.study = what, query, result, study
        lines = [
            f"internal error, no answer is given: {what}",
            f"asked: {query}",
            f"got: {result}",
            *([f"study: {study}"] if study else []),
            "This is a fault of simt-dse and not of the input. Please report these lines, with the "
            "study file and the output of `dse doctor`. Another method (scan or certified) may "
            "answer meanwhile.",
        ]
        super().__init__("\n".join(lines))

    def with_study(self, study: str) -> InternalError:
        """Return a copy of the error that also contains the text of the study."""
        return InternalError(self.what, query=self.query, result=self.result, study=study)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {"query": self.query, "result": self.result, "study": self.study}
        return partial(InternalError, self.what, **fields), ()


class OutOfTimeError(InfeasibleError):
    """Error if no feasible point was found in the given time."""


class OtherProcessError(DseError):
    """Error if another process writes to the store or has replaced it."""


class DamagedError(DseError):
    """Error for a store whose content differs from what was written."""


class TooLargeError(DseError, MemoryError):
    """Error for a computation that needs more memory than is available."""


class UnfinishedError(DseError):
    """Error for a store in which values are missing because its run was stopped early."""


class UnreachableError(DseError):
    """Error for a URL that does not answer or may not be used."""


def nearest_hint(name: object, names: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" with the most similar known name, or "" if none is similar."""
    import difflib

    if len(str(name)) > _LONG_NAME:
        return ""
    near = [known for known in names if len(known) <= _LONG_NAME]
    close = difflib.get_close_matches(str(name), near, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_name(
    name: object, names: Collection[Any], message: str, listing: str = "there are"
) -> None:
    """Raise an error that lists the known names, unless ``name`` is one of them.

    >>> check_name("tme", ["time"], "'tme' is no output")
    Traceback (most recent call last):
    symbolic.errors.UnknownNameError: 'tme' is no output; did you mean 'time'?; there are: time
    """
    if name not in names:
        listed = ", ".join(one_line(str(known)) for known in names) or "none"
        listed = listed if len(listed) <= _LONG_LIST else f"{listed[:_LONG_LIST]} ..."
        raise UnknownNameError(f"{message}{nearest_hint(name, names)}; {listing}: {listed}")
