"""What the function of a figure is given: options that it takes, the study they describe."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from dse.cli.frame import read_source
from dse.cli.kinds import KINDS
from dse.cli.unsaid import ANY, completed

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

__all__ = ["arguments_of"]

#: Options that the functions of kinds take as they are.
_DRAWN = ("over", "by", "x", "move", "borders", "relative", "at")


def arguments_of(
    kind: str, draw: Any, source: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the function of a kind is given, each option that it takes; what is chosen of it."""
    taken = inspect.signature(draw).parameters
    given: dict[str, Any] = {name: options[name] for name in _DRAWN}
    several = {name: options[name] for name in ("quantity", "minimize", "maximize")}
    for name, texts in several.items():
        many = name in taken and "Sequence" in str(taken[name].annotation)
        if len(texts) > 1 and not many:
            raise click.UsageError(f"{kind} takes one --{name}, was given {', '.join(texts)}")
        given[name] = texts if many else (texts[0] if texts else None)
    if "where" in taken:
        given["where"] = options["where"]
    given = {name: value for name, value in given.items() if value}
    for name in given:
        if name not in taken:
            can = [f"--{known}" for known in taken if known not in ("source", "ax", "point")]
            raise click.UsageError(f"{kind} does not take --{name}; it takes {', '.join(can)}")
    if "source" in taken and source is not None:
        read = _source(kind, source, options, given)
        defaults = {k: None if p.default is p.empty else p.default for k, p in taken.items()}
        whole = completed(kind, given, read, defaults, KINDS[kind].outputs)
        if isinstance(whole.get("quantity"), str) and "Sequence" in str(
            taken["quantity"].annotation
        ):
            whole["quantity"] = [whole["quantity"]]
        chosen = {name: value for name, value in whole.items() if given.get(name) != value}
        _complete(kind, taken, whole)
        return whole | {"source": read}, chosen
    if "counters" in taken and source is not None:
        given["counters"], source = source, None
    _complete(kind, taken, given)
    if "source" in taken:
        return given | {"source": _source(kind, source, options, given)}, {}
    if source is not None or options["axes"] or options["where"]:
        raise click.UsageError(
            f"{kind} draws one configuration: give it with --machine and --set; of a study take "
            f"{ANY}"
        )
    named = {name: options[name] for name in ("model", "machine", "workload") if options[name]}
    if kind == "law" and named:
        raise click.UsageError(f"law takes --set distribution and lanes, and no --{min(named)}")
    return given | named | options["given"], {}


def _complete(kind: str, taken: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Raise where an option that a kind needs is not given."""
    for name, parameter in taken.items():
        if parameter.default is not parameter.empty or name in given or name == "source":
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if name == "counters":
            raise click.UsageError(f"{kind} draws a table of counters: name its CSV file")
        raise click.UsageError(f"{kind} needs --{name}: give it a name")


def _source(
    kind: str, source: str | None, options: Mapping[str, Any], drawn: Mapping[str, Any]
) -> StudyData | xr.Dataset:
    """The study or dataset named, or the study that the options describe."""
    from dse.study.data import StudyData

    own = {"model": "--model", "machine": "--machine", "workload": "--workload"}
    own |= {"axes": "--axis", "given": "--set"} | ({} if "where" in drawn else {"where": "--where"})
    if source is not None:
        for name, option in own.items():
            if options[name]:
                raise click.UsageError(f"{option} describes a study, and {source} is one already")
        return read_source(source)
    model = options["model"] or KINDS[kind].model
    if not model:
        raise click.UsageError(f"{kind} draws a study: name its file, a store, or a --model")
    wanted = _names(drawn) or KINDS[kind].outputs
    return StudyData(
        model=model,
        machine=options["machine"],
        workload=options["workload"],
        axes=options["axes"],
        set=options["given"],
        where=() if "where" in drawn else options["where"],
        outputs=list(dict.fromkeys(wanted)) or None,
    )


def _names(drawn: Mapping[str, Any]) -> Sequence[str]:
    """The quantities that the options name, of which the study is to be made."""
    found: list[str] = []
    for name in ("quantity", "minimize", "maximize"):
        value = drawn.get(name, [])
        found += [value] if isinstance(value, str) else value
    return [name for name in found if name.isidentifier()]
