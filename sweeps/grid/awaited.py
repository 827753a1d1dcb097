"""Statistics over axes, as leaves of a grid: computed when they are first wanted.

A statistic has no value of its own before all values of its formula are known along its axes. So it
is a leaf, over the other axes on which the formula depends; what it is made of is a grid of its
own, in which the axes it goes along come last. Statistics along the same axes that are wanted at
once are computed in one pass over the values.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.grid import POINT, Grid, Leaf, part_of, points_of
from sweeps.grid.space import Axis
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.graph import Graph
from symbolic.ops import Node, both, constant, reference, references, where
from symbolic.statistic import DESIGN, DRAW, RUN, Statistic, StatisticName, statistics_of

Floats = NDArray[np.float64]
#: Computes the statistics of some formulas over the same grid, each an array over the other axes.
Fold = Callable[[Sequence["Folding"]], Mapping[str, Floats]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Formulas with the same axes in the same part of the grid: one pass can compute them all."""

    lock: Any = field(default_factory=threading.RLock)
    #: The last part that was asked for: its group, and each formula there.
    parts: dict[Any, tuple[Group, dict[Folding, Folding]]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Folding:
    """A formula over a grid, and its statistics along the last axes of that.

    ``root`` is NaN where the formula has no value. ``along`` begins with the draws where it goes
    over these.
    """

    grid: Grid
    root: Node
    rest: tuple[str, ...]
    along: tuple[str, ...]
    fold: Fold
    group: Group = field(default_factory=Group)
    statistics: dict[str, Statistic] = field(default_factory=dict)
    _found: dict[str, Floats] = field(init=False, default_factory=dict)

    @property
    def weights(self) -> Floats | None:
        """How much each point along the axes counts, in sum 1; None where all count alike."""
        axes = [self.grid.axes[axis] for axis in self.along]
        if all(axis.weights is None for axis in axes):
            return None
        found = np.ones(1)
        for axis in axes:
            found = np.multiply.outer(found, axis.shares).reshape(-1)
        return found

    @property
    def replicates(self) -> int:
        """How many samples of draws there are along its axes."""
        return self.grid.axes[DRAW].replicates if DRAW in self.along else 1

    @property
    def draws(self) -> int:
        """Return the number of draws along its axes; 1 where it does not go over them."""
        return self.grid.axes[DRAW].size if DRAW in self.along else 1

    @property
    def known(self) -> bool:
        """Whether they are computed."""
        return len(self._found) >= len(self.statistics)

    def array(self, name: str) -> Floats:
        """A statistic over the other axes."""
        self.compute([self])
        return self._found[name]

    def compute(self, foldings: Sequence[Folding]) -> None:
        """Compute the statistics of formulas of this group that are not known, in one pass."""
        with self.group.lock:
            missing = [folding for folding in foldings if not folding.known]
            if missing:
                found = self.fold(missing)
                for folding in missing:
                    folding._found.update({name: found[name] for name in folding.statistics})

    def cut(self, parts: Mapping[str, slice]) -> Folding:
        """The same within a part of some axes."""
        with self.group.lock:
            key = tuple((axis, cut.start, cut.stop) for axis, cut in sorted(parts.items()))
            if key not in self.group.parts:
                self.group.parts.clear()  # one part after another is wanted
                self.group.parts[key] = Group(), {}
            group, within = self.group.parts[key]
            if self not in within:
                within[self] = replace(self, grid=part_of(self.grid, parts), group=group)
            return within[self]

    def at(self, places: Mapping[str, Any]) -> Folding:
        """The same at some points, given by indices along the other axes; slices stay whole."""
        whole = tuple(axis for axis in self.rest if isinstance(places[axis], slice))
        here = {axis: places[axis] for axis in self.rest if axis not in whole}
        grid = points_of(self.grid, (), here, (*whole, *self.along))
        return replace(self, grid=grid, rest=(POINT, *whole), group=Group())


class Awaited(Leaf):
    """A statistic as a leaf, computed when its values are first read."""

    __slots__ = ("folding", "name")

    folding: Folding
    name: str

    def __init__(
        self, folding: Folding, name: str, axes: tuple[str, ...], switched: tuple[str, ...]
    ) -> None:
        for key, value in {"axes": axes, "switched": switched, "failed": {}}.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "folding", folding)
        object.__setattr__(self, "name", name)

    @property
    def array(self) -> Any:
        """Its values."""
        found = self.folding.array(self.name)
        if self.axes == self.folding.rest:
            return found
        return found.transpose([self.folding.rest.index(axis) for axis in self.axes])

    @property
    def pending(self) -> Folding | None:
        """See :class:`sweeps.grid.grid.Leaf`."""
        return None if self.folding.known else self.folding

    def __reduce__(self) -> Any:
        return _plain, (self.axes, self.array, self.switched)

    def cut(self, parts: Mapping[str, slice]) -> Leaf:
        """See :class:`sweeps.grid.grid.Leaf`; only what the part is made of is computed.

        What is told along the axes of a statistic is of all their values, whatever the part.
        """
        used = {axis: part for axis, part in parts.items() if axis in self.axes}
        if not used:
            return self
        if self.folding.known:
            return _plain(self.axes, self.array, self.switched).cut(parts)
        return Awaited(self.folding.cut(used), self.name, self.axes, self.switched)

    def taken(self, places: Mapping[str, NDArray[np.int64]]) -> Leaf:
        """See :class:`sweeps.grid.grid.Leaf`; all values are computed."""
        return _plain(self.axes, self.array, self.switched).taken(places)

    def pick(self, places: Mapping[str, Any]) -> NDArray[Any]:
        """See :class:`sweeps.grid.grid.Leaf`; of few points no others are computed."""
        if self.folding.known or not self.axes:
            return super().pick(places)
        return self.folding.at(places).array(self.name)

    @property
    def along(self) -> tuple[str, ...]:
        """The axes along which it goes."""
        return self.folding.along

    def ordered(self, axes: Sequence[str]) -> Leaf:
        """See :class:`sweeps.grid.grid.Leaf`."""
        own = tuple(axis for axis in axes if axis in self.axes)
        return self if own == self.axes else Awaited(self.folding, self.name, own, self.switched)


