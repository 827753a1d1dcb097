"""The notebooks of examples/notebooks run, and give the numbers that can be computed by hand."""

from __future__ import annotations

import ast
import json
import re
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
    assert names["bottlenecks"].values.tolist() == [
        ["dram"] * 2,
        ["power", "dram"],
        ["latency"] * 2,
    ]
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
    assert [bounds[rows] for rows in (1, 361, 362, 8192)] == ["memory"] * 2 + ["power"] * 2
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


def check_objects(names: Names) -> None:
    """Each object shows itself in a notebook, and prints as text; long attributes are folded."""
    shown = [value for value in names["shown"] if value is not None]
    assert len(shown) > 30
    for value in shown:
        text, show = str(value), getattr(value, "_repr_html_", None)
        assert text.strip()
        if show is None:
            assert value._repr_png_()[0].startswith(b"\x89PNG")
            continue
        html = show()
        assert html.count("<table") == html.count("</table>")
        assert html.count("<div") == html.count("</div>")
        assert " 1 rows" not in html
        assert "nan" not in text.split()
        attributes = re.findall(r"type='checkbox'([^>]*)>\s*<label[^>]*>\s*Attributes", html)
        assert not any("checked" in each for each in attributes)
    kinds = {type(value).__name__ for value in shown}
    assert kinds >= {"Study", "Comparison", "Plan", "Answer", "DatasetAccessor", "RuleReport"}
    assert kinds >= {"Explanation", "Advice", "Analysis", "OutputLaw", "Model", "Entry", "Fit"}
    assert kinds >= {"Calibration", "Validation", "KernelCounts", "Quantities"}


CHECKS: dict[str, Callable[[Names], None]] = {
    "roofline": check_roofline,
    "tensor": check_tensor,
    "skew": check_skew,
    "objects": check_objects,
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
    names: Names = {"shown": []}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            tree = ast.parse("".join(cell["source"]))
            if isinstance(last := tree.body[-1], ast.Expr):
                keep = ast.parse("shown.append(0)").body[0]
                keep.value.args = [last.value]  # type: ignore[attr-defined]
                tree.body[-1] = ast.copy_location(ast.fix_missing_locations(keep), last)
            exec(compile(tree, f"{name} {cell['id']}", "exec"), names)
    CHECKS[name](names)


def test_every_check_has_a_notebook() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(CHECKS)
