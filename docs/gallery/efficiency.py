"""Speed-up against energy efficiency of shared work, sixteen series (Hong 2012, Fig. 152).

Eleven shares of the work each. Left, as the thesis has it: top right the GPU is the faster device,
and any share of it pays; bottom left it is the slower one. How fast the devices are decides, so
that the series lie upon each other. Right, energy efficiency over speed-up: what is left for power.
"""

import dse
from dse import plots
from dse.plots.axes import new_figure

shares = [k / 10 for k in range(11)]
axes = {"benchmark_series": range(1, 17), "gpu_share": shares}
study = dse.Study(model="energy_speedup", machine="hong2012_node", axes=axes)
figure = new_figure(13, 5)
left, right = figure.subplots(1, 2)
plots.efficiency(study, ax=left).get_legend().remove()  # the other panel's is the same
for line in left.get_lines():
    line.set_label("_")
plots.efficiency(study, relative=True, ax=right)
figure.savefig("efficiency.png")
