"""Compute inputs of Transit from MWP-CWP: join ``transit + transit_warps + mwp_cwp``.

A thread of Transit is then a warp of one multiprocessor. The numbers of the machine must be in the
same units: ``lanes_width`` in warps that issue at once (1 if ``issue_cycles`` is the cost of a
warp), and ``ms_peak`` in requests of warps per cycle.
"""

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide

#: The model does not cover a workload without memory instructions.
RULES = ("mem_insts > 0",)

VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")


@equation(source="Li 2015, §2.2; Hong 2012, Eq. 2", symbol="Z")
def intensity(comp_cycles, mem_insts):
    """Computation cycles of a warp between two of its memory requests. [cycles]"""
    return divide(comp_cycles, mem_insts, at_zero=math.inf)


@equation(source="Li 2015, §2.2; Hong 2012, Table 1", symbol="n")
def threads(warps_per_sm):
    """Number of warps of one multiprocessor. [warps]"""
    return warps_per_sm
