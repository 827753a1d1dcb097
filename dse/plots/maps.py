"""Maps over two axes of a study: values with the optimum and the borders, and categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.plots.cells import hatch_cells, mesh, steps
from dse.plots.contours import contours
from dse.plots.frame import axes_of, factors_side, legend, named, side, title
from dse.plots.looks import GREY, LOOKS, UNIFORM, Look, looks_of
from dse.plots.scales import norm_of
from dse.plots.sources import Source, dataset, finite, flags_of, needed
from dse.verbs.chosen import best_config, optimum
from sweeps.grid.dataset import placed, quantities_of
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import DseError, check_known
from symbolic.expression import parse_condition
from symbolic.ops import interpret_arrays, references

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["categories", "heatmap"]

Array = NDArray[Any]


def heatmap(
    source: Source,
    quantity: str,
    *,
    over: str | None = None,
    by: str | None = None,
    where: str | Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    borders: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A quantity over two axes of a study, its optimum starred, its constraints drawn as borders.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str
        What is shown; of a bound or case, a map as of :func:`categories`.
    over, by : str, optional
        The axis across and the axis upwards: the last two where None.
    where : str or list of str
        Constraints besides those of the study. Hatched is where one is broken; each is drawn as a
        line of its own.
    at : mapping, optional
        Values of all other axes.
    minimize, maximize : str, optional
        The goal whose optimum is starred.
    borders : str, optional
        A case, bound or condition whose borders are drawn, each where :func:`dse.borders` finds it
        between two values of an axis; of a Study only.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    texts = texts_of(where, "where")
    goal = minimize or maximize
    ds = dataset(source, [quantity, *needed(source, goal, texts)], at)
    over, by = _two(ds, quantity, over, by)
    grid = ds[quantity].broadcast_like(ds[[over, by]]).transpose(by, over)
    conditions = _conditions(ds, texts)
    held, edges = _held(ds, conditions, over, by)
    finite(quantity, grid.values[held])
    flags = flags_of(ds[quantity])
    ax = axes_of(ax, 6.4, 4.6)
    ax.grid(visible=False)
    if flags:
        handles = _flags(ax, ds, flags, grid, held)
        title(ax, named(ds[quantity]))
    else:
        handles = _values(ax, ds, quantity, grid, held)
    handles += _numberless(ax, ds, grid, held)
    if goal is not None:
        best = best_config(optimum(ds, minimize=minimize, maximize=maximize, where=texts))
        handles.append(_star(ax, ds, best, over, by, goal, minimize is not None))
    handles += list(steps(ax, ds, over, by, edges))
    if borders is not None:
        handles.append(contours(ax, ds, source, borders, over, by, at, texts))
    if not held.all():
        handles.append(_broken(ax, ds, over, by, held))
    _side(ax.xaxis, ds[over])
    _side(ax.yaxis, ds[by])
    legend(ax, below=True, handles=handles, ncols=2)
    return ax


def categories(
    source: Source,
    *,
    quantity: str = "category",
    over: str | None = None,
    by: str | None = None,
    where: str | Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What bounds, or which category or case holds, over two axes (Hong 2012, Figs. 125 and 126).

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str
        A bound, case, category or limiter.
    over, by, where, at, ax
        As for :func:`heatmap`.
    """
    ds = dataset(source, [quantity, *needed(source, None, texts_of(where, "where"))], at)
    if not flags_of(ds[quantity]):
        raise DseError(f"{quantity} has no categories: expected a bound, case, category or limiter")
    return heatmap(ds, quantity, over=over, by=by, where=where, ax=ax)


def _two(ds: xr.Dataset, quantity: str, over: str | None, by: str | None) -> tuple[str, str]:
    """The axes across and upwards; nothing else may vary."""
    dims = [str(dim) for dim in ds[quantity].dims]
    held = [str(dim) for dim in ds.dims]
    for name in filter(None, (over, by)):
        check_known(name, held, f"{name!r} is no axis of the Dataset", "its axes are")
    rest = [dim for dim in dims if dim not in (over, by)]
    over = over or (rest.pop() if rest else None)
    by = by or (rest.pop() if rest else None)
    if over is None or by is None or over == by or set(dims) - {over, by}:
        raise DseError(
            f"{quantity} varies over {', '.join(dims) or 'no axis'}: a map takes two axes; choose "
            "them with over= and by=, and values of all others with at=; of one axis take lines"
        )
    return over, by


def _conditions(ds: xr.Dataset, texts: Sequence[str]) -> dict[str, xr.DataArray]:
    """Each constraint where it holds: those given, and of the Dataset's own what can be read."""
    ds = placed(ds)
    quantities = quantities_of(ds)
    own = str(ds[FEASIBLE].attrs.get("conditions", "")).split("; ") if FEASIBLE in ds else []
    found: dict[str, Any] = {}
    for text in dict.fromkeys([*own, *texts]):
        if not text:
            continue
        if text in texts or all(name in ds.variables for name in _words_of(text, quantities)):
            found[text] = _over(ds, parse_condition(text, quantities))
    return found


