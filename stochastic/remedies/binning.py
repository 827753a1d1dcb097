"""Sort and bin: items sorted into bins of similar work, groups formed within a bin."""

from __future__ import annotations

from dataclasses import dataclass

from stochastic.checks import whole
from stochastic.errors import LawError
from stochastic.labels import Tabled, labelled
from stochastic.remedies.sorting import sorted_in
from stochastic.work.pmf import Pmf

__all__ = ["Partition", "partition"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Partition(Tabled):
    """A law sorted into 1, 2, ... bins; made by :func:`partition`.

    Attributes
    ----------
    table : Dataset
        Along ``bins``: ``slowdown``, ``loss`` and ``gain``; along ``bins`` and ``bin``, NaN beyond
        the last bin: ``lower``, ``upper`` (the values in it, both included), ``weight`` (share of
        the items), ``bin_slowdown``, ``bin_loss``. The scalar ``enough``: the fewest bins beyond
        which one more is not worth while, or all where each was (``attrs["more_pay"]`` is then 1).
        ``partition(...)["gain"]`` is short for its variables.
    source : Pmf
        The law that was sorted, as given.
    """

    source: Pmf

    def edges(self, bins: int | None = None) -> tuple[tuple[int, int], ...]:
        """Smallest and largest value of each bin; of ``enough`` bins where none is named."""
        most = self.table.sizes["bins"]
        bins = int(self.table["enough"]) if bins is None else whole("bins", bins, least=1)
        if bins > most:
            raise LawError(f"bins = {bins}: the partition has 1 to {most}")
        row = self.table.sel(bins=bins).isel(bin=slice(bins))
        lower, upper = (row[name].values.astype(int).tolist() for name in ("lower", "upper"))
        return tuple(zip(lower, upper, strict=True))

    def laws(self, bins: int | None = None) -> tuple[Pmf, ...]:
        """The law of work within each bin: what a group is drawn from after binning.

        The law of the loss after binning is the mixture of theirs, by ``weight``.
        """
        edges = self.edges(bins)
        inner = tuple(self.source.between(low, high) for low, high in edges[:-1])
        return (*inner, self.source.between(edges[-1][0]))


def partition(
    pmf: Pmf,
    bins: int = 8,
    lanes: int = 32,
    *,
    objective: str = "slowdown",
    worth: float = 0.01,
    places: int | None = None,
    alike: float = 0.0,
    tol: float = 1e-9,
) -> Partition:
    """Sort items into 1 to ``bins`` bins of consecutive values with the best edges.

    Groups are formed within a bin, from a workload so large that groups left incomplete do not
    count. Exact dynamic programming over all edges: there is no better partition. All items of one
    value are in one bin.

    Parameters
    ----------
    pmf : Pmf
        The law of the work of one item.
    bins : int
        Most bins; a law has no more of them than it has values.
    lanes : int
        Items in lockstep.
    objective : {"slowdown", "loss"}
        What is made least: what the whole workload pays, Σ P(bin)·E[max | bin] / E[W], or the mean
        loss over groups, Σ P(bin)·E[X | bin].
    worth : float
        A further bin is worth while where it divides the objective by more than 1 + worth.
    places : int, optional
        For a support too large: look only at so many places where a bin may end, half of them at
        equal steps of items, half at equal steps of work. The means stay exact.
    alike : float
        Probability that an item repeats its neighbour's work. Items keep their order within a bin,
        so that it holds there too. For the slowdown alone: mean losses are then not told (NaN).
    tol : float
        Tolerance on the means, where an infinite law is cut.

    Returns
    -------
    Partition
        ``slowdown``, ``loss`` and ``gain`` (objective with one bin over that with several) along
        ``bins``, the bins themselves, and how many are ``enough``; of equal edges the lowest.

    Raises
    ------
    LawError
        For bins or lanes that are no whole numbers of 1 or more, or a support too large to look at
        all edges.

    Notes
    -----
    Swatman 2022, §III-B: balancing the load is to partition it into loads of narrower laws.

    >>> from stochastic import Pmf
    >>> found = partition(Pmf.uniform(1, 4), bins=2, lanes=32)
    >>> found.edges(2), round(float(found["gain"][1]), 3)
    (((1, 2), (3, 4)), 1.333)
    """
    parts = sorted_in(
        pmf, bins, lanes, objective=objective, worth=worth, places=places, alike=alike, tol=tol
    )
    return Partition(table=labelled(*parts), source=pmf)
