"""Work per energy of the Merge benchmarks over active multiprocessors (Hong 2012, Fig. 50).

Stars mark the best: for these six it is all 30, though the curves flatten.
"""

import dse
from dse import plots

merge = ["sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"]
axes, given = {"workload": merge, "active_sms": range(1, 31)}, {"threads_per_block": 256}
study = dse.Study(model="ipp", machine="gtx280", axes=axes, set=given)
figure = plots.lines(study, "perf_per_watt", maximize="perf_per_watt").figure
figure.savefig("perf_per_watt.png")
