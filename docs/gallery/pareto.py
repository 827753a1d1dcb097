"""Run time against power of every clock and number of multiprocessors; the front none beats.

Every other configuration is slower or draws more than one on the front.
"""

import dse
from dse import plots

clocks = {"start": "0.4 GHz", "stop": "1.6 GHz", "step": "50 MHz"}
axes = {"core_clock": clocks, "active_sms": range(1, 31)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp", axes=axes, where="time <= 200 ms", **entries)
figure = plots.pareto(study, minimize=["time", "power"]).figure
figure.savefig("pareto.png")
