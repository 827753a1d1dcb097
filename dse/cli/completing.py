"""What a shell proposes as names: models, machines, workloads, quantities, values of a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _of(names: Callable[[], Iterable[str]], files: tuple[str, ...] = ()) -> _Complete:
    """Proposes the names, of a list with commas or a sum the last, and files where none fits."""

    def complete(_ctx: Any, _parameter: Any, begun: str) -> list[CompletionItem]:
        try:
            known = sorted(names())
        except Exception:  # a shell must not be shown an error while somebody types
            return []
        cut = max(begun.rfind(","), begun.rfind("+"), begun.rfind(" ")) + 1
        before, last = begun[:cut], begun[cut:]
        found = [CompletionItem(before + name) for name in known if name.startswith(last)]
        if found or not files:
            return found
        folder = Path(begun).parent
        paths = sorted(folder.glob(Path(begun).name + "*")) if folder.is_dir() else []
        return [CompletionItem(str(p)) for p in paths if p.suffix in files or p.is_dir()]

    return complete


def _entries(kind: str) -> Callable[[], Iterable[str]]:
    def names() -> Iterable[str]:
        from dse import catalog

        return catalog.machines() if kind == "machine" else catalog.workloads()

    return names


def _models() -> Iterable[str]:
    from dse.library import models as known

    return known()


def _quantities() -> Iterable[str]:
    from symbolic.quantities import TABLE

    return TABLE


models = _of(_models, (".py",))
machines = _of(_entries("machine"), (".toml",))
workloads = _of(_entries("workload"), (".toml",))
quantities = _of(_quantities)


def point(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Of ``NAME=VALUE``: the names of the quantities, or of machines and workloads."""
    name, given, value = begun.partition("=")
    if not given:
        rows = quantities(ctx, parameter, name)
        kinds = [CompletionItem(kind) for kind in ("machine", "workload") if kind.startswith(name)]
        return [CompletionItem(f"{row.value}=") for row in [*kinds, *rows]]
    known = {"machine": machines, "workload": workloads}.get(name)
    rows = known(ctx, parameter, value) if known else []
    return [CompletionItem(f"{name}={row.value}") for row in rows]
