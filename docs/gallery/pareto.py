"""Pareto front of run time and power over all clocks and numbers of multiprocessors.

Every other configuration is slower than one on the front, or draws more power.
"""

import dse
from dse import plots

clocks = {"start": "0.4 GHz", "stop": "1.6 GHz", "step": "50 MHz"}
axes = {"core_clock": clocks, "active_sms": range(1, 31)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp", axes=axes, where="time <= 200 ms", **entries)
figure = plots.pareto(study, minimize=["time", "power"]).figure
figure.savefig("pareto.png")
