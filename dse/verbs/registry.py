"""The verbs: what is asked of a study, of models compared, of a Dataset or of a path.

A verb is a function of a module of this folder that :func:`verb` decorates. `dse/__init__.pyi`
makes it public and :class:`dse.faces.Verbs` a method; from here come its refusals, its row in
`docs/asking.md`, and, where `dse.cli` has none of its own, its command.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import dse
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.query import resolve_source
from dse.verbs.sources import kind_of, with_file_read
from sweeps.ask.matrix import MODIFIERS, refuse

_Verb = TypeVar("_Verb", bound=Callable[..., Any])

#: The verbs whose modules were loaded, by name.
_LOADED: dict[str, Callable[..., Any]] = {}
_KEYWORDS = {name: name for name in MODIFIERS if name != "objectives"}
_KEYWORDS |= {"minimize": "objectives", "maximize": "objectives"}


def verb(function: _Verb) -> _Verb:
    """Make a function a verb: it says why it does not take what other verbs take."""
    name = function.__name__

    @wraps(function)
    def asked(*source: Any, **given: Any) -> Any:
        taken = signature(function).parameters
        if others := {m: True for key, m in _KEYWORDS.items() if key in given.keys() - taken}:
            of = with_file_read(source[0] if source else given.get("source"))
            if not isinstance(of, (StudyData, ComparisonData)):
                of = resolve_source(of)
            refuse(name, kind_of(of), others)
        return function(*source, **given)

    _LOADED[name] = asked
    return asked  # type: ignore[return-value]


def verbs() -> dict[str, Callable[..., Any]]:
    """Return every verb by its name, in alphabetical order."""
    for home in set(dse._HOMES.values()):
        if home.startswith("dse.verbs."):
            importlib.import_module(home)
    return dict(sorted(_LOADED.items()))
