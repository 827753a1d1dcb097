"""What predictions are worth; writes the page ``docs/validation.md`` and its figures.

    python docs/validation.py ../shared/data docs

Cases are a table in ``docs/validation_cases.py``. The data are not part of this project.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from validation_cases import CASES, Case, validated

import dse
from dse.validation.result import cells, heads

INTRODUCTION = """# Validation

Written by `python docs/validation.py ../shared/data docs`, with `dse.validate`. Predictions stand
beside what one would say without a model. No row is left out: what cannot be predicted is counted.
Rows that are predicted were not used to fit what predicts them. What loses to a baseline comes
first. An interval is learnt from other labels and should hold 90 %.

Supply curves, each fitted by itself, stand in [calibration](calibration.md), clocks in
[fits](fits.md). Units of double precision are not modelled; products of matrices
(`tiled_product`) are held against nothing measured yet."""


def lines_of(case: Case, found: Any, figure: str) -> Iterator[str]:
    """A case as a table, losses before it."""
    yield f"## {case.title}\n"
    words = heads([found.score, *found.baselines.values()])
    for name, measures in found.losses.items():
        told = ", ".join(words[measure] for measure in measures)
        yield f'<b class="loses">Loses to {name}: {told}.</b>\n'
    if found.score.missing:
        yield f'<b class="loses">Not predicted: {found.score.missing} rows.</b>\n'
    yield f"`{found.model}`, {found.rows:,} rows: {found.how}. {case.note}\n"
    every = {f"**{found.model}**": found.score, **found.baselines}
    if len(found.by) < 10:
        every |= {f"{found.model}, {label} left out": each for label, each in found.by.items()}
    shown = heads(list(every.values()))
    yield "| | " + " | ".join(shown.values()) + " |"
    yield "|---|" + "---|" * len(shown)
    for name, each in every.items():
        yield f"| {name} | " + " | ".join(cells(each, shown)) + " |"
    yield ""
    for number, values in enumerate(found.fitted[:2] if len(found.fitted) < 3 else ()):
        fitted = ", ".join(f"`{name}` {value:.3g}" for name, value in values.items())
        yield f"Fitted for {list(found.by)[number]}: {fitted}.\n"
    yield f"![Predicted against measured]({figure})\n"


def draw(found: Any, path: Path) -> None:
    """Predicted against measured, with lines at equality and a factor of two about it."""
    figure, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
    unit = dse.model(found.model).quantities[found.to].unit
    labels = dict.fromkeys(found.labels) if len({*found.labels}) < 6 else {None: None}
    for label in labels:
        own = np.array([label in (None, each) for each in found.labels])
        axes.plot(found.measured[own], found.predicted[own], ".", ms=3, alpha=0.5, label=label)
    ends = np.array([found.measured.min(), found.measured.max()])
    for factor, style in ((0.5, ":"), (1, "-"), (2, ":")):
        axes.plot(ends, factor * ends, style, color="0.3", lw=0.8)
    axes.set(xscale="log", yscale="log", xlabel=f"{found.to} measured [{unit}]")
    axes.set_ylabel(f"predicted [{unit}]")
    if len(labels) > 1:
        axes.legend()
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def main(data: Path, out: Path) -> None:
    """The page and its figures; cases that lose first."""
    mpl.use("agg")
    found = [(case, validated(case, data)) for case in CASES]
    found.sort(key=lambda pair: not (pair[1].losses or pair[1].score.missing))
    parts = [INTRODUCTION + "\n"]
    for case, each in found:
        figure = f"validation-{CASES.index(case) + 1}.png"
        draw(each, out / figure)
        parts += lines_of(case, each, figure)
    (out / "validation.md").write_text("\n".join(parts))
    if missed := [f"{case}: {one}" for case, each in found for one in case.missed(each)]:
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
