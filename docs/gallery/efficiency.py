"""Speed-up against energy efficiency of shared work, sixteen series (Hong 2012, Fig. 152).

Eleven shares of the work each. Top right: the GPU is the faster device, and any share of it pays.
Bottom left: it is the slower one. How fast the devices are decides, not what they draw.
"""

import dse
from dse import plots

shares = [k / 10 for k in range(11)]
axes = {"benchmark_series": range(1, 17), "gpu_share": shares}
figure = plots.efficiency(
    dse.Study(model="energy_speedup", machine="hong2012_node", axes=axes)
).figure
figure.savefig("efficiency.png")
