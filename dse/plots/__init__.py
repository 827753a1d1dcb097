"""Plots of models and studies with matplotlib (the extra ``plot``).

Each function draws in an ``Axes`` that you pass, or in a new figure, and returns the ``Axes``. The
command ``dse plot`` draws the same plots. ``law_figure``, ``launch_figure`` and ``paper_figure``
return whole figures. The kinds of plots are defined in ``data/plots.toml``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dse.plots.kinds import KINDS

if TYPE_CHECKING:
    from dse.plots.laws import launch_figure, law_figure
    from dse.plots.papers import paper_figure

__all__ = ["launch_figure", "law_figure", "paper_figure"]
__all__ += [name.replace("-", "_") for name in KINDS]
__all__.sort()

_MODULES = {"launch_figure": "laws", "law_figure": "laws", "paper_figure": "papers"}


def __getattr__(name: str) -> Any:
    """Return the function that draws a kind of plot; matplotlib is imported when it is called."""
    if name in _MODULES:
        return getattr(import_module(f"dse.plots.{_MODULES[name]}"), name)
    kind = KINDS.get(name.replace("_", "-"), KINDS.get(name))
    if kind is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kind.function


def __dir__() -> list[str]:
    return [*globals(), *__all__]
