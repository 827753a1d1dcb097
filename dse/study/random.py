"""The grid of a study without the axes along which only statistics are asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sweeps.grid.axes import Axis
from sweeps.grid.grid import Grid
from symbolic.equation import EquationSet
from symbolic.errors import DseError
from symbolic.expression import parse_output
from symbolic.ops import Node, references
from symbolic.statistics import DRAW, StatisticName, statistics_of

if TYPE_CHECKING:
    from dse.uncertain.draws import RandomInputs

_Study = TypeVar("_Study", bound=Any)


def mean_and_error(name: str, model: EquationSet) -> tuple[str, ...]:
    """Return what a run tells of an output that is random: its mean, and the error of that.

    A statistic over the draws stays, with its error; so does any other. Labels and cases have no
    mean: nothing is told of them.
    """
    quantities = model.quantities
    text = quantities[name].is_label if name in quantities else name.isidentifier()
    if text or any(eq.name == name and eq.flags for eq in model.equations):
        return ()
    told = parse_output(name if name in quantities else str(name), quantities)
    if not isinstance(told, StatisticName):
        told = parse_output(f"mean({name})", quantities)
    assert isinstance(told, StatisticName)
    about = told.statistic
    if about.kind == "error" or DRAW not in about.axes:
        return (told,)
    return told, parse_output(f"error({about.formula_text})", quantities)


def statistic_axes(grid: Grid, roots: Sequence[Node]) -> set[str]:
    """The axes along which statistics of some formulas go, and on which the formulas do not lie."""
    names = {name for root in roots for name in references(root)}
    lies = {axis for name in names for axis in grid.dims(name)}
    result: set[str] = set()
    waiting = statistics_of(roots)
    while waiting:
        name = waiting.pop()
        for key in grid.leaves:
            leaf = grid.leaves[key].get(name)
            result |= set(getattr(leaf, "along", ()))
        waiting += statistics_of([name.statistic.argument])
    return result - lies


def check_not_random(grid: Grid, formulas: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise where something that is asked has another value in each draw.

    ``texts`` are formulas and conditions as they are written, with the quantities in them.
    """
    for text, known in formulas:
        names = tuple(known)
        random = [name for name in names if DRAW in grid.dims(name)]
        if random:
            kind = grid.model.quantity(random[0])
            condition = text not in names and any(sign in text for sign in ("<", ">", "="))
            way = (
                f"chance({text}) >= 0.99" if condition else f"mean({text}), quantile({text}, 0.95)"
            )
            raise DseError(
                f"{text} has another value in each draw, for {kind.name} is random: ask a "
                f"statistic, such as {way}, or ask per draw"
            )


def drop_axes(grid: Grid, axes: set[str]) -> Grid:
    """A grid over the other axes: what lies along these is left out.

    Its statistics know the conditions that lie along these. A condition may lie along them under
    some labels of a switch only: under the other labels it stays a condition of the grid.
    """
    gone = axes & set(grid.axes)
    if not gone:
        return grid
    from sweeps.bounds.checks import check_grid

    check_grid(grid, count_points=False, require_feasible=False)

    def is_independent(name: str) -> bool:
        return not gone & set(grid.dims(name))

    graphs = {
        key: replace(
            graph,
            conditions=tuple(
                c
                for c in graph.conditions
                if not gone & grid.node_dims(graph.flat_condition(c), key)
            ),
        )
        for key, graph in grid.graphs.items()
    }
    return replace(
        grid,
        axes={name: axis for name, axis in grid.axes.items() if name not in gone},
        graphs=graphs,
        outputs=tuple(name for name in grid.outputs if is_independent(name)),
        _dims={},
        cache={"formulas": True},
    )


def replace_draws(study: _Study, axis: Axis) -> _Study:
    """A study with other draws."""
    parts = study._parts
    axes = tuple(axis if one.name == DRAW else one for one in parts.axes)
    other: _Study = object.__new__(type(study))
    for each in fields(study):
        object.__setattr__(other, each.name, getattr(study, each.name))
    kept = {"uncertain": study.random_inputs, "parts": replace(parts, axes=axes)}
    object.__setattr__(other, "_cache", kept)
    return other


def require_random_inputs(study: Any) -> RandomInputs:
    """What a study knows of its random inputs.

    Raises
    ------
    DseError
        Nothing is random.
    """
    if study.random_inputs is None:
        raise DseError(
            "nothing is random: give quantities laws, as in [random] mem_latency = "
            '"normal: 600 cycles, 10 %" (random= in Python)'
        )
    result: RandomInputs = study.random_inputs
    return result
