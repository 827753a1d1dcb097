"""Imbalance: the cost of lockstep if the work of the lanes is random (Swatman 2022).

``distribution`` is the probability law of the work W of one item, an integer >= 0. A group of
``lanes`` items takes lanes · max(W) lane-iterations for ΣW of useful work. The loss of a group is
the ratio of both, X = lanes · max(W) / ΣW, or 1 if the group has no work. The switch ``work_law``
chooses a family of laws, whose parameters are then inputs.

``distribution`` is a text object with methods that compute results of the law
(``imbalance(lanes)``, ``order_statistics(lanes)``, ``bounds(lanes)``); the evaluation of a study
creates it from the text that the user gives.
"""

import math

from stochastic.work.families import FAMILIES
from symbolic.equation import Equation, equation
from symbolic.errors import DseError
from symbolic.model import Guide, Validity
from symbolic.ops import divide

OUTPUTS = (
    "imbalance_loss", "imbalance_slowdown", "imbalance_lower", "imbalance_upper", "imbalance_delta",
    "imbalance_limit",
)  # fmt: skip
VALIDITY = Validity(statement="a law of counts, for any machine whose lanes run in lockstep")

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


def require_law(law, name="distribution", method="imbalance"):
    """Return a law, or raise an error if it is plain text instead of a parsed law."""
    if not hasattr(law, method):
        raise DseError(
            f"{name} = {law!r} is bare text: laws are read where a study or dse.evaluate is given "
            "one (sweeps.grid.work_laws.read_label reads one by hand)"
        )
    return law


def _family_equation(family):
    """Return the equation that yields the law (as text) from the parameters of a family."""

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
    """Smallest possible work of an item. [iterations]"""
    return float(require_law(distribution).pmf.low)


@equation(source=f"{PAPER}, §III", symbol="S", table=True)
def work_max(distribution):
    """Largest possible work of an item; infinite if the law has no upper limit. [iterations]"""
    return float(require_law(distribution).pmf.high)


@equation(source=f"{PAPER}, Eq. 7", symbol=r"\mathrm{E}[W_{(n:n)}]", table=True)
def expected_max(distribution, lanes):
    r"""Expected maximum work of the items in a group. [iterations]

    .. math:: \sum_{a \ge 0} (1 - F_W(a)^n)
    """
    return require_law(distribution).order_statistics(lanes).mean_max


@equation(source=f"{PAPER}, Eqs. 7 and 8", symbol=r"\mathrm{Cov}[W_{(n:n)}, \Sigma W]", table=True)
def max_sum_covariance(distribution, lanes):
    """Covariance of the maximum and the sum of the work in a group. [iterations²]"""
    return require_law(distribution).order_statistics(lanes).cov_max_sum


@equation(source=f"{PAPER}, Eqs. 4-11", symbol=r"\mathrm{E}[X_W(n)]", table=True)
def imbalance_loss(distribution, lanes):
    r"""Mean loss of a group: lane-iterations divided by useful iterations. [ratio]

    .. math:: \mathrm{E}\left[n \frac{\max_i W_i}{\sum_i W_i}\right]

    >>> from sweeps.grid.work_laws import read_law
    >>> round(imbalance_loss(read_law("geometric:0.05"), 32), 6)
    3.978775
    """
    return float(require_law(distribution).imbalance(lanes).mean())


@equation(source=f"{PAPER}, Eqs. 4-11", symbol=r"\sigma_X", table=True)
def imbalance_loss_std(distribution, lanes):
    """Standard deviation of the loss of a group. [ratio]"""
    return float(require_law(distribution).imbalance(lanes).std())


@equation(source=f"{PAPER}, Eqs. 2 and 3, of many groups", symbol=r"\rho")
def imbalance_slowdown(expected_max, work_mean):
    """Slowdown from lockstep of a workload of many groups: mean maximum / mean work. [ratio]

    The paper uses the mean loss of a group as the slowdown. But groups with more work take more of
    the total time, so mean loss and slowdown differ by the covariance of loss and work.
    """
    return divide(expected_max, work_mean, at_zero=1.0)


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
    """Largest possible loss: one item has maximum work, all others minimum work. [ratio]"""
    return lanes / (1 + (lanes - 1) * divide(work_min, work_max, at_zero=1.0))


