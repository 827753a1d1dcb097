"""Energy efficiency against speed-up of one CPU whose clock rises (Hong 2012, Figs. 150, 151).

As long as power hardly grows with the clock, efficiency follows speed-up; where it grows with the
square or the cube of it, efficiency reaches a peak and falls.
"""

import dse
from dse import plots

clocks = {"start": "0.8 GHz", "stop": "9.6 GHz", "step": "0.8 GHz"}
axes = {"clock_power_exponent": [0, 1, 2, 3], "cpu_clock": clocks}
given = {"machine": "hong2012_node", "set": {"benchmark_series": 4, "gpu_share": 0}}
study = dse.Study(model="energy_speedup", axes=axes, **given)
figure = plots.efficiency(study, over="cpu_clock").figure
figure.savefig("efficiency_growth.png")
