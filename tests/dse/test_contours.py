"""Borders over maps: where they are drawn, between the values of the axes and beside labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
from dse import plots
from dse.plots.maps import border_segments
from symbolic.errors import DseError


def transit() -> Any:
    return dse.Study(
        model="transit",
        axes={"intensity": [5, 10, 20, 40, 80], "threads": {"start": 32, "stop": 2048, "step": 32}},
        set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
        outputs=["cs_throughput", "bound"],
    )


def double_lines(ax: Any) -> Any:
    """The pieces of the double lines."""
    [lines] = [c for c in ax.collections if hasattr(c, "get_segments") and c.get_path_effects()]
    return lines.get_segments()


def test_lines_lie_on_the_borders() -> None:
    """Memory and thread meet at threads = intensity + 600, computation begins at an intensity of 32
    or threads = 32 (intensity + 600) / intensity (Li 2015, Eqs. 1-3)."""
    ax = plots.heatmap(transit(), "cs_throughput", borders="bound", over="threads", by="intensity")
    segments = double_lines(ax)
    assert len(segments) > 50
    assert any("bound" in text.get_text() for text in ax.get_legend().get_texts())
    on = 0
    for x, y in np.concatenate(segments):
        memory = abs(x - (y + 600)) <= 1e-6 * x
        lanes = abs(y - 32) <= 1e-9 * y and x >= 632
        threads = abs(x - 32 * (y + 600) / y) <= 1e-6 * x
        on += memory or lanes or threads
    assert on >= 0.95 * 2 * len(segments)  # the rest are where three meet


def test_whole_axes_and_labels_are_drawn_between_the_cells() -> None:
    study = dse.Study(
        model="occupancy + mwp_cwp",
        machine="8800gtx",
        workload="svm",
        axes={"threads_per_block": [64, 128, 256, 512], "active_sms": range(2, 17, 2)},
        outputs=["time", "limiter"],
    )
    ax = plots.heatmap(study, "time", borders="limiter")
    limiter = study.run().limiter.values
    crossings = {float(y) for piece in double_lines(ax) for _, y in piece}
    edges = {96.0, 192.0, 384.0}
    by_factor = {float(np.sqrt(a * b)) for a, b in ((64, 128), (128, 256), (256, 512))}
    assert len(set(limiter.tolist())) > 1
    assert all(any(np.isclose(c, e) for e in edges | by_factor) for c in crossings)


def test_more_than_two_on_a_cell_meet_in_its_middle() -> None:
    study = transit()
    ds = study.run()
    result = dse.borders(study, "bound")
    lines = border_segments(ds, result, "threads", "intensity", {"threads", "intensity"})
    ends = [tuple(end) for line in lines for end in line]
    assert max(ends.count(end) for end in ends) >= 3


def test_misuse() -> None:
    with pytest.raises(DseError, match="borders need a study"):
        plots.heatmap(transit().run(), "cs_throughput", borders="bound")
    with pytest.raises(DseError, match="is a number"):
        plots.heatmap(transit(), "cs_throughput", borders="cs_throughput")
