"""The kinds of figures of `dse plot`, and what each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["KINDS", "Kind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A figure: what it shows, and the model and outputs of a study that only options describe."""

    shows: str
    model: str = ""
    outputs: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "transit": Kind(shows="supply and demand of memory, where advice leads", model="transit"),
    "kernels": Kind(shows="transit figures by a profiler's counters, with what was measured"),
    "zigzag": Kind(shows="slowdown by passes not full", model="tmm", outputs=("sched_factor",)),
    "runtime": Kind(
        shows="run time over blocks and threads",
        model="apsp + tmm_calibrated",
        outputs=("memory_bound_time",),
    ),
    "mwp": Kind(shows="MWP and what limits it", model="mwp_cwp", outputs=("mwp",)),
    "sms": Kind(
        shows="performance, power and both over SMs", model="ipp", outputs=("perf_per_watt",)
    ),
    "power-shares": Kind(shows="who draws the power", model="ipp", outputs=("standing_power",)),
    "temperature": Kind(
        shows="heating and cooling", model="ipp + temperature", outputs=("temperature",)
    ),
    "levels": Kind(shows="levels of performance", model="throughput", outputs=("flops",)),
    "categories": Kind(
        shows="what bounds over two axes", model="throughput", outputs=("category",)
    ),
    "efficiency": Kind(
        shows="speed-up over energy efficiency",
        model="energy_speedup",
        outputs=("energy_efficiency",),
    ),
    **{
        name: Kind(shows=shows, model="launch", outputs=("launch_time_mean",))
        for name, shows in {
            "tail": "how rarely a launch lasts longer",
            "bands": "quantiles of the time of a launch over an axis",
            "lost": "where the time of all slots goes",
        }.items()
    },
    "slots": Kind(shows="the blocks of each slot in one simulated launch"),
    "regimes": Kind(shows="which case holds over two axes, and its borders"),
    "law": Kind(shows="what lockstep costs: --set distribution=geometric:0.05"),
    "parallel": Kind(shows="configurations as lines across all axes"),
    "heatmap": Kind(shows="a quantity over two axes"),
    "lines": Kind(shows="a quantity over one axis, a line a category"),
    "bars": Kind(shows="quantities of labels, side by side"),
    "pareto": Kind(shows="what no other configuration beats in two goals"),
    "tornado": Kind(shows="how far each axis moves the mean of a quantity"),
    "importance": Kind(shows="by how much each input moves a quantity at one configuration"),
    "chances": Kind(shows="how likely each configuration is the best, where inputs are random"),
    "worth": Kind(shows="what knowing each random input is worth"),
    "fan": Kind(shows="quantiles of an output over an axis, where inputs are random"),
    "outcome": Kind(shows="the law of an output at one configuration, where inputs are random"),
}
