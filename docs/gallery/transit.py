"""Transit figure: the threads settle where supply and demand of memory cross.

Right of the first dotted line the lanes are not full; left of the second, memory is not. The curves
cross between the two, where neither is full: the number of threads is the bottleneck.
"""

from dse import plots

point = {"lanes_width": 200, "ms_peak": 1, "mem_latency": 400}
figure = plots.transit(threads=450, intensity=200, **point).figure
figure.savefig("transit.png")
