"""A format of measured files is one row of a table: one that is added is read everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.importers import formats
from dse.importers.formats import FORMATS, MeasuredFile, MeasurementFormat
from dse.importers.records import Records
from symbolic.errors import DseError

TEXT = "%pairs\nthreads_per_block=64 time=0.25\nthreads_per_block=128 time=0.125\n"


def from_pairs(file: MeasuredFile) -> Records:
    """Return the records of lines of ``name=value``."""
    rows = [dict(pair.split("=") for pair in line.split()) for line in file.text.splitlines()[1:]]
    columns: dict[str, list[Any]] = {name: [float(row[name]) for row in rows] for name in rows[0]}
    return Records(
        kind="pairs",
        axes=("threads_per_block",),
        columns=columns,
        units={"time": "s"},
        status=[""] * len(rows),
    )


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Add the format ``pairs``, and write a file of it."""
    row = MeasurementFormat(
        title="pairs",
        reader=from_pairs,
        suffixes=(".pairs",),
        matches=lambda file: file.start.startswith(b"%pairs"),
    )
    monkeypatch.setattr(formats, "FORMATS", {"pairs": row, **FORMATS})
    path = tmp_path / "runs.pairs"
    path.write_text(TEXT)
    return path


def test_a_file_of_an_added_format_is_opened_and_asked(pairs: Path) -> None:
    ds = dse.open(pairs)
    assert ds.time.sel(threads_per_block=128).item() == 0.125
    best = dse.optimum(ds, minimize="time")
    assert best.threads_per_block.item() == 128


def test_the_command_line_imports_an_added_format(pairs: Path) -> None:
    out = pairs.with_suffix(".csv")
    done = CliRunner().invoke(main, ["import", str(pairs), str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert Path(json.loads(done.stdout)["written"]) == out
    assert dse.open(out).time.values.tolist() == [0.25, 0.125]


def test_an_error_names_an_added_format(pairs: Path) -> None:
    other = pairs.with_suffix(".unknown")
    other.write_text("hello")
    with pytest.raises(DseError, match="expected one of pairs, "):
        formats.read_measurements(other)


def test_every_format_has_a_reader_and_a_way_to_be_known() -> None:
    for name, row in FORMATS.items():
        assert row.matches is not None or row.key, name
        assert row.suffixes, name
        module, _, function = str(row.reader).partition(":")
        assert callable(getattr(__import__(module, fromlist=[function]), function)), name
