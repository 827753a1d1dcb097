"""Each kind of plot draws the same numbers: series, bars, areas and maps.

``plot_series.json`` holds a summary of every series, as drawn before the kinds became a table.
After a change of the numbers that is meant:

    python -m tests.dse.test_plot_series
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from dse.cli import main
from tests.dse.conftest import STUDY
from tests.dse.test_cli_plot import COUNTERS, DRAWN, QUESTION, UNCERTAIN
from tests.long import mostly_long

STORED = Path(__file__).with_name("plot_series.json")
LABELS = DRAWN["lost"].replace("--axis blocks=6,10", "--set blocks=6 --axis dispatch=hardware,loop")
BORDERS = DRAWN["regimes"] + " --quantity cs_throughput --borders bound"
CASES = {kind: f"{kind} {options}" for kind, options in DRAWN.items()}
CASES |= {
    "lost": f"lost {LABELS}",
    "heatmap with borders": f"heatmap {BORDERS}",
    "lines, relative": "lines study.toml --quantity time --over active_sms --relative",
    "lines of a case": "lines study.toml --quantity case --over active_sms",
    "bars, relative": "bars question.toml --quantity time --relative --at active_sms=8",
    "bars of a question": "bars question.toml",
    "mwp of labels": "mwp --machine gtx580 --model throughput --axis workload=cmem,dotp "
    "--set warps_per_sm=48",
    "power-shares of numbers": "power-shares --machine gtx280 --workload svm "
    "--axis active_sms=1:30 --set threads_per_block=256",
    "scatter": "paper hong2012 --figure 91",
    "timeline": "paper hong2012 --figure 7",
    "lockstep": "paper swatman2022 --figure 1",
}


def arrays(figure: Figure) -> Iterator[tuple[str, Any]]:
    """The kind and the numbers of each series of a figure."""
    for ax in figure.axes:
        if ax.get_label() == "<colorbar>":
            continue
        for line in ax.get_lines():
            if np.size(line.get_xdata()):
                x, y = (np.asarray(data, float) for data in line.get_data())
                yield "line", np.stack(np.broadcast_arrays(x, y))
        for bars in ax.containers:
            if isinstance(bars, BarContainer):
                upright = bars.orientation == "vertical"
                boxes = [bar.get_bbox().bounds for bar in bars]
                yield "bars", np.array([box[1::2] if upright else box[::2] for box in boxes]).T
        for drawn in ax.collections:
            if isinstance(drawn, QuadMesh):
                yield "map", np.ma.filled(drawn.get_array().astype(float), np.nan).ravel()[None]  # type: ignore[union-attr]
            elif isinstance(drawn, LineCollection):
                yield "pieces", np.concatenate([*drawn.get_segments(), np.zeros((0, 2))]).T
            elif isinstance(drawn, PolyCollection):
                yield "area", np.concatenate([path.vertices for path in drawn.get_paths()]).T


def summary(kind: str, numbers: Any) -> list[Any]:
    """The number of points, and sums that depend on each value and the order."""
    finite = np.nan_to_num(numbers, nan=0.0, posinf=1e9, neginf=-1e9)
    weights = np.arange(1, finite.shape[1] + 1)
    sums = [*finite.sum(axis=1), *(finite @ weights), *np.abs(finite).max(axis=1, initial=0)]
    return [kind, int(numbers.shape[1]), *(float(f"{value:.9g}") for value in sums)]


def series(command: str, folder: Path) -> list[list[Any]]:
    """The summaries of all that a command draws."""
    texts = {"study.toml": STUDY, "question.toml": QUESTION}
    texts |= {"uncertain.toml": UNCERTAIN, "counters.csv": COUNTERS}
    for name, text in texts.items():
        (folder / name).write_text(text)
    figures: list[Figure] = []

    def write(figure: Figure, path: Path, _dpi: int = 0) -> None:
        figures.append(figure)
        path.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(import_module("dse.cli.plot"), "write_figure", write)
        result = CliRunner().invoke(main, ["plot", *command.split(" "), "--out", "a.png"])
    assert result.exit_code == 0, result.output
    return [summary(*each) for each in arrays(figures[0])]


def is_close(one: list[Any], other: list[Any]) -> bool:
    scale = max(map(abs, one[2:]), default=0)
    return one[:2] == other[:2] and np.allclose(one[2:], other[2:], rtol=1e-6, atol=1e-9 * scale)


@pytest.mark.parametrize("case", mostly_long(CASES, lambda k, _: k % 5 == 0))
def test_a_plot_draws_the_numbers_that_are_stored(case: str, tmp_path: Path) -> None:
    drawn = series(CASES[case], tmp_path)
    stored = json.loads(STORED.read_text())[case]
    missing = [one for one in stored if not any(is_close(one, other) for other in drawn)]
    assert not missing, (missing, drawn)


def test_every_case_is_stored_and_another_number_is_found(tmp_path: Path) -> None:
    stored = json.loads(STORED.read_text())
    assert set(stored) == set(CASES)
    assert all(stored.values())
    line = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert is_close(summary("line", line), summary("line", line * (1 + 1e-12)))
    assert not is_close(summary("line", line), summary("line", line[:, ::-1]))
    assert not is_close(summary("line", line), summary("line", line * [[1], [1 + 1e-4]]))


if __name__ == "__main__":
    drawn = {}
    for case, command in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            drawn[case] = series(command, Path(folder))
    rows = ",\n".join(
        f'"{case}": [\n' + ",\n".join(f"  {json.dumps(one)}" for one in each) + "\n]"
        for case, each in drawn.items()
    )
    STORED.write_text(f"{{\n{rows}\n}}\n")
