"""Imbalance: what lockstep costs where the work of the lanes is random (Swatman 2022).

``distribution`` is the law of the work W of one item, an integer of 0 or more. One group of
``lanes`` items costs lanes · max(W) for ΣW of useful work: its loss is X = lanes · max / sum, 1
where there is no work. The switch ``work_law`` takes the law from a family and its parameters.

The laws themselves are computed outside: ``distribution`` is text that knows its law (its ``pmf``,
``imbalance(lanes)``, ``order_statistics(lanes)``, ``bounds(lanes)``), read by whoever evaluates.
"""

from __future__ import annotations

import math

from stochastic.work.families import FAMILIES
from symbolic.equation import Equation, equation
from symbolic.errors import DseError
from symbolic.model import Guide, Validity
from symbolic.ops import divide

OUTPUTS = (
    "imbalance_loss",
    "imbalance_slowdown",
    "imbalance_lower",
    "imbalance_upper",
    "imbalance_delta",
    "imbalance_limit",
)
VALIDITY = Validity(statement="a law of counts, of any machine whose lanes run in lockstep")

ADVICE = Guide(
    state="imbalance_slowdown",
    goal="imbalance_slowdown",
    limits="imbalance_slowdown",
    helps="",
    show=("imbalance_loss", "imbalance_limit"),
    remedies={
        "binned_slowdown": "suggested_bins",
        "cut_slowdown": "suggested_piece",
        "shared_slowdown": "suggested_lanes",
    },
)
PAPER = "Swatman 2022"
FAMILY_SOURCE = f"{PAPER}, §IV-A"


def require_law(distribution):
    """The law behind the text."""
    if not hasattr(distribution, "imbalance"):
        raise DseError(
            f"distribution = {distribution!r} is bare text: laws are read where a study or "
            "dse.evaluate is given one (sweeps.grid.work_laws.read_law reads one by hand)"
        )
    return distribution


# --- the law of work, from a family


def _family_equation(family):
    """Return the equation that writes a law of a family with given parameters as text."""

    def text(*values):
        return family.as_text(*values)

    text.__doc__ = family.summary
    return Equation(
        name="distribution",
        function=text,
        inputs=tuple(parameter.quantity for parameter in family.parameters),
        source=FAMILY_SOURCE,
        when={"work_law": family.name},
        formula=family.name,
        flags={},
        table=True,
    )


LAWS = tuple(map(_family_equation, FAMILIES.values()))


# --- one item


@equation(source=f"{PAPER}, §III", symbol=r"\mathrm{E}[W]", table=True)
def work_mean(distribution):
    """Mean work of an item. [iterations]"""
    return float(require_law(distribution).pmf.mean())


@equation(source=f"{PAPER}, §III", symbol=r"\sigma_W", table=True)
def work_std(distribution):
    """Standard deviation of the work of an item. [iterations]"""
    return math.sqrt(require_law(distribution).pmf.var())


@equation(source=f"{PAPER}, §III", symbol=r"\min W", table=True)
def work_min(distribution):
    """Work of the shortest item. [iterations]"""
    return float(require_law(distribution).pmf.low)


@equation(source=f"{PAPER}, §III", symbol="S", table=True)
def work_max(distribution):
    """Work of the longest item; infinite where the law has no end. [iterations]"""
    return float(require_law(distribution).pmf.high)


# --- a group in lockstep


@equation(source=f"{PAPER}, Eq. 7", symbol=r"\mathrm{E}[W_{(n:n)}]", table=True)
def expected_max(distribution, lanes):
    r"""Expected work of the longest of all lanes. [iterations]

    .. math:: \sum_{a \ge 0} (1 - F_W(a)^n)
    """
    return require_law(distribution).order_statistics(lanes).mean_max


@equation(source=f"{PAPER}, Eqs. 7 and 8", symbol=r"\mathrm{Cov}[W_{(n:n)}, \Sigma W]", table=True)
def max_sum_covariance(distribution, lanes):
    """Covariance of the longest item with the sum of all. [iterations²]"""
    return require_law(distribution).order_statistics(lanes).cov_max_sum


@equation(source=f"{PAPER}, Eqs. 4-11", symbol=r"\mathrm{E}[X_W(n)]", table=True)
def imbalance_loss(distribution, lanes):
    r"""Mean loss of a group: lane-iterations spent over those of useful work. [ratio]

    .. math:: \mathrm{E}\left[n \frac{\max_i W_i}{\sum_i W_i}\right]

    >>> from sweeps.grid.work_laws import read_law
    >>> round(imbalance_loss(read_law("geometric:0.05"), 32), 6)
    3.978775
    """
    return float(require_law(distribution).imbalance(lanes).mean())


@equation(source=f"{PAPER}, Eqs. 4-11", symbol=r"\sigma_X", table=True)
def imbalance_loss_std(distribution, lanes):
    """Standard deviation of the loss from group to group. [ratio]"""
    return float(require_law(distribution).imbalance(lanes).std())


