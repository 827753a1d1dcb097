"""Time to redraw a page of `dse explore`, and its size.

    python -m pytest tests/benchmarks/test_explore.py -m benchmark -s

Medians of what follows a slider: the configuration, the figure, the outputs and every control.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from tests.browser import Browser, needs_chromium

pytestmark = pytest.mark.benchmark

STUDIES = Path(__file__).parents[2] / "docs" / "explore"
#: A study, a figure, and the most milliseconds that it may take to draw.
LIMITS = [
    ("transit", "transit", 16),
    ("mwp-cwp", "limits", 16),
    ("energy", "limits", 50),
    ("energy", "lines", 50),
    ("energy", "map", 100),
    ("imbalance", "tail", 16),
]
#: The middle of 41 redraws, and how many cells a map has.
TIMED = """(kind) => {
  const { here, view, LEVERS, changed, settle } = explorer, times = [];
  view.kind = kind;
  if (kind === "map") [view.over, view.by] = ["mem_bandwidth", "idle_power"];
  settle();
  const lever = [...LEVERS.values()].find((one) => !one.categories && one.name !== view.over);
  const samples = lever.samples(41);
  for (let k = 0; k < 41; k++) {
    lever.move(here, samples[k % samples.length]);
    const began = performance.now();
    changed();
    document.body.getBoundingClientRect();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[20];
}"""


@needs_chromium
@pytest.mark.parametrize(("name", "kind", "limit"), LIMITS)
def test_a_figure_follows_a_slider(
    name: str, kind: str, limit: float, page: Browser, tmp_path: Path
) -> None:
    path = dse.explore(STUDIES / f"{name}.toml", tmp_path / "page.html")
    page.size(1440, 1000)
    page.open(path.as_uri())
    took = page.run(f"({TIMED})({kind!r})")
    print(f"\n{name:10} {kind:8} {took:6.1f} ms ({limit} ms), {path.stat().st_size / 1000:.0f} kB")
    assert page.errors == []
    assert path.stat().st_size <= 400_000
    assert took <= limit
