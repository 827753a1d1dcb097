"""Values and axes that the command line gives: of no study file, or instead of what one says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from dse.cli.frame import listed

__all__ = ["axis_of", "changed", "setting"]

_F = TypeVar("_F", bound=Callable[..., Any])
#: How a range of an axis begins; labels such as geometric:0.05 are none.
_RANGE = re.compile(r"\s*[-+.\d][^:,]*:[^,]+")


def setting(function: _F) -> _F:
    """The options --axis and --set."""
    text = "An axis, or Q=V,V,...; repeatable."
    axis = click.option("--axis", multiple=True, metavar="Q=A:B[:STEP]", help=text)
    given = click.option(
        "--set", "given", multiple=True, metavar="Q=VALUE", help="A value; repeatable."
    )
    return axis(given(function))


def axis_of(text: str) -> Any:
    """``1:30``, ``0.4 GHz:1.6 GHz:50 MHz`` or ``64,128,256``."""
    if not _RANGE.fullmatch(text):
        return [_number(piece) for piece in listed([text])]
    parts = [_number(piece.strip()) for piece in text.split(":")]
    if len(parts) > 3:
        raise click.UsageError(f"the axis {text!r}: expected START:STOP or START:STOP:STEP")
    return dict(zip(("start", "stop", "step"), parts, strict=False))


def _number(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def changed(
    fields: Mapping[str, Any], given: Mapping[str, str], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of a study in which values and axes stand instead of what it says of their names."""
    for name in given:
        if name in axes:
            raise click.UsageError(f"{name} is set and is an axis: keep one of them")
    own = {name: axes.get(name, v) for name, v in fields["axes"].items() if name not in given}
    values = {**fields["set"], **{name: _number(text) for name, text in given.items()}}
    found = {name: values.pop(name, fields[name]) for name in ("machine", "workload")}
    for name in axes:
        values.pop(name, None)
        found |= {name: None} if name in found else {}
    return {**found, "axes": {**own, **axes}, "set": values}
