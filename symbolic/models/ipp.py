"""IPP: performance and power together (Hong 2012, §3.3), the union of three models.

Access rates are computed from the predicted cycles (Eq. 61), and energy from the predicted time
with synchronisation. Where the time of ``mwp_cwp`` is not monotone, this time is not either. Join
``temperature`` for the power that heating adds: ``"ipp + temperature"``.
"""

UNION = "occupancy + mwp_cwp + power"

OUTPUTS = ("time", "power", "energy", "perf_per_watt", "case", "optimal_sms")