@equation(source=f"{PAPER}, Eqs. 2 and 3, of many groups", symbol=r"\rho")
def imbalance_slowdown(expected_max, work_mean):
    """What a workload of many groups pays for lockstep: a ratio of means. [ratio]

    The paper takes the mean loss of a group for it. A workload weighs each group by its work, so
    that the two differ by the covariance of loss and work.
    """
    return divide(expected_max, work_mean, at_zero=1.0)


# --- bounds, approximations, limits


@equation(source="second moments of the sum for each maximum", table=True)
def imbalance_lower(distribution, lanes):
    """Rigorous lower bound on the mean loss. [ratio]"""
    return require_law(distribution).bounds(lanes).lower


@equation(source="second moments of the sum for each maximum, Bernstein", table=True)
def imbalance_upper(distribution, lanes):
    """Rigorous upper bound on the mean loss. [ratio]"""
    return require_law(distribution).bounds(lanes).upper


@equation(source=f"{PAPER}, Eq. 4, its largest value")
def imbalance_largest(lanes, work_min, work_max):
    r"""Largest loss a group can have: one item as long as any, the others as short. [ratio]

    .. math:: \frac{n S}{S + (n - 1) \min W}
    """
    return lanes / (1 + (lanes - 1) * divide(work_min, work_max, at_zero=1.0))


@equation(source=f"{PAPER}, Eq. 4, to second order")
def imbalance_delta(
    imbalance_slowdown, expected_max, max_sum_covariance, work_mean, work_std, lanes
):
    r"""The mean loss to second order in the fluctuation of the sum; no bound. [ratio]

    .. math:: \rho \left(1 + \frac{\sigma_W^2}{n \mathrm{E}[W]^2}
        - \frac{\mathrm{Cov}[W_{(n:n)}, \Sigma W]}{n \mathrm{E}[W] \mathrm{E}[W_{(n:n)}]}\right)
    """
    moved = work_std * work_std * expected_max - max_sum_covariance * work_mean
    scale = lanes * work_mean * work_mean * expected_max
    return imbalance_slowdown * (1 + divide(moved, scale, at_zero=0.0))


@equation(source=f"{PAPER}, Eq. 4, for many lanes")
def imbalance_limit(work_max, work_mean):
    """What loss and slowdown tend to for ever more lanes; infinite for endless laws. [ratio]"""
    return divide(work_max, work_mean, at_zero=1.0)


@equation(source="max/sum and sum of exponential work are independent", symbol="H_n", table=True)
def exponential_loss(lanes):
    r"""Mean loss and slowdown where work is exponential, as geometric work of long items nearly is.

    .. math:: H_n = \sum_{k=1}^n 1/k

    >>> exponential_loss(4)
    2.0833333333333335
    """
    if lanes < EXACT_LANES:
        return math.fsum(1 / k for k in range(1, int(lanes) + 1))
    correction = 1 / (2 * lanes) - 1 / (12 * lanes**2)
    return math.log(lanes) + EULER + correction


EXACT_LANES, EULER = 10_000, 0.57721566490153286

# --- what would help: bins, pieces, shared items (Swatman 2022, §II and §III)
# Bins cost nothing here. Pieces and sharing are told where what they cost is given:
# ``cut_overhead``, ``share_overhead``.

BINS_SOURCE = "Swatman 2022, §III-B, by exact partition"
SHARING_SOURCE = "Swatman 2022, §II-B and §III-B"
CUTTING_SOURCE = "E[pieces] E[longest piece] / E[W] of every length"


@equation(source=BINS_SOURCE, table=True)
def suggested_bins(distribution, lanes, most_bins):
    """Bins of similar work into which items are sorted: one more divides by less than 1.01."""
    return distribution.binning(lanes, most_bins)[0]


@equation(source=BINS_SOURCE, table=True)
def binned_slowdown(distribution, lanes, most_bins):
    """What a workload pays for lockstep with its items in these bins. [ratio]"""
    return distribution.binning(lanes, most_bins)[1]


@equation(source=CUTTING_SOURCE, table=True)
def suggested_piece(distribution, lanes, cut_overhead):
    """Length into which longer items are cut for the least work in all. [iterations]"""
    return distribution.best_piece_length(lanes, cut_overhead)[0]


@equation(source=CUTTING_SOURCE, table=True)
def cut_slowdown(distribution, lanes, cut_overhead):
    """What a workload pays for lockstep and cuts with its items in these pieces. [ratio]"""
    return distribution.best_piece_length(lanes, cut_overhead)[1]


@equation(source=SHARING_SOURCE, table=True)
def suggested_lanes(distribution, lanes, share_overhead):
    """Items in lockstep at the least cost, where the lanes left over share an item. [lanes]"""
    return distribution.best_granularity(lanes, share_overhead)[0]


@equation(source=SHARING_SOURCE, table=True)
def shared_slowdown(distribution, lanes, share_overhead):
    """What a workload pays for lockstep and sharing with so many items in it. [ratio]"""
    return distribution.best_granularity(lanes, share_overhead)[1]
