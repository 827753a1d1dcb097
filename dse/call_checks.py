"""Check calls of public functions against their signatures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, cast

import numpy as np

import dse
from symbolic.errors import DseError, nearest_hint
from symbolic.file_access import FileScope

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Types in annotations: the classes that are accepted, and the words for what is expected.
_TYPES: Mapping[str, tuple[Any, str]] = {
    "None": (NoneType, ""),
    "bool": ((bool, np.bool_), "True or False"),
    "str": (str, "text"),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    **dict.fromkeys(("Path", "PathLike"), (PathLike, "a path")),
    "Sequence": (Iterable, "a list"),
    "Sequence[str]": (Iterable, "a list of texts"),
    "Mapping": (Mapping, "a mapping from names"),
    "Start": (Mapping, "a mapping from names to values"),
    "ColumnChoice": ((Mapping, Iterable, NoneType), "a list of names, or a mapping from names"),
    "PathBase": ((Path, FileScope, NoneType), "a folder as a Path"),
    "Callable": (Callable, "a function"),
}


class ArgumentError(DseError, TypeError):
    """Error for a call whose arguments do not fit the parameters of the function."""


def check_arguments(function: _Function) -> _Function:
    """Return the function with errors that name a wrong argument and what is expected.

    Flags are checked before the call. If the call ends in an error of Python, the arguments are
    compared with the signature: most functions have checks of their own with more precise errors.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name, value in options.items():
            if function.__annotations__.get(name) == "bool":
                _check_type(function, name, "bool", value)
        if function.__module__.startswith("symbolic."):  # their errors would come later
            _check_signature(function, args, options)
        try:
            return function(*args, **options)
        except (TypeError, AttributeError, ValueError, LookupError) as error:
            if not isinstance(error, DseError):
                _check_signature(function, args, options)
            raise

    return cast(_Function, call)


def _check_signature(function: Callable[..., Any], args: Any, options: Mapping[str, Any]) -> None:
    form = signature(function)
    names = [name for name in form.parameters if name not in ("cls", "self")]
    try:
        given = form.bind(*args, **options).arguments
    except TypeError as error:
        problem = str(error)
        takes_any = any(each.kind is each.VAR_KEYWORD for each in form.parameters.values())
        for name in () if takes_any else options.keys() - form.parameters.keys():
            problem = f"unexpected argument {name!r}{nearest_hint(name, names)}"
        known = ", ".join(names) or "none"
        raise ArgumentError(f"{_title(function)}: {problem}; its parameters are {known}") from None
    for name, value in given.items():
        _check_type(function, name, str(form.parameters[name].annotation), value)


def _check_type(function: Callable[..., Any], name: str, annotation: str, value: Any) -> None:
    """Raise ArgumentError if a value has none of the types in an annotation, if all are known."""
    if not _fits(value, annotation):
        known = [_TYPES.get(kind) or _TYPES[kind.partition("[")[0]] for kind in _split(annotation)]
        words = " or ".join(words for _, words in known if words)
        raise ArgumentError(
            f"{name} = {short_repr(value)}: expected {words}; help({_title(function)}) explains it"
        ) from None


def _fits(value: Any, annotation: str) -> bool:
    """True if a value and its items have one of the types in an annotation, or one is unknown."""
    for kind in _split(annotation):
        base, _, inside = kind.partition("[")
        if base not in _TYPES:
            return True
        if isinstance(value, _TYPES[base][0]) and (base == "str" or not isinstance(value, str)):
            items = value.values() if base == "Mapping" else value if base == "Sequence" else ()
            if all(_fits(item, inside[:-1].rpartition(", ")[2]) for item in items):
                return True
    return False


def _split(annotation: str) -> list[str]:
    return re.split(r" \| (?![^\[]*\])", annotation)


def _title(function: Callable[..., Any]) -> str:
    name = function.__qualname__.replace("StudyData.__init__", "Study")
    return f"dse.{name}" if name in dse._MODULE_OF else f"dse.Study.{name}"


def short_repr(value: Any) -> str:
    """Return a value as text in one line; a long text is cut, and followed by the type."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:40]} ... (a {type(value).__name__})"
