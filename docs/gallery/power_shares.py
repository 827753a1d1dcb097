"""Power of the units of a GTX280 in each Merge benchmark (Hong 2012, Fig. 36).

Half of the power is idle power; memory comes next. The instruction counts of each unit are assumed,
because the thesis does not print them.
"""

import dse
from dse import plots

merge = ["sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"]
axes, given = {"workload": merge}, {"threads_per_block": 256}
figure = plots.power_shares(dse.Study(model="ipp", machine="gtx280", axes=axes, set=given)).figure
figure.savefig("power_shares.png")
