"""The memory supply curve, bandwidth against threads, with an adjustable sharpness of its corner.

The supply f(k) of Transit is either sharp (a minimum) or smooth (half of the peak at δ); measured
curves lie between the two. This model joins the two limits by a norm of the order
``supply_sharpness``: 1 gives Transit's smooth curve, infinity its sharp curve. If latency rises
with load already at few threads, bandwidth grows more slowly than the number of threads
(``supply_rise`` below 1). Stores do not wait for an answer, so δ depends on a kernel's stores: fit
each mix of loads and stores separately.
"""

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide
from symbolic.ops import power as raised

OUTPUTS = ("attained_bandwidth",)
VALIDITY = Validity(statement="its numbers are fitted to the machine at hand")


@equation(source="Li 2015, Eq. 1, whose two limits are joined by a p-norm of order p")
def attained_bandwidth(
    ms_peak_bandwidth, threads_in_ms, ms_transition, supply_sharpness, supply_rise
):
    r"""Bandwidth of k threads that only wait for memory. [B/s]

    With the peak R, the transition δ, the sharpness p and the rise q,

    .. math:: R \left(1 + (\delta / k)^{p q}\right)^{-1/p}
    """
    ratio = divide(ms_transition, threads_in_ms, at_zero=math.inf)
    slack = 1 + raised(ratio, supply_sharpness * supply_rise)
    return ms_peak_bandwidth * raised(slack, -1 / supply_sharpness)