@equation(source=f"{PAPER}, Eq. 4, to second order")
def imbalance_delta(
    imbalance_slowdown, expected_max, max_sum_covariance, work_mean, work_std, lanes
):
    r"""Second-order approximation of the mean loss, in the deviation of the sum. [ratio]

    .. math:: \rho \left(1 + \frac{\sigma_W^2}{n \mathrm{E}[W]^2}
        - \frac{\mathrm{Cov}[W_{(n:n)}, \Sigma W]}{n \mathrm{E}[W] \mathrm{E}[W_{(n:n)}]}\right)
    """
    moved = work_std * work_std * expected_max - max_sum_covariance * work_mean
    scale = lanes * work_mean * work_mean * expected_max
    return imbalance_slowdown * (1 + divide(moved, scale, at_zero=0.0))


@equation(source=f"{PAPER}, Eq. 4, for many lanes")
def imbalance_limit(work_max, work_mean):
    """Limit of loss and slowdown for many lanes; infinite if work is unbounded. [ratio]"""
    return divide(work_max, work_mean, at_zero=1.0)


@equation(source="max/sum and sum of exponential work are independent", symbol="H_n", table=True)
def exponential_loss(lanes):
    """Mean loss and slowdown for exponential work: the harmonic number of ``lanes``. [ratio]"""
    if lanes < EXACT_LANES:
        return math.fsum(1 / k for k in range(1, int(lanes) + 1))
    correction = 1 / (2 * lanes) - 1 / (12 * lanes**2)
    return math.log(lanes) + EULER + correction


EXACT_LANES, EULER = 10_000, 0.57721566490153286

# --- Remedies (Swatman 2022, §II and §III): sort items into bins, cut items, share items among
# lanes. Sorting costs nothing here; cutting costs ``cut_overhead``, and sharing ``share_overhead``.

BINS_SOURCE = "Swatman 2022, §III-B, by exact partition"
SHARING_SOURCE = "Swatman 2022, §II-B and §III-B"
CUTTING_SOURCE = "E[pieces] E[longest piece] / E[W] of every length"


@equation(source=BINS_SOURCE, table=True)
def suggested_bins(distribution, lanes, most_bins):
    """Suggested number of bins; with one more bin, the gain is less than 1 %."""
    return distribution.binning(lanes, most_bins)[0]


@equation(source=BINS_SOURCE, table=True)
def binned_slowdown(distribution, lanes, most_bins):
    """Slowdown from lockstep if items are sorted into ``suggested_bins`` by work. [ratio]"""
    return distribution.binning(lanes, most_bins)[1]


@equation(source=CUTTING_SOURCE, table=True)
def suggested_piece(distribution, lanes, cut_overhead):
    """Cheapest length of the pieces into which longer items are cut. [iterations]"""
    return distribution.best_piece_length(lanes, cut_overhead)[0]


@equation(source=CUTTING_SOURCE, table=True)
def cut_slowdown(distribution, lanes, cut_overhead):
    """Slowdown from lockstep and cuts if items are cut at ``suggested_piece``. [ratio]"""
    return distribution.best_piece_length(lanes, cut_overhead)[1]


@equation(source=SHARING_SOURCE, table=True)
def suggested_lanes(distribution, lanes, share_overhead):
    """Cheapest number of items in lockstep if several lanes share an item. [lanes]"""
    return distribution.best_granularity(lanes, share_overhead)[0]


@equation(source=SHARING_SOURCE, table=True)
def shared_slowdown(distribution, lanes, share_overhead):
    """Slowdown from lockstep and sharing for ``suggested_lanes`` items in lockstep. [ratio]"""
    return distribution.best_granularity(lanes, share_overhead)[1]
