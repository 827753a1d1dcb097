"""Categories of the memory benchmarks as warps and cores are added (Hong 2012, Figs. 125, 126).

Dots: too few warps to hide the latency. With more of them bandwidth becomes short, of Dmadd and
Dotp sooner; with fewer active cores later.
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
