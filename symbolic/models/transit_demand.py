"""The demand curve of the lanes, as benchmarks measure it: operations against threads.

G(x), one of Transit's two curves, is measured by a kernel that only computes; each operation uses
the result of the previous operation. The corner of the curve is the point π, which the paper prints
for each machine: the number of threads that fill the lanes, and their rate. ``dse.fit`` determines
both from measured rates. The ``arithmetic_latency`` is the number of threads at π divided by the
number of lanes.
"""

from symbolic.equation import Validity, equation
from symbolic.ops import minimum

OUTPUTS = ("attained_flops",)
VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")


@equation(source="Li 2015, Eq. 1, Fig. 3-A", symbol="G(x)")
def attained_flops(cs_peak_flops, threads_in_cs, cs_transition):
    """Operations per second of x threads on one multiprocessor that only compute. [1/s]

    >>> attained_flops(24.8e9, 288.0, 576.0)  # C2075
    12400000000.0
    """
    return cs_peak_flops * minimum(1, threads_in_cs / cs_transition)
