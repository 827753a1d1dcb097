"""Run time against the threads of a block on three GPUs, a line for each.

A larger block works on a larger tile and reads less for each result; past 448 threads one no
longer fits the registers of the two older GPUs. The star is the shortest time of each.
"""

import dse
from dse import plots

axes = {"machine": ["8800gt", "8800gtx", "gtx280"], "threads_per_block": range(32, 513, 32)}
study = dse.Study(model="occupancy + mwp_cwp", workload="mat_tiled", axes=axes)
figure = plots.lines(study, "time", minimize="time").figure
figure.savefig("lines.png")
