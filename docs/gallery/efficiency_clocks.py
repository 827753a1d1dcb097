"""Energy efficiency against speed-up at several clocks of CPU or GPU (Hong 2012, Figs. 157-159).

Power grows with the cube of a clock: the line of a higher one reaches further right, and lies
lower, as the same speed-up takes more energy.
"""

import dse
from dse import plots
from dse.plots.frame import new_figure

CLOCKS = {"cpu_clock": ["1.6 GHz", "2.4 GHz", "4.8 GHz"]}
CLOCKS["gpu_clock"] = ["1 GHz", "1.544 GHz", "3 GHz"]

figure = new_figure(13, 5)
for ax, (clock, values) in zip(figure.subplots(1, 2), CLOCKS.items(), strict=True):
    axes = {clock: values, "gpu_share": [k / 10 for k in range(11)]}
    given = {"machine": "hong2012_node", "set": {"benchmark_series": 16}}
    plots.efficiency(dse.Study(model="energy_speedup", axes=axes, **given), ax=ax)
figure.savefig("efficiency_clocks.png")
