"""Read the kinds of plots from ``data/plots.toml``, and make a function for each kind."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FILE = Path(__file__).parents[1] / "data" / "plots.toml"
#: For each kind of source, the names of the parameters that take the data.
_FIRST_PARAMETERS = dict.fromkeys(("study", "random"), ("source",)) | {
    "counters": ("counters",),
    "kernels": ("sources",),
}


@dataclass(frozen=True, kw_only=True)
class PlotKind:
    """A kind of plot, which is a table of ``data/plots.toml``; this file describes the keys."""

    name: str
    shows: str
    draw: str
    details: str = ""
    source: str = "study"
    takes: Sequence[str] = ()
    axes: float | None = None
    lines: int = 16
    goals: int = 0
    prefers: str = ""
    model: str = ""
    outputs: Sequence[str] = ()
    instead: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    row: Mapping[str, Any] = field(default_factory=dict)

    def _options_with(self, mark: str) -> tuple[str, ...]:
        return tuple(name.rstrip("!*") for name in self.takes if mark in name)

    @cached_property
    def option_names(self) -> tuple[str, ...]:
        """The names of all options of the kind."""
        return self._options_with("")

    @cached_property
    def required_options(self) -> tuple[str, ...]:
        """The names of the options that must be given."""
        return self._options_with("!")

    @cached_property
    def list_options(self) -> tuple[str, ...]:
        """The names of the options that take several values."""
        return self._options_with("*")

    @property
    def is_of_study(self) -> bool:
        """True if the kind draws a study rather than a point or a table of counters."""
        return self.source in ("study", "random")

    @cached_property
    def function(self) -> Callable[..., Axes]:
        """The function that draws the kind, with its options as keyword parameters."""
        first = _FIRST_PARAMETERS.get(self.source, ())
        by_place = [*first, *(name for name in self.required_options if name == "quantity")]
        rest = [name for name in self.option_names if name not in by_place]
        defaults = dict.fromkeys([*rest, "ax"], None) | dict(self.options)
        defaults |= dict.fromkeys(self.required_options, Parameter.empty)
        form = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in by_place]
        form += [Parameter(n, Parameter.KEYWORD_ONLY, default=defaults[n]) for n in (*rest, "ax")]
        if self.source in ("point", "counters"):
            form.append(Parameter("point", Parameter.VAR_KEYWORD))
        signature = Signature(form)

        def draw(*args: Any, **options: Any) -> Axes:
            try:
                arguments = signature.bind(*args, **options).arguments
            except TypeError as error:
                raise TypeError(f"{draw.__name__}{signature}: {error}") from None
            from dse.verbs.sources import with_quantity_names

            arguments |= arguments.pop("point", {})
            arguments = with_quantity_names(arguments.get("source"), arguments)
            module, _, name = self.draw.partition(".")
            function = getattr(import_module(f"dse.plots.{module}"), name)
            extra = {"row": self.row} if self.row else {}
            return function(**{**self.options, **arguments, **extra})

        draw.__name__ = draw.__qualname__ = self.name.replace("-", "_")
        draw.__module__ = "dse.plots"
        head = f"Draw {self.shows}.\n\n{self.details}".rstrip()
        known = "\n".join(f"    {p.name}: {_OPTIONS[p.name]}." for p in form if p.name in _OPTIONS)
        draw.__doc__ = f"{head}\n\nParameters:\n{known}\n"
        draw.__dict__["__signature__"] = signature
        return draw


def read_kinds(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, PlotKind]:
    """Return a mapping from names to kinds, read from tables as in ``data/plots.toml``."""
    return {name: PlotKind(name=name, **row) for name, row in rows.items()}


_DATA = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_OPTIONS: Mapping[str, str] = _DATA["option"]
KINDS: dict[str, PlotKind] = read_kinds(_DATA["kind"])
