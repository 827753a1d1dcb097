"""Compute laws of the loads of bins that share items: experts and tokens, ranks, rows, warps."""

from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError, check_choice, check_integer
from stochastic.skew.law import Layout, Loads, RecordedLoads
from stochastic.skew.shares import EvenLoads, FixedLoads, RandomLoads
from stochastic.skew.weights import read_weights
from stochastic.work.arguments import check_samples, normalize_weights


def loads(
    items: int | None,
    bins: int | None = None,
    *,
    probabilities: Any = None,
    weights: Any = None,
    counts: Any = None,
    groups: Any = 1,
    tile: int = 1,
    spread: str = "independent",
) -> Loads:
    """Return the laws of the loads of bins, among which items are divided at random.

    Bins are experts and items are tokens (times the experts of each), or bins are rows, sequences
    or ranks. Items are independent. Experts of one token are distinct in reality, so that its
    loads spread a little less: their variances are smaller by the factor (1 - p·k)/(1 - p) for k
    experts a token, where p is the share of the expert.

    Parameters:
        items (int): Number of items; with ``counts``, None, or the sum of each row of counts.
        bins (int, optional): Number of bins; by default as many as ``probabilities`` or ``counts``
            has.
        probabilities (sequence of numbers, optional): Probability that an item falls into each bin;
            by default all are equal. The sum is 1.
        weights (text, Pmf, or law of SciPy, optional): The law of independent weights of bins,
            which are divided by their sum to give probabilities: ``"power: 1.2, 0.01, 2"``
            (exponent, smallest, largest), ``"dirichlet: 0.3"`` (concentration), ``"lognormal: 1,
            0.5"`` (mean, standard deviation), or a law of work such as ``"geometric: 0.05"``. If
            all weights are 0, they are drawn again.
        counts (array or "balanced", optional): Loads that are known: one row of the loads of all
            bins, or several, each of which is equally probable. ``"balanced"``: loads that are as
            equal as possible.
        groups (int or sequence): Number of groups of consecutive bins (if it does not divide the
            bins, the first groups have one bin more), the sizes of the groups, or a list of bins
            (from 0 on) for each group.
        tile (int): Items of a tile: a bin with n items has ⌈n / tile⌉ tiles.
        spread ({"independent", "even"}): With ``weights``: items are independent, or spread as
            evenly as the shares of bins allow (systematic sampling; the laws are estimates). Then a
            bin of share p gets items · p items, rounded down or up, and on average exactly this
            number.

    Returns:
        Loads: Laws ``largest``, ``busiest``, ``occupied``, ``tiles`` and ``busiest_tiles``, each
            with ``mean() std() cdf(x) quantile(q) pmf() error``; ``joint``, ``sample`` and
            ``simulate``.

    Raises:
        LawError: An argument is invalid, or the laws are too large.

    >>> law = loads(6, 3, tile=2)
    >>> round(law.largest.mean() * 81, 9), round(law.tiles.mean() * 243, 9)
    (262.0, 911.0)
    >>> loads(131_072, 256, groups=64).busiest.quantile([0.5, 0.99]).tolist()
    [2153, 2212]
    """
    given = {"probabilities": probabilities, "weights": weights, "counts": counts}
    named = [name for name, value in given.items() if value is not None]
    check_choice("spread", spread, ("independent", "even"))
    if spread == "even" and weights is None:
        raise LawError("spread = 'even' needs weights=: expected a law, such as 'power: 1.2, 1, 9'")
    if len(named) > 1:
        raise LawError(f"{' and '.join(named)}: expected one of them at most")
    if items is not None:
        items = check_integer("items", items, least=0, most=sizes.LOADS_ITEMS, example=131_072)
    if bins is not None:
        bins = check_integer("bins", bins, least=1, most=sizes.LOADS_BINS, example=256)
    if counts is not None and not isinstance(counts, str):
        return _load_trace(items, bins, counts, groups, tile)
    if items is None:
        raise LawError("items = None: expected a number of items, such as 131072")
    if probabilities is not None:
        shares = _check_shares(probabilities, bins)
    elif bins is not None:
        shares = np.full(bins, 1.0 / bins)
    else:
        raise LawError("bins = None: expected a number of bins, such as 256, or probabilities=")
    if counts is not None:
        check_choice("counts", counts, ("balanced",))
        even = np.diff(np.arange(len(shares) + 1) * items // len(shares))
        return _load_trace(items, None, even, groups, tile)
    layout = Layout.from_groups(groups, len(shares), tile)
    law = None if weights is None else read_weights(weights)
    if law is None or items == 0:
        return FixedLoads(items=items, layout=layout, method="inversion", shares=shares)
    if spread == "even":
        return EvenLoads(items=items, layout=layout, method="simulation", weights=law)
    result = RandomLoads(
        items=items, layout=layout, method="quadrature", shares=shares, weights=law
    )
    return result if result.nodes is not None else result.simulate()


def _check_shares(probabilities: Any, bins: int | None) -> Floats:
    if isinstance(probabilities, str) or not np.iterable(probabilities):
        raise LawError(f"probabilities = {probabilities!r:.60}: expected a list, one for each bin")
    values = list(probabilities)
    if not values or (bins is not None and len(values) != bins):
        raise LawError(f"{len(values)} probabilities and bins = {bins}: expected one for each bin")
    return normalize_weights(values, False, "probabilities", "divide them by their sum")


def _load_trace(items: int | None, bins: int | None, counts: Any, groups: Any, tile: Any) -> Loads:
    rows = np.atleast_2d(np.asarray(counts))
    if rows.ndim != 2 or not rows.size:
        raise LawError(f"counts = {counts!r:.60}: expected the loads of all bins, in rows")
    table = check_samples(rows).reshape(len(rows), -1)
    size, sums = len(table[0]), table.sum(axis=1)
    if bins is not None and bins != size:
        raise LawError(f"counts of {size} bins and bins = {bins}: expected as many")
    if items is not None and (sums != items).any():
        raise LawError(
            f"counts have the sum {sums[sums != items][0]} and items = {items}: give items=None, "
            "or probabilities= if only shares are known"
        )
    layout = Layout.from_groups(groups, size, tile)
    return RecordedLoads(items=int(sums[0]), layout=layout, method="counts", rows=table)
