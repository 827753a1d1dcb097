"""Bottleneck of a machine over threads and intensity of its workload (Li 2015, section 2.4).

With few threads, their number is the bottleneck. With many threads, it is memory up to the
intensity at which both systems are in balance, and computation beyond.
"""

import dse
from dse import plots

axes = {"threads": range(20, 2001, 20), "intensity": range(10, 801, 10)}
given = {"lanes_width": 200, "ms_peak": 1, "mem_latency": 400}
study = dse.Study(model="transit", axes=axes, set=given)
figure = plots.regimes(study).figure
figure.savefig("regimes.png")
