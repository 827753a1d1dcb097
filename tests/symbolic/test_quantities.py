"""The one table of quantities, collected of the tuples of rows."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

from symbolic.quantities import TABLE
from symbolic.quantity import Quantity
from symbolic.quantity_rows import (
    energy,
    language_models,
    machines,
    performance,
    sparse,
    workloads,
)


def rows() -> list[Quantity]:
    """Every row that stands in a tuple of one of the files."""
    files = (energy, language_models, machines, performance, sparse, workloads)
    tuples = [value for file in files for value in vars(file).values() if isinstance(value, tuple)]
    return [row for rows in tuples for row in rows]


def test_every_row_is_collected_and_no_name_stands_twice() -> None:
    names = [row.name for row in rows()]
    assert len(names) > 600
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert set(names) == set(TABLE)


def test_all_are_known_before_any_model_is_loaded() -> None:
    script = "import sys, symbolic.quantities; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "symbolic.quantity_rows.machines" in done.stdout.split()
    assert "symbolic.models" not in done.stdout