def _plain(axes: tuple[str, ...], array: Floats, switched: tuple[str, ...]) -> Leaf:
    return Leaf(axes=axes, array=array, switched=switched)


def add_statistics(
    graph: Graph, leaves: dict[str, Leaf], axes: Mapping[str, Axis], switches: set[str], fold: Fold
) -> None:
    """Enter the statistics of a graph among its leaves, those of its conditions first.

    A point where a condition fails has no value: most statistics along an axis with such a point
    are NaN, and the best leaves it out. Statistics within conditions see those without any.

    Raises
    ------
    DseError
        An axis that is none of the study, or along which a statistic cannot go.
    """
    entry = _Entry(graph, leaves, axes, switches, fold)
    held = graph.ancestors(name for c in graph.conditions for name in references(c.node))
    for name in sorted(graph.statistics, key=lambda name: name not in held):
        assert isinstance(name, StatisticName)
        leaves[name] = entry.leaf(name, plain=name in held)
    asked = held & graph.ancestors(graph.outputs)
    for name in graph.statistics:
        if name in asked and isinstance(name, StatisticName):
            entry.refuse_unseen(name)


class _Entry:
    """The statistics of one graph, which become leaves over the axes of a study."""

    def __init__(
        self,
        graph: Graph,
        leaves: Mapping[str, Leaf],
        axes: Mapping[str, Axis],
        switches: set[str],
        fold: Fold,
    ) -> None:
        self.graph, self.leaves, self.axes = graph, leaves, axes
        self.switches, self.fold = switches, fold
        self.foldings: dict[Any, Folding] = {}
        self.groups: dict[Any, Group] = {}

    def over(self, *nodes: Node) -> set[str]:
        """The axes of the leaves below some nodes."""
        return {axis for n in references(*nodes) for axis in self.leaves[n].axes}

    def leaf(self, name: StatisticName, plain: bool) -> Leaf:
        """The leaf of a statistic; a ``plain`` one sees no conditions with statistics in them."""
        graph, leaves, axes, about = self.graph, self.leaves, self.axes, name.statistic
        node = graph.flattened(about.argument)
        if about.kind == "error":
            inner = leaves[node.args[0]]
            assert isinstance(inner, Awaited)
            if DRAW not in about.axes:
                raise DseError(
                    f"{name}: {node.args[0]} goes over {', '.join(inner.along) or 'no axis'}, and "
                    "an error is told of a statistic over draw itself: ask for that of the one "
                    "within"
                )
            own = replace(inner.folding, statistics={name: about})
            return Awaited(own, name, inner.axes, inner.switched)
        self._refuse_labels(name)
        named, depends = self._named(name), self.over(node)
        for within in statistics_of([node]):
            if twice := [axis for axis in within.statistic.axes if axis in named - depends]:
                raise DseError(
                    f"{name}: {within} goes over {twice[0]} already, so that nothing of it is "
                    "left: take one of the two, or name another axis"
                )
        flat = [(c, graph.flat_condition(c)) for c in graph.conditions]
        known = [(c, held) for c, held in flat if not (plain and statistics_of([held]))]
        seen = [(c, held) for c, held in known if self.over(held) & named]
        inside = [held for _, held in seen]
        reach = depends.union(*(self.over(held) for held in inside))
        along = tuple(sorted(named & reach, key=lambda a: (a != DRAW, list(axes).index(a))))
        rest = tuple(axis for axis in axes if axis in reach and axis not in along)
        failed = [n for n in references(node) if leaves[n].failed]
        valid = [*inside, *(constant(reference(n) >= -math.inf) for n in failed)]
        if about.kind == "chance":
            node = constant(where(both(*valid, node), 1.0, 0.0))
        elif valid:
            node = constant(where(constant(both(*valid)), node, math.nan))
        key = (node, rest, along)
        if key not in self.foldings:
            order = (*rest, *along)
            self.foldings[key] = Folding(
                grid=Grid(
                    model=graph.model,  # type: ignore[arg-type]
                    axes={axis: axes[axis] for axis in order},
                    switch_axes=(),
                    graphs={(): graph},
                    leaves={(): {n: leaves[n].ordered(order) for n in references(node)}},
                    outputs=(),
                ),
                root=node,
                rest=rest,
                along=along,
                fold=self.fold,
                group=self.groups.setdefault((rest, along), Group()),
            )
        self.foldings[key].statistics[name] = about
        switched = {axis for n in references(node) for axis in leaves[n].switched}
        # a switch may change nothing but the conditions that it sees
        chosen = references(about.argument, *(c.node for c, _ in seen))
        switched |= graph.switches_of(chosen) & self.switches
        own_switches = tuple(axis for axis in axes if axis in switched)
        return Awaited(self.foldings[key], name, rest, own_switches)

    def _named(self, name: StatisticName) -> set[str]:
        """The axes along which a statistic goes, as its text names them."""
        about, axes, found = name.statistic, self.axes, set[str]()
        for axis in about.axes:
            if axis == DESIGN:
                found |= {a for a in axes if a not in (DRAW, RUN, *about.around)}
                if not found:
                    raise DseError(
                        f"{name}: design means all axes but {DRAW}, {RUN} and those of the "
                        "statistics around it, and none is left: name other axes"
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
        if wrong := [axis for axis in axes if axis in found & self.switches]:
            raise DseError(
                f"{name}: {wrong[0]} chooses among equations, and a statistic goes over values: "
                "name other axes"
            )
        return found

    def _refuse_labels(self, name: StatisticName) -> None:
        """Refuse a statistic, other than a chance, of what tells cases by numbers."""
        about = name.statistic
        if about.kind == "chance" or about.argument.op != "reference":
            return
        definition = self.graph.definitions.get(about.argument.args[0])
        if definition is not None and definition.equation and (flags := definition.equation.flags):
            raise DseError(
                f"{name}: {about.argument.args[0]} tells cases by numbers, which have no "
                f"{about.kind}: ask chance({about.argument.args[0]} == "
                f"{str(next(iter(flags.values())))!r})"
            )

    def refuse_unseen(self, name: StatisticName) -> None:
        """Refuse a statistic that is asked for, and as part of a condition does not see another."""
        named = self._named(name)
        for condition in self.graph.conditions:
            node = self.graph.flat_condition(condition)
            lies = self.over(node) & named
            if lies and statistics_of([node]):
                raise DseError(
                    f"{name} is asked for and stands in a condition, where it does not see "
                    f"{condition.text!r}, which differs along {', '.join(sorted(lies))}: leave one "
                    "of the conditions out, or ask for another statistic"
                )


# --- Statistics some configurations at a time, so that what is held does not grow with the grid


#: Values of a statistic that are held at once.
HELD = sizes.PORTION


def portions(
    grid: Grid, roots: Mapping[tuple[str, ...], Sequence[Node]], kept: Iterable[str] = ()
) -> list[dict[str, slice]]:
    """Parts of a grid in which no statistic below some roots has more values than are held.

    They follow each other along one axis, none of those ``kept``, nor one that a statistic goes
    along. Where there is none, or no need, there is one part: the whole.
    """
    found = [
        leaf
        for key, nodes in roots.items()
        for leaf in _awaited(grid.leaves[key], references(*nodes))
    ]
    waiting = (leaf for leaf in found if not leaf.folding.known)
    largest = max((math.prod(leaf.folding.grid.shape(leaf.axes)) for leaf in waiting), default=0)
    along = {axis for leaf in found for axis in leaf.along}
    axes = {axis for leaf in found for axis in leaf.axes if axis in grid.axes}
    free = axes - along - set(kept) - set(grid.switch_axes)
    if largest <= HELD or not free:
        return [{}]
    axis = max(grid.ordered(free), key=lambda name: grid.axes[name].size)
    size = grid.axes[axis].size
    step = max(1, size * HELD // largest)
    return [{axis: slice(low, min(low + step, size))} for low in range(0, size, step)]


def _awaited(leaves: Mapping[str, Leaf], names: Iterable[str]) -> Iterator[Awaited]:
    """The statistics among some leaves, and those within these."""
    for name in names:
        leaf = leaves[name]
        if isinstance(leaf, Awaited):
            yield leaf
            inner: Mapping[str, Leaf] = leaf.folding.grid.leaves[()]
            yield from _awaited(inner, references(leaf.folding.root))
