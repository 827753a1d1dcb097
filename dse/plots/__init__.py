"""Figures of models and studies, with matplotlib (the extra ``plot``).

Each function draws what the model yields, on an ``Axes`` of yours or of a new figure, and returns
the ``Axes``; ``dse plot`` draws them from the command line. ``law_figure``, ``launch_figure`` and
``paper_figure`` make whole figures.
"""

from __future__ import annotations

from dse.plots.bars import bars
from dse.plots.chances import chances, worth
from dse.plots.curves import lines
from dse.plots.energy import sms
from dse.plots.fans import fan
from dse.plots.fronts import pareto
from dse.plots.importance import importance
from dse.plots.kernels import kernels
from dse.plots.launches import bands, lost, tail
from dse.plots.laws import law, law_figure
from dse.plots.levels import levels
from dse.plots.maps import categories, heatmap
from dse.plots.outcomes import outcome
from dse.plots.papers import paper_figure
from dse.plots.parallel import parallel
from dse.plots.passes import zigzag
from dse.plots.regimes import regimes
from dse.plots.scheduled import launch_figure, slots
from dse.plots.shares import power_shares
from dse.plots.sharing import efficiency
from dse.plots.temperature import temperature
from dse.plots.threads import runtime
from dse.plots.tornado import tornado
from dse.plots.transits import transit
from dse.plots.warps import mwp

__all__ = [
    "bands",
    "bars",
    "categories",
    "chances",
    "efficiency",
    "fan",
    "heatmap",
    "importance",
    "kernels",
    "launch_figure",
    "law",
    "law_figure",
    "levels",
    "lines",
    "lost",
    "mwp",
    "outcome",
    "paper_figure",
    "parallel",
    "pareto",
    "power_shares",
    "regimes",
    "runtime",
    "slots",
    "sms",
    "tail",
    "temperature",
    "tornado",
    "transit",
    "worth",
    "zigzag",
]
