"""Inputs of the transit model from MWP-CWP: join ``transit + transit_warps + mwp_cwp``.

Threads and requests are then those of warps on one multiprocessor, and so must be those of the
machine: ``lanes_width`` counts warps that issue at once (1 if ``issue_cycles`` is the cost of a
warp), ``ms_peak`` requests of warps a cycle.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide

#: A workload without memory instructions is outside the model.
RULES = ("mem_insts > 0",)

VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")


@equation(source="Li 2015, §2.2; Hong 2012, Eq. 2", symbol="Z")
def intensity(comp_cycles, mem_insts):
    """Computation of a warp between two of its memory requests. [cycles]"""
    return divide(comp_cycles, mem_insts, at_zero=math.inf)


@equation(source="Li 2015, §2.2; Hong 2012, Table 1", symbol="n")
def threads(warps_per_sm):
    """Warps of one multiprocessor. [warps]"""
    return warps_per_sm
