"""Refusing what a verb does not take, with the reason that the table of questions gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.reading import asked_of
from dse.verbs.sources import kind_of, with_file_read
from sweeps.ask.matrix import MODIFIERS, refuse

__all__ = ["with_reasons"]

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

_KEYWORDS = {name: name for name in MODIFIERS if name != "objectives"}
_KEYWORDS |= {"minimize": "objectives", "maximize": "objectives"}


def with_reasons(verb: _Verb) -> _Verb:
    """A verb that tells why it does not take what others take."""

    @wraps(verb)
    def told(*source: Any, **given: Any) -> Any:
        taken = signature(verb).parameters
        if others := {m: True for name, m in _KEYWORDS.items() if name in given.keys() - taken}:
            of = with_file_read(source[0] if source else given.get("source"))
            if not isinstance(of, (StudyData, ComparisonData)):
                of = asked_of(of)
            refuse(verb.__name__, kind_of(of), others)
        return verb(*source, **given)

    return told  # type: ignore[return-value]
