"""The gallery: each script runs, and its figure is readable and as it was stored.

Pictures are compared without any text and with fixed places, so that fonts do not matter, and with
a tolerance for other versions of matplotlib. After a change that is meant:

    python tests/dse/test_gallery.py
"""

from __future__ import annotations

import itertools
import os
import runpy
import shlex
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

from dse.cli import main
from tests.long import mostly_long

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
STORED = ROOT / "tests" / "figures"
SCRIPTS = sorted(path.stem for path in GALLERY.glob("*.py"))

#: Root mean square over the picture; moving one line by a few percent gives more, as tested.
TOLERANCE = 3.0
DPI = 45
#: Pixels by which boxes of texts may touch.
TOUCH = 1.0


#: Figures drawn, until one is made bare.
DRAWN: dict[str, Figure] = {}


def figure_of(name: str) -> Figure:
    """The figure of a script, run once in an empty folder."""
    if name in DRAWN:
        return DRAWN[name]
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            figure = runpy.run_path(str(GALLERY / f"{name}.py"))["figure"]
            assert [path.name for path in Path().iterdir()] == [f"{name}.png"]
        finally:
            os.chdir(home)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return DRAWN.setdefault(name, figure)


def inside(ticks: list[Any], ends: tuple[float, float]) -> Iterator[Text]:
    low, high = sorted(ends)
    slack = 1e-9 * (high - low)
    for tick in ticks:
        if low - slack <= tick.get_loc() <= high + slack:
            yield from (tick.label1, tick.label2)


def texts_of(figure: Figure) -> Iterator[Text]:
    """Every text that is seen."""
    result: list[Text] = list(figure.texts)
    for ax in figure.axes:
        result += [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        result += [ax.xaxis.get_offset_text(), ax.yaxis.get_offset_text()]
        result += inside(ax.xaxis.get_major_ticks(), ax.get_xlim())
        result += inside(ax.yaxis.get_major_ticks(), ax.get_ylim())
        legend = ax.get_legend()
        if legend is not None:
            result += [*legend.get_texts(), legend.get_title()]
    return (text for text in result if text.get_visible() and text.get_text().strip())


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of which one lies upon the other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(figure)]
    return [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]


def panels(figure: Figure) -> list[Axes]:
    """The Axes but those of colour bars."""
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def bare(name: str, to: Path) -> Path:
    """The picture without text, everything at a place that no font changes."""
    figure = figure_of(name)
    del DRAWN[name]
    for ax in figure.axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()  # type: ignore[union-attr]
        if ax.get_label() == "<colorbar>":
            ax.remove()
            continue
        ax.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
        ax.grid(visible=False)
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts):
            text.set_visible(False)
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_offset_text().set_visible(False)
    figure.suptitle("")
    figure.set_layout_engine("none")
    pixels = [round(inches * DPI) + 0.01 for inches in figure.get_size_inches()]
    figure.set_size_inches([count / DPI for count in pixels])
    rows = max(ax.get_subplotspec().get_gridspec().nrows for ax in figure.axes)  # type: ignore[union-attr]
    for ax in figure.axes:
        place = ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start  # type: ignore[union-attr]
        columns = ax.get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
        wide, high = 1 / columns, 1 / rows
        left, bottom = place[1] * wide, 1 - (place[0] + 1) * high
        ax.set_position((left + 0.05 * wide, bottom + 0.05 * high, 0.9 * wide, 0.9 * high))
    figure.savefig(to, dpi=DPI)
    return to


# --- readable
@pytest.mark.parametrize("name", mostly_long(SCRIPTS, lambda k, _: k % 5 == 0))
def test_no_text_lies_upon_another_or_outside(name: str) -> None:
    figure = figure_of(name)
    assert overlapping(figure) == []
    whole = figure.bbox
    for text in texts_of(figure):
        box = text.get_window_extent()
        assert box.x0 >= whole.x0 - 1, text
        assert box.x1 <= whole.x1 + 1, text
        assert box.y0 >= whole.y0 - 1, text
        assert box.y1 <= whole.y1 + 1, text


@pytest.mark.parametrize("name", mostly_long(SCRIPTS, lambda k, _: k % 5 == 0))
def test_sides_are_named_and_lines_explained(name: str) -> None:
    figure = figure_of(name)
    for ax in panels(figure):
        assert ax.get_xlabel(), name
        assert ax.get_ylabel() or name == "tornado", name  # names of inputs are on the ticks
        shown = [line for line in ax.get_lines() if line.get_visible() and len(line.get_xdata())]  # type: ignore[arg-type]
        named = [line.get_label() for line in shown if not str(line.get_label()).startswith("_")]
        legend = ax.get_legend()
        if name == "efficiency":  # one legend of two panels
            legend = next(one.get_legend() for one in panels(figure) if one.get_legend())
        if len(named) > 1:
            assert legend is not None, name
            recorded = [text.get_text() for text in legend.get_texts()]
            assert len(recorded) == len(set(recorded)), recorded
            if name != "efficiency":  # its legend has two parts, of four each
                assert set(map(str, named)) <= set(recorded)


def test_an_overlap_would_be_found() -> None:
    figure = Figure()
    ax = figure.subplots()
    ax.text(0.5, 0.5, "one upon")
    ax.text(0.51, 0.51, "another")
    figure.draw_without_rendering()
    assert overlapping(figure) == [("one upon", "another")]


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_short_and_say_what_one_sees(name: str) -> None:
    text = (GALLERY / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 25
    assert text.startswith('"""')
    assert len(text.split('"""')[1].strip()) > 60


def test_each_figure_has_its_command() -> None:
    data = tomllib.loads((GALLERY / "commands.toml").read_text())
    assert sorted(data) == SCRIPTS
    for name, parts in data.items():
        program, command, *options = shlex.split(" ".join(parts))
        assert program == "dse"
        given = main.commands[command].make_context(command, options).params  # reads the options
        assert (given.get("out") or given["plot"]).suffix == ".png", name


# --- as stored
@pytest.mark.parametrize("name", mostly_long(SCRIPTS, lambda k, _: k % 5 == 0))
def test_figures_are_as_stored(name: str, tmp_path: Path) -> None:
    drawn = bare(name, tmp_path / f"{name}.png")
    differs = compare_images(str(STORED / f"{name}.png"), str(drawn), TOLERANCE)
    assert differs is None, differs


def test_a_line_moved_by_three_percent_is_another_figure(tmp_path: Path) -> None:
    figure = figure_of("zigzag")
    for line in figure.axes[0].get_lines():
        line.set_ydata([1.03 * y for y in line.get_ydata()])  # type: ignore[union-attr]
    drawn = bare("zigzag", tmp_path / "zigzag.png")
    assert compare_images(str(STORED / "zigzag.png"), str(drawn), TOLERANCE) is not None


def test_stored_figures_are_those_of_the_gallery_and_small() -> None:
    assert sorted(path.stem for path in STORED.iterdir()) == SCRIPTS
    assert sum(path.stat().st_size for path in STORED.iterdir()) < 1_000_000


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for script in SCRIPTS:
        bare(script, STORED / f"{script}.png")