def _words_of(text: str, quantities: Mapping[str, Any]) -> tuple[str, ...]:
    """The quantities of a condition; one that is not held makes it unreadable here."""
    try:
        return references(parse_condition(text, quantities))
    except DseError:
        return ("",)


def _over(ds: xr.Dataset, node: Any) -> xr.DataArray:
    """A condition as a labelled array."""
    import xarray as xr

    names = references(node)
    arrays = xr.broadcast(*(ds[name].astype(float) for name in names))
    values = {name: array.values for name, array in zip(names, arrays, strict=True)}
    held = interpret_arrays([node], values)[0]
    return arrays[0].copy(data=np.asarray(held, dtype=bool))


def _held(
    ds: xr.Dataset, conditions: Mapping[str, Any], over: str, by: str
) -> tuple[Array, dict[str, Array]]:
    """Where every constraint holds, and each one that is broken somewhere, over the two axes."""

    def flat(array: Any) -> Array:
        told = array.broadcast_like(ds[[over, by]])
        extra = [dim for dim in told.dims if dim not in (over, by)]
        return np.asarray((told.any(extra) if extra else told).transpose(by, over), dtype=bool)

    each = {text: flat(array) for text, array in conditions.items()}
    held = np.logical_and.reduce([np.ones((ds.sizes[by], ds.sizes[over]), bool), *each.values()])
    if FEASIBLE in ds:
        whole = flat(ds[FEASIBLE])
        if (held & ~whole).any():
            each["the rules of the model"] = whole
        held &= whole
    return held, {text: array for text, array in each.items() if not array.all()}


# --- drawing
def _side(axis: Any, variable: xr.DataArray) -> None:
    side(axis, variable)
    if variable.dtype.kind not in "iuf":
        axis.set_ticks(np.arange(variable.size), [str(value) for value in variable.values])


def _values(ax: Axes, ds: xr.Dataset, quantity: str, grid: Any, held: Array) -> list[Any]:
    """Numbers as colours where every constraint holds, with a bar that tells them."""
    values = np.where(held, np.asarray(grid.values, dtype=float), np.nan)
    norm = norm_of(values)
    cells = mesh(ax, ds, grid, values, cmap=UNIFORM, norm=norm)
    bar = ax.figure.colorbar(cells, ax=ax)
    if norm is None:
        side(bar.ax.yaxis, ds[quantity])
    else:
        factors_side(bar.ax.yaxis, ds[quantity], norm.vmax / norm.vmin)
    return []


def _numberless(ax: Axes, ds: xr.Dataset, grid: Any, held: Array) -> list[Any]:
    """Cells that no constraint excludes and that have no number, or none with an end."""
    values = np.asarray(grid.values, dtype=float)
    areas = {"no value": held & np.isnan(values), "infinite": held & np.isinf(values)}
    return [
        _area(ax, ds, grid, areas[name], name, LOOKS[name]) for name in areas if areas[name].any()
    ]


def _area(
    ax: Axes, ds: xr.Dataset, grid: Any, inside: Array, text: str, look: Look, **more: Any
) -> Any:
    """Cells of one colour and hatch; what a legend shows."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    by, over = map(str, grid.dims)
    shown = np.where(inside, 1.0, np.nan)
    mesh(ax, ds, grid, shown, cmap=ListedColormap([look.color]), **more)
    hatch_cells(ax, ds, over, by, inside, look.hatch, "0.25")
    return Patch(**look.of_area(label=text, **more))


def _flags(ax: Axes, ds: xr.Dataset, flags: Mapping[int, str], grid: Any, held: Array) -> list[Any]:
    """Categories as colours and hatches, those that occur in the legend."""
    values = np.asarray(grid.values, dtype=float)
    handles: list[Any] = []
    looks = looks_of(list(flags.values()))
    for (flag, word), look in zip(flags.items(), looks, strict=True):
        inside = (values == flag) & held
        if inside.any():
            text = f"{flag}: {word}"
            handles.append(_area(ax, ds, grid, inside, text, look, alpha=0.55))
    return handles


def _broken(ax: Axes, ds: xr.Dataset, over: str, by: str, held: Array) -> Any:
    """What breaks a constraint, hatched."""
    from matplotlib.patches import Patch

    hatch = LOOKS["constraint"].hatch
    hatch_cells(ax, ds, over, by, ~held, hatch, GREY)
    return Patch(facecolor="white", edgecolor=GREY, hatch=hatch, label="not feasible")


def _star(
    ax: Axes, ds: xr.Dataset, best: Mapping[str, Any], over: str, by: str, goal: str, least: bool
) -> Any:
    """The optimum."""
    at = []
    for axis in (over, by):
        value = best[axis]
        labels = ds[axis].values.tolist()
        at.append(float(labels.index(value)) if isinstance(value, str) else float(value))
    look = LOOKS["optimum"]
    text = f"{'least' if least else 'most'} {goal}"
    return ax.plot(at[:1], at[1:], label=text, **look.of_mark(16))[0]
