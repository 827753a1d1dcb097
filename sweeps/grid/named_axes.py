"""The axes along which a statistic goes, as its text names them."""

from __future__ import annotations

from collections.abc import Mapping

from sweeps.grid.space import Axis
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.graph import Graph
from symbolic.ops import Node
from symbolic.statistic import DESIGN, DRAW, RUN, StatisticName, statistics_of

__all__ = ["named_axes", "not_of_labels", "not_twice"]


def named_axes(name: StatisticName, axes: Mapping[str, Axis], switches: set[str]) -> set[str]:
    """The axes along which a statistic goes, as its text names them."""
    about, found = name.statistic, set[str]()
    for axis in about.axes:
        if axis == DESIGN:
            found |= {a for a in axes if a not in (DRAW, RUN, *about.around)}
            if not found:
                raise DseError(
                    f"{name}: design means all axes but {DRAW}, {RUN} and those of the statistics "
                    "around it, and none is left: name other axes"
                )
        elif axis in axes:
            found.add(axis)
        elif axis == DRAW:
            raise DseError(
                f"{name} goes over what is random, and nothing is: give quantities laws "
                f"([random], random=), or name axes, as in {about.kind}"
                f"({about.text}{', ' + about.said if about.said else ''}, "
                f"{next(iter(axes), 'workload')})"
            )
        else:
            raise UnknownNameError(
                f"{name}: {axis!r} is no axis of the study{nearest(axis, axes)}; its axes are: "
                f"{', '.join(axes) or 'none'}"
            )
    if wrong := [axis for axis in axes if axis in found & switches]:
        raise DseError(
            f"{name}: {wrong[0]} chooses among equations, and a statistic goes over values: name "
            "other axes"
        )
    return found


def not_twice(name: StatisticName, node: Node, named: set[str], depends: set[str]) -> None:
    """Refuse a statistic along an axis that statistics within it have left nothing of."""
    for inner in statistics_of([node]):
        twice = [axis for axis in inner.statistic.axes if axis in named - depends]
        if twice:
            raise DseError(
                f"{name}: {inner} goes over {twice[0]} already, so that nothing of it is left: "
                "take one of the two, or name another axis"
            )


def not_of_labels(name: StatisticName, graph: Graph) -> None:
    """Refuse a statistic, other than a chance, of what tells cases by numbers."""
    about = name.statistic
    if about.kind == "chance" or about.argument.op != "reference":
        return
    definition = graph.definitions.get(about.argument.args[0])
    if definition is not None and definition.equation and (flags := definition.equation.flags):
        raise DseError(
            f"{name}: {about.argument.args[0]} tells cases by numbers, which have no {about.kind}: "
            f"ask chance({about.argument.args[0]} == {str(next(iter(flags.values())))!r})"
        )
