"""Replace the random outputs of a study's grid by statistics over the draws."""

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
    """Return the statistics that a run stores for a random output: its mean and the mean's error.

    If the output is a statistic over the draws, return this statistic and its error. Labels and
    cases have no mean; for them the result is empty.
    """
    quantities = model.quantities
    text = quantities[name].is_label if name in quantities else name.isidentifier()
    if text or any(eq.name == name and eq.flags for eq in model.equations):
        return ()
    output = parse_output(name if name in quantities else str(name), quantities)
    if not isinstance(output, StatisticName):
        output = parse_output(f"mean({name})", quantities)
    assert isinstance(output, StatisticName)
    statistic = output.statistic
    if statistic.kind == "error" or DRAW not in statistic.axes:
        return (output,)
    return output, parse_output(f"error({statistic.formula_text})", quantities)


def statistic_axes(grid: Grid, roots: Sequence[Node]) -> set[str]:
    """Return the axes that the formulas use only inside statistics."""
    names = {name for root in roots for name in references(root)}
    own_axes = {axis for name in names for axis in grid.dims(name)}
    result: set[str] = set()
    waiting = statistics_of(roots)
    while waiting:
        name = waiting.pop()
        for leaves in grid.leaves.values():
            result |= set(getattr(leaves.get(name), "reduced_axes", ()))
        waiting += statistics_of([name.statistic.argument])
    return result - own_axes


def check_not_random(grid: Grid, formulas: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise DseError if one of the formulas, given as (text, quantities), depends on the draw."""
    for text, known in formulas:
        names = tuple(known)
        random = [name for name in names if DRAW in grid.dims(name)]
        if random:
            kind = grid.model.quantity(random[0])
            condition = text not in names and any(sign in text for sign in ("<", ">", "="))
            ways = f"mean({text}), or query per draw"
            if condition:
                ways = f"chance({text}) >= 0.99, or give it to dse chances (--where), which tests "
                ways += "each draw"
            raise DseError(
                f"{text} differs from draw to draw, as {kind.name} is random: use a statistic, "
                f"such as {ways}"
            )


def drop_axes(grid: Grid, axes: set[str]) -> Grid:
    """Return a grid without some axes, and without outputs and conditions that depend on them."""
    gone = axes & set(grid.axes)
    if not gone:
        return grid
    from sweeps.bounds.checks import check_grid

    check_grid(grid, count_points=False, require_feasible=False)

    graphs = {}
    for key, graph in grid.graphs.items():
        pairs = [(c, grid.node_dims(graph.flat_condition(c), key)) for c in graph.conditions]
        graphs[key] = replace(graph, conditions=tuple(c for c, dims in pairs if not gone & dims))
    return replace(
        grid,
        axes={name: axis for name, axis in grid.axes.items() if name not in gone},
        graphs=graphs,
        outputs=tuple(name for name in grid.outputs if not gone & set(grid.dims(name))),
        _dims={},
        cache={"formulas": True},
    )


def replace_draws(study: _Study, axis: Axis) -> _Study:
    """Return a copy of a study in which ``axis`` replaces the axis of draws."""
    parts = study._parts
    axes = tuple(axis if known.name == DRAW else known for known in parts.axes)
    other: _Study = object.__new__(type(study))
    for each in fields(study):
        object.__setattr__(other, each.name, getattr(study, each.name))
    cache = {"uncertain": study.random_inputs, "parts": replace(parts, axes=axes)}
    object.__setattr__(other, "_cache", cache)
    return other


def require_random_inputs(study: Any) -> RandomInputs:
    """Return the random inputs of a study; raise DseError if there are none."""
    if study.random_inputs is None:
        raise DseError(
            "no input is random: give quantities laws, as in [random] mem_latency = "
            '"normal: 600 cycles, 10 %" (random= in Python), or [random] assumed = true for the '
            "inputs that nobody published for the machine"
        )
    return study.random_inputs
