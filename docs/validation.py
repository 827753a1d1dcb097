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
from dse.validation.scores import MEASURES, TIES_SUFFIX, Score, measure_headings, score_cells

INTRODUCTION = """# Validation

Written by `python docs/validation.py ../shared/data docs`, with `dse.validate`. Predictions stand
beside what one would say without a model. No row is left out: what cannot be predicted is counted.
Rows that are predicted were not used to fit what predicts them. What loses to a baseline comes
first. An interval is learnt from other labels and should hold 90 %.

Units of double precision are not modelled; products of matrices (`tiled_product`) are held against
nothing measured yet.

Of these files of `../shared/data` nothing is predicted:

* `tuner`: 4,362 times of a convolution on an A4000, without counters, source or grid.
* `profiles/coulomb/coulomb_gtx1070`: nothing hinders but that the GPU has no machine file yet.
* `mwp_cwp/published_evaluations`: what another implementation of MWP-CWP prints, no measurement; a
  test meets it. Where kernels were measured too it is the baseline below.
* `imbalance/model_*`, `acts_prop_freq`: laws and a study that were computed; tests meet all digits.
* `vcopy_amd`, besides its counters: levels, time stamps and a roofline of the same launches.

Tried as models of their own, and refused by the rows at hand:

* An iteration that costs more with more lanes at work (below, in lockstep).
* What is gained by spreading few blocks over more multiprocessors: MWP-CWP says nothing, and of
  seven PolyBench kernels of 256 threads 8 blocks take 0.98 to 1.19 times as long as one block
  (`mwp_cwp`). Gains of 1.5 to 1.9 were seen on another GPU, which is not among these rows."""


def lines_of(case: Case, found: Any, figure: str) -> Iterator[str]:
    """A case as a table, losses before it."""
    yield f"## {case.title}\n"
    called = case.called or found.model
    words = measure_headings([found.score, *found.baselines.values()])
    for name, measures in found.losses.items():
        told = ", ".join(words[measure] for measure in measures)
        yield f'<b class="loses">Loses to {name}: {told}.</b>\n'
    if found.score.missing:
        yield f'<b class="loses">Not predicted: {found.score.missing} rows.</b>\n'
    named = case.called or f"`{found.model}`"
    yield f"{named[:1].upper()}{named[1:]}, {found.rows:,} rows: {found.how}. {case.note}\n"
    every: dict[str, Score] = {f"**{called}**": found.score}
    if found.drawn is not None:
        every[f"**{called}**{TIES_SUFFIX}"] = found.drawn
    every |= found.baselines
    if len(found.by) < 10 and not found.per:
        every |= {f"{called}, {label} left out": each for label, each in found.by.items()}
    shown = measure_headings(list(every.values()))
    yield "| | " + " | ".join(shown.values()) + " |"
    yield "|---|" + "---|" * len(shown)
    for name, each in every.items():
        yield f"| {name} | " + " | ".join(score_cells(each, shown)) + " |"
    yield ""
    yield from labels_of(found)
    for number, values in enumerate(found.fitted[:2] if len(found.fitted) < 3 else ()):
        if found.per or len(values) > 9:
            continue
        fitted = ", ".join(f"`{name}` {value:.3g}" for name, value in values.items())
        yield f"Fitted for {list(found.by)[number]}: {fitted}.\n"
    yield f"![Predicted against measured]({figure})\n"


def labels_of(found: Any) -> Iterator[str]:
    """A row for each label that was asked for, beside the best baseline there; losses first."""
    if not found.per:
        return
    shown = {
        name: head
        for name, head in measure_headings([*found.by.values()]).items()
        if name in MEASURES
    }
    yield f"For each {' and '.join(found.per)}, in brackets the best baseline there:\n"
    yield "| | " + " | ".join(shown.values()) + " | loses to |"
    yield "|---|" + "---|" * (len(shown) + 1)
    lost = found.losses_by
    for label in sorted(found.by, key=lambda label: label not in lost):
        told = []
        for name in shown:
            others = [getattr(each, name) for each in found.beside[label].values()]
            best = max if MEASURES[name] else min
            one = Score(**{name: best((x for x in others if x == x), default=np.nan)})
            own, other = (score_cells(each, {name: ""})[0] for each in (found.by[label], one))
            told.append(f"{own} ({other})")
        losing = f'<b class="loses">{", ".join(lost[label])}</b>' if label in lost else ""
        yield f"| {label} | " + " | ".join([*told, losing]) + " |"
    yield ""


def draw(case: Case, found: Any, path: Path) -> None:
    """Predicted against measured, with lines at equality and a factor of two about it."""
    figure, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
    unit = dse.model(case.model).quantities[found.to].unit
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
        draw(case, each, out / figure)
        parts += lines_of(case, each, figure)
    (out / "validation.md").write_text("\n".join(parts))
    if missed := [f"{case}: {one}" for case, each in found for one in case.missed(each)]:
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
