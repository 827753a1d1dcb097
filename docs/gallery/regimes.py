"""What bounds a machine over its threads and the intensity of its workload (Li 2015, section 2.4).

Below, threads are short; above, memory is up to the intensity where both systems are in balance,
computation from there on.
"""

import dse
from dse import plots

axes = {"threads": range(20, 2001, 20), "intensity": range(10, 801, 10)}
given = {"lanes_width": 200, "ms_peak": 1, "mem_latency": 400}
study = dse.Study(model="transit", axes=axes, set=given)
figure = plots.regimes(study).figure
figure.savefig("regimes.png")
