"""Questions of every source beside brute force; thousands by tests.sweeps.combining."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeps import combining
from tests.sweeps.attack_models import drawn


@pytest.mark.parametrize("seed", range(4000, 4012))
def test_random_questions(seed: int, tmp_path: Path) -> None:
    said = combining.combined(drawn(seed), seed, tmp_path)[1]
    assert not said, said


def test_what_is_wrong_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds a rank that is left out, and a tie that is."""
    from sweeps.ask import optimum

    whole = optimum._in_order

    def less(*given: object) -> optimum.Choice:
        found = whole(*given)  # type: ignore[arg-type]
        return found.take(slice(0, max(found.scores.size - 1, 1)))

    monkeypatch.setattr(optimum, "_in_order", less)
    said = [combining.combined(drawn(seed), seed, tmp_path)[1] for seed in range(4000, 4040)]
    assert sum(map(bool, said)) > 2
