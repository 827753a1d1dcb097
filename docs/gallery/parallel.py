"""Configurations of a GTX280 as lines, coloured by energy, with the best ones thick.

The best use all multiprocessors, or one less, and clocks near 1.3 GHz.
"""

import dse
from dse import plots

clocks = {"start": "0.4 GHz", "stop": "1.6 GHz", "step": "50 MHz"}
axes = {"core_clock": clocks, "active_sms": range(1, 31)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp", axes=axes, **entries)
figure = plots.parallel(study, quantity=["time", "power"], minimize="energy").figure
figure.savefig("parallel.png")
