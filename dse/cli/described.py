"""Values and axes that the command line gives: of no study file, or instead of what one says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from dse.cli.options import listed, pairs, values
from symbolic.reach import Base, Reach

#: How a range of an axis begins; labels such as geometric:0.05 are none.
_RANGE = re.compile(r"\s*[-+.\d][^:,]*:[^,]+")


def described(function: Any) -> Any:
    """The options --axis and --set."""

    def read(_ctx: click.Context, _option: click.Parameter, texts: Sequence[str]) -> dict[str, Any]:
        return {name: axis_of(text) for name, text in pairs(texts, "--axis").items()}

    text = "An axis, or Q=V,V,...; repeatable."
    axes = values("--axis", "axes", callback=read, metavar="Q=A:B[:STEP]", help=text)
    given = values("--set", "given", metavar="Q=VALUE", help="A value; repeatable.")
    return axes(given(function))


def axis_of(text: str) -> Any:
    """``1:30``, ``0.4 GHz:1.6 GHz:50 MHz`` or ``64,128,256``."""
    if not _RANGE.fullmatch(text):
        return [number_of(piece) for piece in listed([text])]
    parts = [number_of(piece.strip()) for piece in text.split(":")]
    if len(parts) > 3:
        raise click.UsageError(f"the axis {text!r}: expected START:STOP or START:STOP:STEP")
    return dict(zip(("start", "stop", "step"), parts, strict=False))


def number_of(text: str, kinds: Sequence[Callable[[str], Any]] = (int, float)) -> Any:
    """A number of the first kind that a text is of; else the text."""
    for read in kinds:
        try:
            return read(text)
        except ValueError:
            continue
    return text


def allowing(folder: Base, given: Mapping[str, str], axes: Mapping[str, Any]) -> Base:
    """Return the reach of a study in which files that the command line names may lie anywhere."""
    if not isinstance(folder, Reach):
        return folder
    listed = [text for axis in axes.values() if isinstance(axis, list) for text in axis]
    return folder.giving(str(text) for text in (*given.values(), *listed))


def changed(
    fields: Mapping[str, Any], given: Mapping[str, str], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of a study in which values and axes stand instead of what it says of their names."""
    for name in given:
        if name in axes:
            raise click.UsageError(f"{name} is set and is an axis: keep one of them")
    own = {name: axes.get(name, v) for name, v in fields["axes"].items() if name not in given}
    values = {**fields["set"], **{name: number_of(text) for name, text in given.items()}}
    found = {name: values.pop(name, fields[name]) for name in ("machine", "workload")}
    for name in axes:
        values.pop(name, None)
        found |= {name: None} if name in found else {}
    return {**found, "axes": {**own, **axes}, "set": values}
