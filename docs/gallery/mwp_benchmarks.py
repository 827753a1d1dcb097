"""What limits MWP in the memory benchmarks on a GTX580 with all its warps (Hong 2012, Fig. 104).

Each asks for more requests at once than the bandwidth allows, Cmem for only a little more.
"""

import dse
from dse import plots

axes = {"workload": ["cmem", "madd", "mmul", "dmadd", "dotp"]}
given = {"machine": "gtx580", "set": {"warps_per_sm": 48}, "outputs": ["mwp"]}
figure = plots.mwp(dse.Study(model="throughput", axes=axes, **given)).figure
figure.savefig("mwp_benchmarks.png")
