"""The figures of the papers: each row draws and says whose numbers it shows, or why it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import dse
from dse.plots import papers
from dse.plots.laws import warp_schedule
from dse.plots.style import STYLES
from tests.long import long, mostly_long

Run = Callable[..., Result]

ALL = {"li2015": 19, "ma2014": 5, "swatman2022": 3, "hong2012": 159}
ROWS = [(key, row) for key, one in papers.read_papers().items() for row in one.figures.values()]
#: Blocks that no multiprocessor holds: the tiled product of 512 threads on an FX5600.
TOO_LARGE = {("hong2012", "15"): 1}
DRAWN = [(key, row.number) for key, row in ROWS if not row.why]


def test_every_figure_of_the_four_papers_has_a_row() -> None:
    known = {key: list(one.figures) for key, one in papers.read_papers().items()}
    assert known == {key: [str(n) for n in range(1, most + 1)] for key, most in ALL.items()}


@pytest.mark.parametrize(("key", "number"), mostly_long(DRAWN, lambda k, _: k % 5 == 0))
def test_every_row_draws_and_is_readable(key: str, number: str) -> None:
    """Sides are named; what is printed is drawn, and told by the legend."""
    figure = papers.paper_figure(key, number)
    row = papers.find_paper(key).figure(number)
    assert f"Fig. {number}. {row.shows}." in str(figure.get_supxlabel()).replace("\n", " ")
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert len(panels) == len(row.panels)
    for k, ax in enumerate(panels):
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        holes = [np.isnan(np.asarray(x.get_ydata(), dtype=float)).sum() for x in ax.get_lines()]
        assert sum(holes) == TOO_LARGE.get((key, number), 0)
        legend = ax.get_legend()
        texts = [text.get_text() for text in legend.get_texts()] if legend else []
        assert len(set(texts)) == len(texts) <= 18
        for mark in row.printed:
            if mark.get("panel", 0) == k:
                assert f"printed: {mark['label']}" in [*texts, *ax.get_legend_handles_labels()[1]]


def test_a_row_says_whose_numbers_it_shows_or_why_none() -> None:
    for key, row in ROWS:
        texts = [row.shows, row.why] if row.why else [row.shows, row.see, row.theirs, row.ours]
        assert all(len(text) > 5 and not text.endswith(".") for text in texts), (key, row.number)
        if not row.why:
            assert f"The paper's: {row.theirs}. The model's: {row.ours}." in row.caption


def test_marks_of_what_is_printed_stand_where_the_text_has_them() -> None:
    figure = papers.paper_figure("tmm", 5)
    marks = [x for x in figure.axes[0].get_lines() if str(x.get_label()).startswith("printed")]
    assert [float(x.get_ydata()[0]) for x in marks] == [404, 108, 105]  # type: ignore[index]
    assert {x.get_markerfacecolor() for x in marks} == {STYLES["published"].color}


def test_the_clocks_of_appendix_a_move_a_line_to_the_top_left() -> None:
    """Energy efficiency goes across, as section A.6 says where a higher clock leads."""
    ax = papers.paper_figure("hong2012", 159).axes[0]
    slow, _, fast = (line for line in ax.get_lines() if len(line.get_xdata()) == 11)  # type: ignore[arg-type]
    assert ax.get_xlabel().startswith("energy efficiency")
    assert fast.get_ydata()[-1] > slow.get_ydata()[-1]  # type: ignore[index]
    assert max(fast.get_xdata()) < 2 < max(fast.get_ydata())  # type: ignore[arg-type]
    at = [line.get_xdata()[5] / line.get_ydata()[5] for line in (slow, fast)]  # type: ignore[index]
    assert at[1] < at[0]


@pytest.mark.parametrize(
    ("number", "cycles"),
    [(6, ["14", "14"]), (7, ["11", "11"]), (8, ["35"]), (9, ["8", "9"])],
)
def test_time_lines_take_the_cycles_of_the_text(number: int, cycles: list[str]) -> None:
    """Figs. 6 to 9; by the equations too, but for Fig. 6, where Eq. 22 has a C less than Eq. 1."""
    titles = [ax.get_title() for ax in papers.paper_figure("hong2012", number).axes]
    assert [title.split(" cycles; ")[0] for title in titles] == cycles
    texts = ["13", "13"] if number == 6 else cycles
    assert [title.split()[2] for title in titles] == texts


def test_boxes_of_a_time_line_never_overlap() -> None:
    for warps, periods, mwp, departure, independent in (
        (5, 3, 2, 0, False),
        (4, 2, 3, 0.5, True),
        (6, 2, 0, 2, False),
    ):
        result = warp_schedule(
            warps, periods, 1, 3, mwp=mwp, departure=departure, independent=independent
        )
        assert len(result) == 2 * warps * periods
        assert max(box.row for box in result) <= (mwp or len(result))
        for row in {box.row for box in result}:
            boxes = sorted(box for box in result if box.row == row)
            times = sorted((box.start, box.stop) for box in boxes)
            assert all(stop <= start for (_, stop), (start, _) in pairwise(times))
        left = sorted(box.start for box in result if box.row)
        assert all(b - a >= departure for a, b in pairwise(left))


def test_papers_and_figures_are_listed(run: Run) -> None:
    text = run("plot", "paper").stdout
    assert "hong2012" in text
    assert "5 of 5 figures are drawn" in text
    answer = json.loads(run("plot", "paper", "Thesis", "--json").stdout)
    assert answer["paper"] == "hong2012"
    assert len(answer["figures"]) == answer["of"] == 159
    assert sum(not one["not_drawn"] for one in answer["figures"]) == answer["drawn"] > 60
    listed = run("plot", "paper", "imbalance").stdout
    assert "   3  Effect of independent thread scheduling" in listed
    assert "(not drawn: it is the difference of two measurements on an A100" in listed


@long
def test_one_figure_and_all(run: Run) -> None:
    answer = run("plot", "paper", "tmm", "--figure", "1", "--out", "a.svg").stdout
    assert answer.startswith("a.svg (Slowdown by a partly filled last pass")
    assert "The paper's: the settings" in answer
    assert Path("a.svg").read_text().startswith("<?xml")
    data = json.loads(
        run("plot", "paper", "tmm", "--figure", "all", "--out", "to", "--json").stdout
    )
    assert [one["path"] for one in data] == [f"to/ma2014-{n}.png" for n in range(1, 6)]
    assert sorted(path.name for path in Path("to").iterdir()) == [
        f"ma2014-{n}.png" for n in range(1, 6)
    ]


MISUSED = [
    ("li2014", "'li2014' is no paper; did you mean 'li2015'?; known are hong2012 (thesis"),
    ("tmm --figure 6", "ma2014 has no figure '6'"),
    ("tmm --figure one", "it has 1-5"),
    ("tmm --figure ../1", "ma2014 has no figure '../1'"),
    ("imbalance --figure 3", "is not drawn: it is the difference of two measurements"),
    ("tmm --figure 1 --out a.gif", "ends in .png, .pdf, .svg"),
    ("tmm --figure all --out a.png", "--out a.png: all figures go into a folder, name one"),
    ("tmm --out a.png", "--out needs --figure: a number, or all"),
    ("--figure 1", "name the paper: dse plot paper lists them"),
]


@pytest.mark.parametrize(("command", "message"), MISUSED)
def test_misuse_names_what_exists(run: Run, command: str, message: str) -> None:
    assert message in run("plot", "paper", *command.split(), status=2).stderr


def test_an_unknown_paper_is_an_error_in_python_too() -> None:
    with pytest.raises(dse.DseError, match="has no figure 160; it has 1-159"):
        papers.paper_figure("thesis", 160)
