"""Bottleneck category of the memory benchmarks (Hong 2012, Figs. 125 and 126).

Dots mark too few warps to hide the latency. With more warps the bandwidth becomes the bottleneck,
earlier for Dmadd and Dotp, and later with fewer active cores.
"""

import dse
from dse import plots
from dse.plots.axes import new_figure

figure = new_figure(13, 4.8)
left, right = figure.subplots(1, 2)
given = {"model": "throughput", "machine": "gtx580", "outputs": ["category"]}
axes = {"workload": ["cmem", "madd", "mmul", "dmadd", "dotp"], "warps_per_sm": range(1, 49)}
plots.categories(dse.Study(axes=axes, **given), ax=left)
axes = {"active_sms": range(1, 17), "warps_per_sm": range(1, 49)}
plots.categories(dse.Study(axes=axes, workload="dmadd", **given), ax=right)
figure.savefig("categories.png")
