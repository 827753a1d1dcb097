"""Compare the cost of lockstep of a recorded trace with the cost for independent items."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stochastic import delimited, sizes
from stochastic.arrays import Ints
from stochastic.checks import LawError, check_choice, check_integer
from stochastic.labels import make_dataset, variable
from stochastic.loss.moments import mean_loss, slowdown
from stochastic.work.correlated_lanes import QUADRATURE_STEP, log_nodes, stickiness
from stochastic.work.pmf import Pmf

if TYPE_CHECKING:
    import xarray as xr

_ORDERS = ("given", "sorted", "shuffled", "blocked")
_EXACT = sizes.TRACE_EXACT  # Above this number of products, the mean over all orders is estimated.
_BLOCK = sizes.TRACE_BLOCK  # Default number of groups that "blocked" sorts together.


def measured(
    trace: Any,
    lanes: int,
    order: str = "given",
    *,
    row_pointers: bool = False,
    column: int | str | None = None,
    block: int | None = None,
    partial: str = "idle",
    samples: int = 100_000,
    seed: int = 0,
) -> xr.Dataset:
    """Compute the cost of lockstep when groups of lanes take the items of a trace in order.

    Parameters:
        trace (array or path): Iterations of each item in the order of the lanes, or the path of a
            CSV file of them.
        lanes (int): Lanes of a group in lockstep: each group takes this number of consecutive
            items.
        order ({"given", "sorted", "shuffled", "blocked"}): Order of the items: as given; the
            longest first; random (the expectation over all orders); or the longest first within
            each run of ``block`` items.
        row_pointers (bool): True if the trace holds the row pointers of a sparse matrix (CSR),
            whose rows are the items.
        column (int or str, optional): Index or name of the column, if a CSV file has several.
        block (int, optional): Number of items that ``blocked`` sorts together; by default those of
            32 groups.
        partial ({"idle", "drop"}): If the last group is incomplete, its other lanes idle, or the
            group is left out.
        samples, seed (int): Number of groups to draw if the exact mean loss of ``shuffled`` would
            take too long (many different values in many lanes), and the seed of the draws.

    Returns:
        Dataset: ``loss``: the mean loss of a group (1 for a group without work). ``loss_error``:
        its standard error (0 if exact). ``loss_std``: standard deviation of the loss of a group
        (NaN for ``shuffled``). ``slowdown``: n·Σmax / Σsum. ``iid_loss``, ``iid_slowdown``: the
        same for i.i.d. items with the law of the trace. ``…_over_iid``: ratios of the former to the
        latter, below 1 if neighbours are correlated. ``alike``: estimated probability that an item
        repeats its neighbour; ``alike_error``: its standard error; ``alike_slowdown``: slowdown of
        lanes with this correlation (all NaN for ``shuffled`` or if all items are equal).
        ``autocorrelation``: the correlation of neighbouring items in the chosen order.

    Raises:
        LawError: The trace is empty, items are negative or not whole numbers, row pointers descend,
            lanes or block are not whole numbers of 1 or more, or a file or column is missing.

    Notes:
        The loss of a group is Eq. 4 of Swatman 2022. The groups of ``shuffled`` are drawn without
        replacement: E[max] is the mean of a hypergeometric order statistic, and E[max / sum] is the
        integral of E[max·exp(-t·sum)] over t, computed by a recurrence over the values.

    >>> result = measured([4, 2, 7, 1, 6, 4, 3, 6], lanes=8)
    >>> float(result["loss"]) == 56 / 33
    True
    """
    lanes = check_integer("lanes", lanes, least=1, example=32)
    check_choice("order", order, _ORDERS)
    check_choice("partial", partial, ("idle", "drop"))
    items = load_items(trace, row_pointers, column)
    if partial == "drop" and len(items) < lanes:
        raise LawError(
            f"{len(items)} items do not fill {lanes} lanes, and partial='drop' drops the group: "
            "give partial='idle', fewer lanes or more items"
        )
    block = (
        _BLOCK * lanes if block is None else check_integer("block", block, least=1, example=1024)
    )
    samples = check_integer("samples", samples, least=2)
    seed = check_integer("seed", seed, least=0)
    law = Pmf.from_samples(items)
    if order == "shuffled":
        loss, error, std, ratio, neighbours = _shuffled_loss(items, lanes, partial, samples, seed)
    else:
        items = _order_items(items, order, block)
        loss, std, ratio = _trace_loss(items, lanes, partial)
        error, neighbours = 0.0, _autocorrelation(items)
    iid_loss = mean_loss(law.low, law.weights, lanes)
    iid_ratio = slowdown(law.low, law.weights, lanes)
    fitted = order != "shuffled" and items.min() < items.max()
    sticky = stickiness(items) if fitted else None
    rho, rho_error = (sticky.rho, sticky.error) if sticky else (math.nan, math.nan)
    paid = slowdown(law.low, law.weights, lanes, rho) if sticky else math.nan
    groups = len(items) // lanes if partial == "drop" else -(-len(items) // lanes)
    variables = {
        "loss": variable((), loss, "mean loss of a group"),
        "loss_error": variable((), error, "standard error of the mean loss"),
        "loss_std": variable((), std, "standard deviation of the loss from group to group"),
        "slowdown": variable((), ratio, "slowdown of the trace, n·Σmax / Σsum"),
        "iid_loss": variable((), iid_loss, "mean loss of a group of independent items"),
        "iid_slowdown": variable((), iid_ratio, "slowdown with independent items"),
        "loss_over_iid": variable((), loss / iid_loss, "mean loss over that of independent items"),
        "slowdown_over_iid": variable(
            (), ratio / iid_ratio, "slowdown over that of independent items"
        ),
        "alike": variable((), rho, "probability that an item repeats its neighbour"),
        "alike_error": variable((), rho_error, "standard error of alike"),
        "alike_slowdown": variable((), paid, "slowdown of lanes that repeat this often"),
        "autocorrelation": variable((), neighbours, "autocorrelation of neighbouring items"),
        "groups": variable((), groups, "number of groups"),
        "items": variable((), len(items), "number of items"),
    }
    attrs = {
        "work": repr(law),
        "lanes": lanes,
        "order": order,
        "partial": partial,
        **({"block": block} if order == "blocked" else {}),
        "source": "Swatman et al., MASCOTS 2022, Eq. 4",
    }
    return make_dataset(variables, {}, attrs)


def load_items(trace: Any, row_pointers: bool = False, column: int | str | None = None) -> Ints:
    """Return the items of an array or a file; LawError if they are not valid iterations."""
    is_path = isinstance(trace, (str, Path))
    values = _read_items(Path(trace), column) if is_path else np.asarray(trace)
    if values.ndim != 1 or values.dtype.kind not in "iufb":
        raise LawError(
            f"a trace of {values.ndim} dimensions and type {values.dtype}: expected the iterations "
            "of each item, whole numbers in one dimension"
        )
    if not len(values):
        raise LawError("the trace is empty: expected the iterations of one item or more")
    wrong = np.flatnonzero(~((values >= 0) & (values < 2.0**53) & (values == np.floor(values))))
    if len(wrong):
        raise LawError(
            f"item {wrong[0]} of the trace is {values[wrong[0]]}: expected a whole number of 0 or "
            "more"
        )
    items = values.astype(np.int64)
    if row_pointers:
        items = np.diff(items)
        if not len(items):
            raise LawError("one row pointer bounds no row: expected those of one row or more")
        if items.min() < 0:
            row = int(np.argmax(items < 0))
            raise LawError(
                f"row pointers descend from {values[row]} to {values[row + 1]} at row {row}; give "
                "row_pointers=False where the trace holds lengths"
            )
    if items.max() * float(len(items)) > 2.0**62:
        raise LawError("the items of the trace sum to more than 2**62: count them in larger units")
    return items


def _read_items(path: Path, column: int | str | None) -> npt.NDArray[Any]:
    problem = f"{path} cannot be read as a file of items"
    try:
        table = delimited.read_table(path, header=False)
        place = _column_place(path, column, list(table.names), len(table.columns))
        values = delimited.parse_columns([table.columns[place]], table.lines, table.name).columns[0]
    except delimited.TableError as error:
        raise LawError(f"{problem}: {error}") from error.__cause__
    for line, value in zip(table.lines, values, strict=True):
        if value is None or isinstance(value, str):
            text = value or "an empty cell"
            raise LawError(f"{problem}: line {line}: {text!r} is no number of iterations")
    return np.array(values, dtype=np.float64)


def _column_place(path: Path, column: int | str | None, names: list[str], count: int) -> int:
    known = ", ".join(names) if names else f"0 to {count - 1}"
    if column is None:
        if count > 1:
            raise LawError(f"{path} has the columns {known}: choose one with column=")
        return 0
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < count:
        return column
    raise LawError(f"{path} has no column {column!r}: expected one of {known}")


def _order_items(items: Ints, order: str, block: int) -> Ints:
    if order == "given":
        return items
    if order == "sorted" or block >= len(items):
        return -np.sort(-items)
    whole_blocks = len(items) // block * block
    table = -np.sort(-items[:whole_blocks].reshape(-1, block), axis=1)
    return np.concatenate([table.reshape(-1), -np.sort(-items[whole_blocks:])])


def _trace_loss(items: Ints, lanes: int, partial: str) -> tuple[float, float, float]:
    """Return mean and standard deviation of the loss of groups in order, and n·Σmax / Σsum."""
    full = len(items) // lanes * lanes
    groups = items[:full].reshape(-1, lanes)
    longest, total = groups.max(axis=1, initial=0), groups.sum(axis=1)
    if full < len(items) and partial == "idle":
        longest = np.append(longest, items[full:].max())
        total = np.append(total, items[full:].sum())
    loss = np.ones(len(total))
    np.divide(float(lanes) * longest, total, out=loss, where=total > 0)
    work = int(total.sum())
    ratio = lanes * int(longest.sum()) / work if work else 1.0
    return float(loss.mean()), float(loss.std()), ratio


def _autocorrelation(items: Ints) -> float:
    """Return Σ (x_i - m)(x_{i+1} - m) / Σ (x_i - m)², m the mean; NaN if all items are equal."""
    apart = items - items.mean()
    square = float(apart @ apart)
    return float(apart[:-1] @ apart[1:]) / square if items.min() < items.max() else math.nan


def _shuffled_loss(
    items: Ints, lanes: int, partial: str, samples: int, seed: int
) -> tuple[float, float, float, float, float]:
    """Return mean loss, its error, NaN, slowdown and autocorrelation, expected over all orders."""
    from stochastic.kernels.simulate import mean_subset_maximum

    values, counts = np.unique(items, return_counts=True)
    groups, left = divmod(len(items), lanes)
    sizes = {lanes: groups} if groups else {}
    if left and partial == "idle":
        sizes[left] = 1
    if values[-1] == 0:
        return 1.0, 0.0, math.nan, 1.0, math.nan
    results = [_subset_loss(items, values, counts, size, lanes, samples, seed) for size in sizes]
    share = np.array(list(sizes.values())) / sum(sizes.values())
    loss = float(share @ [mean for mean, _ in results])
    error = math.sqrt(float(share**2 @ [each**2 for _, each in results]))
    real = values.astype(np.float64)
    longest = sum(count * mean_subset_maximum(real, counts, size) for size, count in sizes.items())
    work = items.mean() * sum(count * size for size, count in sizes.items())
    neighbours = -1.0 / len(items) if len(values) > 1 else math.nan
    return loss, error, math.nan, lanes * longest / work, neighbours


def _subset_loss(
    items: Ints, values: Ints, counts: Ints, size: int, lanes: int, samples: int, seed: int
) -> tuple[float, float]:
    """Return E[lanes·max / sum] of ``size`` items without replacement, and its standard error.

    If the exact mean would take too long, it is estimated from samples.
    """
    from stochastic.kernels import simulate as kernels

    real = values.astype(np.float64)
    nodes = log_nodes(real[real > 0][0], real[-1], size)
    if float(np.minimum(counts, size / 2).sum()) * size * len(nodes) > _EXACT:
        key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64).view(np.int64)[0])
        once, twice = kernels.sample_subset_losses(items.copy(), size, lanes, samples, key)
        once, twice = once / samples, twice / samples
        return 1.0 + once, math.sqrt(max(twice - once * once, 0.0) / (samples - 1))
    area = nodes @ kernels.subset_transform(real, counts, size, nodes)
    area += kernels.mean_subset_maximum(real, counts, size) * nodes[0] / math.expm1(QUADRATURE_STEP)
    idle = 0.0
    if values[0] == 0 and counts[0] >= size:
        drawn = np.arange(size)
        idle = math.exp(float(np.log((counts[0] - drawn) / (len(items) - drawn)).sum()))
    return float(lanes * QUADRATURE_STEP * area + idle), 0.0
