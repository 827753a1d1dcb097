"""Labels of ticks in drawn figures never overlap; scales, title and dots of the command line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import Result
from matplotlib import image
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

import dse
from dse import plots
from dse.plots.axes import add_legend, new_figure, use_log_scale
from dse.plots.ticks import fit_ticks

Run = Callable[..., Result]

#: Values of axes whose labels are long, near or far from 1.
AXES: dict[str, Sequence[float]] = {
    "odd": np.geomspace(0.348636521, 4570.3, 17).tolist(),
    "tiny": np.geomspace(1e-9, 3.3e-7, 13).tolist(),
    "huge": np.geomspace(1.234e9, 5e14, 30).tolist(),
    "twos": [2**k for k in range(4, 24)],
    "tens": [10.0**k for k in range(-3, 12)],
    "even": np.linspace(123456.789, 987654.321, 23).tolist(),
    "near": [1234567.0, 1234568.0, 1234569.0, 1234570.0],
}
SIZES = [(4.0, 3.0), (6.4, 4.2), (12.0, 3.0)]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of labels of one axis that touch in the drawn figure."""
    figure.draw_without_rendering()
    pairs = []
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        labels = [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        boxes = [(text.get_text(), text.get_window_extent()) for text in labels if text.get_text()]
        pairs += [
            (one, other)
            for (one, a), (other, b) in itertools.combinations(boxes, 2)
            if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
        ]
    return pairs


def lines_over(values: Sequence[float], size: tuple[float, float], unit: str = "") -> Any:
    """Lines of a Dataset over an axis of these values."""
    times = ("n", np.geomspace(1e-9, 1e3, len(values)), {"units": "s"})
    data = xr.Dataset({"time": times}, {"n": ("n", np.array(values), {"units": unit})})
    return plots.lines(data, "time", over="n", ax=new_figure(*size).subplots())


@pytest.mark.parametrize("values", AXES.values(), ids=AXES)
def test_labels_of_an_axis_never_overlap(values: Sequence[float]) -> None:
    """Among them is an axis of odd numbers, whose labels were "0.348636521.2154744..."."""
    for size, unit in itertools.product(SIZES, ("", "B", "Hz")):
        ax = lines_over(values, size, unit)
        assert overlaps(ax.figure) == [], (size, unit)
        assert len([text for text in ax.get_xticklabels() if text.get_text()]) >= 2


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_any_places_keep_apart(scale: str) -> None:
    """Places near each other and far apart, small and large figures and fonts."""
    random = np.random.default_rng(0)
    for spread in (1e-9, 0.1, 1.0, 6.0, 24.0):
        for _ in range(2):
            middle = random.uniform(-6, 6)
            powers = middle + spread * random.uniform(-0.5, 0.5, random.integers(1, 40))
            places = np.unique(10**powers)
            figure = new_figure(random.uniform(4, 12), 3.0)
            ax = figure.subplots()
            ax.set(xscale=scale, yscale=scale)
            ax.plot(places, places)
            ax.tick_params(labelsize=random.uniform(5, 12))
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(FixedLocator(places.tolist()))
                axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
                fit_ticks(axis)
            assert overlaps(figure) == [], (places, scale)


def test_names_without_room_are_turned_and_all_remain() -> None:
    for length, angle in ((2, 0), (16, 30)):
        names = [f"{k:0{length}}" for k in range(12)]
        data = xr.Dataset({"time": (("a", "b"), np.ones((2, 12)))}, {"a": [1, 2], "b": names})
        ax = plots.heatmap(data, "time")
        ax.figure.draw_without_rendering()
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {angle}
        assert [label.get_text() for label in ax.get_xticklabels()] == names


def test_an_overlap_is_detected() -> None:
    ax = Figure((4.0, 3.0)).subplots()
    ax.set(xlim=(0, 10), xticks=range(11), xticklabels=["a long name"] * 11)
    assert overlaps(ax.figure)  # type: ignore[arg-type]


STUDY = """model = "transit"
axes = { threads = { start = 64, stop = 4096, step = 64 } }
set = { intensity = 10, lanes_width = 32, ms_peak = 1, mem_latency = 600 }
"""


@pytest.fixture
def study(run: Run) -> None:
    """Writes the study into the folder where commands run."""
    Path("threads.toml").write_text(STUDY)


LINES = ("plot", "lines", "threads.toml", "--quantity", "ms_throughput", "--out", "a.png")


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("sides", ["x", "y", "xy"])
def test_log_scales_the_named_sides(run: Run, sides: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("dse.cli.plot.write_figure", lambda figure, *_: drawn.append(figure))
    Path("a.png").touch()
    run(*LINES, "--log", sides, "--title", "What the threads give")
    (ax,) = drawn[0].axes
    assert [ax.get_xscale(), ax.get_yscale()] == ["log" if s in sides else "linear" for s in "xy"]
    assert ax.get_title() == "What the threads give"
    assert overlaps(drawn[0]) == []


def boxes(figure: Figure) -> list[Any]:
    """Boxes in the drawn figure of the labels of x axes, and of legends."""
    figure.draw_without_rendering()
    parts: list[Any] = [ax.xaxis.label for ax in figure.axes]
    parts += [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
    return [each.get_window_extent() for each in parts]


def touches(figure: Figure) -> bool:
    """True if two of these boxes overlap."""
    return any(a.overlaps(b) for a, b in itertools.combinations(boxes(figure), 2))


@pytest.mark.parametrize("more", [("--log", "xy"), ()])
def test_the_panels_of_an_efficiency_do_not_collide(
    run: Run, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minor labels "9.2 x 10^-1" lay on each other, and the labels of both x axes touched."""
    drawn: list[Figure] = []
    monkeypatch.setattr("dse.cli.plot.write_figure", lambda figure, *_: drawn.append(figure))
    Path("a.png").touch()
    axes = ("--axis", "benchmark_series=1:16", "--axis", "gpu_share=0:1:0.1")
    given = ("plot", "efficiency", "--machine", "hong2012_node", *axes, "--out", "a.png")
    run(*given, "--size", "8x4.5", "--title", "", *more)
    (figure,) = drawn
    assert overlaps(figure) == []
    assert not touches(figure)
    ax = figure.axes[1]
    assert len([each for each in ax.get_xticklabels() if each.get_text()]) > 2
    assert not [each for each in ax.get_xticklabels(minor=True) if each.get_text()]
    assert [figure.get_suptitle(), *(panel.get_title() for panel in figure.axes)] == [""] * 3


@pytest.mark.filterwarnings("error")
def test_only_the_means_of_a_tornado_may_be_logarithmic(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Sobol index of zero gave a tick "1e-32"; limits below 0 divided by zero."""
    drawn: list[Figure] = []
    monkeypatch.setattr("dse.cli.plot.write_figure", lambda figure, *_: drawn.append(figure))
    Path("a.png").touch()
    run(*("plot", "tornado", "energy-gtx280", "--quantity", "time", "--log", "x", "--out", "a.png"))
    left, right = drawn[0].axes
    assert [left.get_xscale(), right.get_xscale()] == ["log", "linear"]
    assert 0 < left.get_xlim()[0] < min(bar.get_x() for bar in left.patches)  # type: ignore[attr-defined]
    assert overlaps(drawn[0]) == []


def test_a_legend_below_a_figure_leaves_room_for_the_label(run: Run) -> None:
    for style in ("default", "seaborn-v0_8-talk", "seaborn-v0_8-poster"):
        with plt.style.context(style):
            ax = lines_over([1, 2, 3], (8.0, 6.0))
            ax.set_xlabel("a label of\ntwo lines")
            ax.plot([1, 2, 3], [1, 2, 3], label="another")
            add_legend(ax, at_bottom=True, handles=ax.lines, labels=["one", "two"])
            assert not touches(ax.figure), style


def test_zero_alone_has_no_logarithm() -> None:
    ax = new_figure().subplots()
    ax.barh([0, 1], [0, 0])
    with pytest.raises(dse.DseError, match="begins at 0"):
        use_log_scale(ax, "x")


@pytest.mark.usefixtures("study")
def test_dots_per_inch_are_those_of_the_picture(run: Run) -> None:
    for dots in (50, 200):
        run(*LINES, "--size", "6x4", "--dpi", str(dots))
        assert image.imread("a.png").shape[:2] == (4 * dots, 6 * dots)


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--dpi", "1200", "--size", "40x4"), "more than 20,000 pixels: give fewer"),
        (("--log", "z"), "'z' is not one of 'x', 'y', 'xy'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(run: Run, more: tuple[str, ...], words: str) -> None:
    assert words in run(*LINES, *more, status=2).stderr


@pytest.mark.parametrize(
    ("values", "words"),
    [([0.0, 1.0, 2.0], "begins at 0, and only positive"), (["a", "b"], "has names, not numbers")],
)
def test_names_and_zero_have_no_logarithm(values: list[Any], words: str) -> None:
    data = xr.Dataset({"time": ("n", np.ones(len(values)), {"units": "s"})}, {"n": values})
    if words.startswith("has"):
        ax = plots.bars(data, "time")
        side = "y"
    else:
        ax, side = plots.lines(data, "time", over="n"), "x"
    with pytest.raises(dse.DseError, match=words):
        use_log_scale(ax, side)


@pytest.mark.parametrize("ends", [(2.2e-5, 1.3e-2), (3e-5, 8e-3), (1.2e-9, 2.9e-6)])
def test_ticks_of_a_logarithmic_axis_are_at_equal_factors(ends: tuple[float, float]) -> None:
    """If not all of 1, 2 and 5 fit, those at 1 and 3 remain, and not every second."""
    times = xr.DataArray(np.array(ends), dims="kernel", attrs={"units": "s"}, name="time")
    ds = xr.Dataset({"time": times}, {"kernel": ["short", "long"]})
    ax = plots.bars(ds, "time", ax=new_figure(5.2, 3).subplots())
    use_log_scale(ax, "x")
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    places = [place for place in ax.get_xticks() if low <= place <= high]
    assert len(places) >= 3
    firsts = {round(place / 10 ** np.floor(np.log10(place) + 1e-9)) for place in places}
    assert firsts in ({1, 2, 5}, {1, 3}, {1})
