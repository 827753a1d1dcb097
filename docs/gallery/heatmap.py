"""Energy of a GTX280 over clock and active multiprocessors, with limits on power and time.

The star marks the least energy: all multiprocessors, at a clock below the nominal 1.3 GHz.
"""

import dse
from dse import plots

clocks = {"start": "0.4 GHz", "stop": "1.6 GHz", "step": "50 MHz"}
axes = {"core_clock": clocks, "active_sms": range(1, 31)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp", axes=axes, where=["power <= 150 W", "time <= 200 ms"], **entries)
figure = plots.heatmap(study, "energy", minimize="energy").figure
figure.savefig("heatmap.png")
