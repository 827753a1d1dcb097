"""The errors a user can cause. Each says what was given, what was expected, and a way out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

from symbolic.safe_text import escape_controls, one_line

#: Letters of a name up to which names like it are looked for, and of a list of names.
_LONG_NAME, _LONG_LIST = 100, 4000


class DseError(ValueError):
    """Something given by the user does not fit; the message says what, and what would.

    Names of files stand in messages: characters that steer a terminal are shown by their codes.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(escape_controls(a) if isinstance(a, str) else a for a in args))


class UnknownNameError(DseError):
    """A name that is not known where it stands."""


class UnknownEntryError(UnknownNameError, KeyError):
    """A key that a mapping of models, machines or workloads does not hold."""

    __str__ = Exception.__str__


class DomainError(DseError):
    """A value outside the domain of its quantity."""


class UnitError(DseError):
    """A unit that is unknown, or that does not fit the quantity."""


class ExpressionError(DseError):
    """A formula that cannot be read; ``position`` is the 0-based place in ``text``."""

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
    """Equations that do not join: a missing input, two definitions, a cycle."""


class InfeasibleError(DseError):
    """No point satisfies the rules and constraints."""


class InternalError(RuntimeError):
    """A fault of this program: an answer that breaks an invariant is not given.

    ``asked`` and ``got`` tell of the question and of what is wrong, ``study`` of the study.
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
        """Return the error with the text of the study."""
        return InternalError(self.what, query=self.query, result=self.result, study=study)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {"query": self.query, "result": self.result, "study": self.study}
        return partial(InternalError, self.what, **fields), ()


class OutOfTimeError(InfeasibleError):
    """No point that satisfies them was found in the time given."""


class OtherProcessError(DseError):
    """Another process writes to a store, or has put another store into its place."""


class DamagedError(DseError):
    """A store that is not as it was written."""


class TooLargeError(DseError, MemoryError):
    """What would take more memory than there is."""


class UnfinishedError(DseError):
    """A store whose run was stopped before its end, so that values are missing."""


class UnreachableError(DseError):
    """A URL that does not answer, or may not be used."""


def nearest_hint(name: object, names: Iterable[str]) -> str:
    """The hint "; did you mean 'x'?" for the nearest known name, or nothing where none is near."""
    import difflib

    if len(str(name)) > _LONG_NAME:
        return ""
    near = [one for one in names if len(one) <= _LONG_NAME]
    close = difflib.get_close_matches(str(name), near, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_name(
    name: object, names: Collection[Any], message: str, listing: str = "there are"
) -> None:
    """Raise where a name is none of the known: what is ``said`` of it, and what there is instead.

    >>> check_name("tme", ["time"], "'tme' is no output")
    Traceback (most recent call last):
    symbolic.errors.UnknownNameError: 'tme' is no output; did you mean 'time'?; there are: time
    """
    if name not in names:
        listed = ", ".join(one_line(str(one)) for one in names) or "none"
        listed = listed if len(listed) <= _LONG_LIST else f"{listed[:_LONG_LIST]} ..."
        raise UnknownNameError(f"{message}{nearest_hint(name, names)}; {listing}: {listed}")
