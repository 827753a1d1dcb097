"""Run time against threads per block, with one line for each of three GPUs.

A larger block computes a larger tile and reads less for each result. Beyond 448 threads, a block
no longer fits the registers of the two older GPUs. The star marks the shortest time of each GPU.
"""

import dse
from dse import plots

axes = {"machine": ["8800gt", "8800gtx", "gtx280"], "threads_per_block": range(32, 513, 32)}
study = dse.Study(model="occupancy + mwp_cwp", workload="mat_tiled", axes=axes)
figure = plots.lines(study, "time", minimize="time").figure
figure.savefig("lines.png")
