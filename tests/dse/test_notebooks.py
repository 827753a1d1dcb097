"""The notebooks of examples/notebooks run, and give the numbers that can be computed by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
Names = dict[str, Any]


def check_roofline(names: Names) -> None:
    peaks = {"h100_sxm": 2 * 132 * 128 * 1.98e9, "l40s": 2 * 142 * 128 * 2.52e9}
    bandwidths = {"h100_sxm": 3352e9, "l40s": 864e9}
    for machine, peak in peaks.items():
        assert names["corners"][machine] == pytest.approx(peak / bandwidths[machine])
        rate = float(names["roofs"][machine].attainable_flops)
        assert rate == pytest.approx(min(peak, 50 * bandwidths[machine]))
    assert names["bottlenecks"].values.tolist() == [["dram"] * 2, ["dram"] * 2, ["latency"] * 2]
    shares = names["shares"].values
    assert (shares[:2] > 0.7).all()
    assert (shares[2] < 0.3).all()
    panels = names["figure"].axes
    assert [panel.get_title() for panel in panels] == list(peaks)


def check_tensor(names: Names) -> None:
    tiles = {8192: 32 * 32, 8448: 32 * 33, 8704: 32 * 34}
    waves = {8192: 8, 8448: 8, 8704: 9}
    for columns, fill in names["fills"].items():
        assert fill == pytest.approx(tiles[columns] / (132 * waves[columns]), abs=5e-4)
    assert names["best"] == 8448
    assert 1.09 < names["step"] < 9 / 8  # the power limit hides a part of the step
    bounds = names["bounds"]
    assert [bounds[rows] for rows in (1, 361, 362, 8192)] == ["memory"] * 2 + ["tensor"] * 2
    [panel] = names["figure"].axes
    without, fitted = panel.get_lines()[:2]
    assert (without.get_ydata() <= fitted.get_ydata() + 1e-9).all()


def check_skew(names: Names) -> None:
    assert names["largest"].mean() == pytest.approx(44 / 16)
    equal, popular = names["occupied"]
    assert equal == round(256 * (1 - (255 / 256) ** 128), 1)
    assert popular < equal
    assert names["busiest"][1] > names["busiest"][0] > 128 / 8
    assert names["steps"] == pytest.approx(1 + 9 * (1 - 0.99**32))
    ratios = names["skewed"].time.values
    assert ratios[0] < 1 < ratios[-1]
    assert names["answers"].moe_rank_tokens.values[0].tolist() == [16, 64, 256, 1024, 4096]
    assert names["figure"].axes


CHECKS: dict[str, Callable[[Names], None]] = {
    "roofline": check_roofline,
    "tensor": check_tensor,
    "skew": check_skew,
}


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_runs_from_a_clone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells run in order in the folder of the notebook; a notebook has no stored outputs."""
    examples = tmp_path / "examples"
    shutil.copytree(NOTEBOOKS.parent, examples)
    monkeypatch.chdir(examples / "notebooks")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    book = json.loads(Path(f"{name}.ipynb").read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    cells = book["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    names: Names = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{name} {cell['id']}", "exec"), names)
    CHECKS[name](names)


def test_every_check_has_a_notebook() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(CHECKS)
