"""Large questions beside brute force, made small; large ones: ``python -m tests.sweeps.large``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from tests.sweeps import combining, large
from tests.sweeps.attack_large import drawn_large, question_large


@pytest.mark.parametrize("ask", [large.first_of_many, large.certify, large.check_count])
def test_large_questions_are_as_brute_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: object
) -> None:
    monkeypatch.setattr(large, "BLOCK", 1 << 17)
    assert ask(480_000, tmp_path) == ""  # type: ignore[operator]


def test_what_is_wrong_of_a_large_question_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "steps", lambda a, b, d: np.floor((a + 2 * b) / 16) + d // 5)
    assert "differ from brute force" in large.check_count(480_000, tmp_path)


@pytest.mark.parametrize("seed", [8, 12, 5])
def test_random_studies_of_many_points(tmp_path: Path, seed: int) -> None:
    """Two of them ask for the best of each of more than 10,000 cells."""
    one = drawn_large(seed)
    source, verb, question = question_large(one, seed)
    assert seed % 4 or max(map(len, one.axes.values())) > 10_000
    how, wrong = combining.check_answer(one, seed, tmp_path, (source,), verb, question)
    assert (how != "wrong", wrong) == (True, "")


def test_an_axis_longer_than_buffers_is_asked_with_every_kind_of_number(tmp_path: Path) -> None:
    """Integers and floats of every width as values of an axis: NumPy buffers where it casts."""
    for kind in ("int16", "int32", "int64", "uint8", "float32", "float64"):
        count = 250 if kind == "uint8" else 8_193
        values = np.arange(count, dtype=kind)
        (folder := tmp_path / kind).mkdir()
        study = large.study_of(folder, {"a": range(count), "b": range(3)})
        study = dse.Study(
            model=study.model,
            axes={"a": values, "b": np.arange(3, dtype=kind)},
            set={"c": 3.0, "d": 3.0},
            folder=folder,
        )
        best = study.optimum(minimize="cost", per="a")
        near = np.arange(count) % 50
        assert (best.cost.values == (np.minimum(near, 2) - near) ** 2 + 3.0).all(), kind
