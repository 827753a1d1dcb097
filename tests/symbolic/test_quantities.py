"""The one table of quantities, collected of files that stand beside the models."""

from __future__ import annotations

import subprocess
import sys

from symbolic import quantities
from symbolic.library import SHIPPED
from symbolic.quantities import TABLE


def test_every_file_of_rows_is_collected() -> None:
    names = {file.__name__.rsplit(".", 1)[1] for file in quantities._FILES}
    assert names == {path.stem for path in SHIPPED.glob("*_rows.py")}


def test_no_quantity_stands_twice() -> None:
    assert sum(len(file.ROWS) for file in quantities._FILES) == len(TABLE)


def test_all_are_known_before_any_model_is_loaded() -> None:
    script = "import sys, symbolic.quantities; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = [n for n in done.stdout.split() if n.startswith("symbolic.models.")]
    assert loaded
    assert all(name.endswith("_rows") for name in loaded)


def test_no_name_stands_in_two_files_of_rows():
    from symbolic import quantities

    names = [row.name for file in quantities._FILES for row in file.ROWS]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
