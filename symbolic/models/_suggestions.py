"""The ten categories and what to change (Hong 2012, §5.4.2 and §5.5, Eqs. 83-93)."""

from __future__ import annotations

import math

from symbolic.equation import equation
from symbolic.ops import ceil, divide, floor, maximum, minimum, where

PRINTED, CORRECTED = {"printed": True}, {"printed": False}

#: Figs. 114 and 115. Too few warps are those that leave latency unhidden. Fig. 115's text of
#: category 7 blames the bandwidth, too, which its condition excludes.
CATEGORIES = {
    1: "too few warps and bandwidth and departures saturated",
    2: "too few warps and departures saturated",
    3: "too few warps and bandwidth saturated",
    4: "too few warps and bandwidth just enough",
    5: "too few warps",
    6: "bandwidth and departures saturated",
    7: "departures saturated",
    8: "bandwidth saturated",
    9: "bandwidth just enough",
    10: "nothing short",
}


@equation(source="Hong 2012, Figs. 114 and 115", flags=CATEGORIES)
def category(warps_per_sm, mwp_app_infinite, mwp_proc, mwp_bw, mwp_app):
    """Which of ten categories a workload falls in on a machine; 10 is the best.

    From the best: 10, 9, 5, 4. A bandwidth that is short by no more than 15 % is just enough.

    >>> category(32.0, 40.0, math.inf, 37.0, 64.0), category(16.0, 10.0, math.inf, 37.0, 20.0)
    (3.0, 10.0)
    """
    saturated = where(mwp_bw < mwp_app, 1.0, 2.0)
    short = where(mwp_bw < 0.85 * mwp_app, 3.0, where(mwp_bw < mwp_app, 4.0, 5.0))
    within = where(mwp_proc < mwp_app, saturated, short)
    return within + where(warps_per_sm < mwp_app_infinite, 0.0, 5.0)


@equation(source="Hong 2012, Eqs. 83-85", symbol=r"\alpha")
def bandwidth_excess(mwp_app, mwp_bw):
    r"""Times the bandwidth would have to grow to carry what the workload asks for. [ratio]

    .. math:: \alpha = \max\left(\frac{MWP\_App}{MWP\_BW}, 1\right)

    >>> bandwidth_excess(64.0, 32.0)
    2.0
    """
    return maximum(divide(mwp_app, mwp_bw, at_zero=math.inf), 1)


@equation(source="Hong 2012, Eqs. 83-88", symbol=r"\#ActiveSM / \alpha")
def suggested_sms(active_sms, mwp_bw, mwp_app):
    r"""Cores to which the bandwidth just reaches, rounded up as published. [SMs]

    One fewer asks for no more than the bandwidth allows, so that this is the last step before.

    .. math:: \left\lceil \frac{\#ActiveSM}{\alpha} \right\rceil, \quad
        \alpha = \max\left(\frac{MWP\_App}{MWP\_BW}, 1\right)

    >>> [suggested_sms(16.0, 592 / 16, 2.0 * warps) for warps in (16.0, 24.0, 32.0)]
    [16.0, 13.0, 10.0]
    """
    reached = ceil(divide(active_sms * mwp_bw, mwp_app, at_zero=math.inf))
    return maximum(minimum(active_sms, reached), 1)


@equation(name="suggested_warps", source="Hong 2012, Eqs. 89-92", symbol="N", when=CORRECTED)
def suggested_warps(warps_per_sm, mwp_app, mwp_bw, mem_strength):
    r"""Most warps of a core, rounded down, whose requests the bandwidth allows. [warps]

    Correction of "decreasing N by :math:`1 - \alpha`", which misses Eq. 90 where N is above
    MWP_App_InfiN: such warps do not ask for more. 1 where even one warp asks for too much.

    .. math:: \max\left(\left\lfloor \frac{MWP\_BW}{MSTR} \right\rfloor, 1\right)
        \quad\text{where } MWP\_App > MWP\_BW

    >>> suggested_warps(32.0, 64.0, 592 / 16, 2.0)
    18.0
    """
    most = floor(mwp_bw / mem_strength)
    most = where(mwp_bw < most * mem_strength, most - 1, most)  # the quotient was rounded up
    return where(mwp_bw < mwp_app, maximum(most, 1), warps_per_sm)


@equation(name="suggested_warps", source="Hong 2012, Eqs. 89-92", symbol="N", when=PRINTED)
def suggested_warps_printed(warps_per_sm, mwp_app, mwp_bw):
    r"""Warps of a core, scaled by as much as their requests are too many. [warps]

    .. math:: \lfloor \alpha N \rfloor, \quad \alpha = \min(MWP\_BW / MWP\_App, 1)

    >>> suggested_warps_printed(32.0, 64.0, 592 / 16)
    18.0
    """
    scaled = floor(warps_per_sm * divide(mwp_bw, mwp_app, at_zero=1.0))
    return where(mwp_bw < mwp_app, maximum(scaled, 1), warps_per_sm)


@equation(source="Hong 2012, Eq. 93", symbol="CoreReduction")
def clock_reduction(mwp_app_infinite, warps_per_sm):
    r"""Factor by which the core clock may go down, since memory is waited for. [ratio]

    Below 1 where there are warps enough: the clock could go up before memory is waited for. NaN for
    a single warp, which hides nothing.

    .. math:: \frac{MWP\_App\_InfiN - 1}{N - 1}

    >>> clock_reduction(4.0, 2.0)  # Fig. 130
    3.0
    """
    return divide(mwp_app_infinite - 1, warps_per_sm - 1, at_zero=math.nan)


EQUATIONS = (
    category,
    bandwidth_excess,
    suggested_sms,
    suggested_warps,
    suggested_warps_printed,
    clock_reduction,
)
