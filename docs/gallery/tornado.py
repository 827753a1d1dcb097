"""Effect of each axis on the mean EDP of the tiled matrix product on a GTX280.

A bar spans the means along its axis. The two percentages are the first-order and the total Sobol
index. Bandwidth has no effect, because the kernel is compute bound.
"""

import dse
from dse import plots

axes = {
    "threads_per_block": [64, 144, 256, 400],
    "active_sms": range(15, 31),
    "core_clock": {"start": "0.6 GHz", "stop": "1.5 GHz", "step": "100 MHz"},
    "mem_bandwidth": ["70 GB/s", "105 GB/s", "141.7 GB/s"],
}
study = dse.Study(model="ipp", machine="gtx280", workload="mat_tiled", axes=axes)
figure = plots.tornado(study, "edp").figure
figure.savefig("tornado.png")
