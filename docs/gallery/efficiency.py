"""Speed-up against energy efficiency of shared work, sixteen series (Hong 2012, Fig. 152).

Each series has eleven shares of the work. The left panel is that of the thesis. At the top right
the GPU is the faster device, and any share on the GPU pays; at the bottom left it is slower. Only
the speeds of the devices matter, so the series coincide. The right panel shows energy efficiency
over speed-up, which leaves the effect of power.
"""

import dse
from dse import plots

shares = [k / 10 for k in range(11)]
axes = {"benchmark_series": range(1, 17), "gpu_share": shares}
study = dse.Study(model="energy_speedup", machine="hong2012_node", axes=axes)
figure = plots.efficiency(study).figure
figure.savefig("efficiency.png")
