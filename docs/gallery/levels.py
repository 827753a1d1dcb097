"""Performance levels of the memory benchmarks on a GTX580 (Hong 2012, Fig. 108).

The instruction mix costs the largest part of the peak. Memory takes the rest, less so for Cmem,
which computes more for each request.
"""

import dse
from dse import plots

axes = {"workload": ["cmem", "madd", "mmul", "dmadd", "dotp"]}
given = {"machine": "gtx580", "set": {"warps_per_sm": 48}, "outputs": ["flops"]}
figure = plots.levels(dse.Study(model="throughput", axes=axes, **given)).figure
figure.savefig("levels.png")
