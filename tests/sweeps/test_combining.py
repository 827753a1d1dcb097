"""Questions of every source beside brute force; thousands by tests.sweeps.combining."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import mostly_long
from tests.sweeps import combining
from tests.sweeps.attack_models import draw_study

#: Without those that compile each model.
QUICK = ("scan", "certified", "store", "values", "Dataset")


@pytest.mark.parametrize("seed", mostly_long(range(4000, 4020), lambda k, _: k % 4 == 1))
def test_random_questions(seed: int, tmp_path: Path) -> None:
    report = combining.combine(draw_study(seed), seed, tmp_path, QUICK)[1]
    assert not report, report


def test_what_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds that a configuration is left out."""
    from sweeps.query import optimum
    from sweeps.query.source import RankedPoints

    whole = optimum._optimize_from_stage

    def less(*given: object) -> RankedPoints:
        result = whole(*given)  # type: ignore[arg-type]
        return result.take(slice(0, max(result.scores.size - 1, 1)))

    monkeypatch.setattr(optimum, "_optimize_from_stage", less)
    seeds = range(4000, 4030)
    report = [combining.combine(draw_study(s), s, tmp_path, ("Dataset",))[1] for s in seeds]
    assert sum(map(bool, report)) > 2
