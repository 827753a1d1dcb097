"""IPP: performance and power together (Hong 2012, §3.3), the union of three models.

Access rates are computed from the predicted cycles (Eq. 61), energy from the predicted time
including synchronisation. That time is not monotone where the time of ``mwp_cwp`` is not. Join
``temperature`` for the power that heating adds: ``"ipp + temperature"``.
"""

from __future__ import annotations

UNION = "occupancy + mwp_cwp + power"

OUTPUTS = ("time", "power", "energy", "perf_per_watt", "case", "optimal_sms")
