"""Files of profilers: readers take text to columns, which maps of ``dse/data/profiles`` name."""

from __future__ import annotations

import re
from pathlib import Path

from dse.delimited import bytes_of, text_of
from dse.measured.content import refuse_others
from dse.measured.records import Records
from symbolic.errors import DseError

__all__ = ["is_profile", "read_profile"]

_REPORTS = (".ncu-rep", ".ncu-repz")
_PRINTED = {
    r"^==PROF== ": "Nsight Compute (--csv)",
    r"^==\d+== NVPROF is ": "nvprof (--csv)",
}


def is_profile(path: Path) -> bool:
    """Whether a file is a profiler's by its name; CSV is known by its header only."""
    return path.name.lower().endswith((*_REPORTS, ".cali", ".cali.gz"))


def read_profile(path: Path) -> Records | None:
    """The records of a profiler's file; None where it is another table.

    Raises
    ------
    DseError
        It is of another tool or kind, which is named, or is not whole.
    """
    if path.suffix.lower() in _REPORTS or bytes_of(path)[:4] == b"NVR\0":
        from dse.measured.profiles.report import from_report

        return from_report(path)
    refuse_others(path)
    if bytes_of(path)[:4] == b"PAR1":
        return None
    text = text_of(path)
    if text.startswith("__rec="):
        from dse.measured.profiles.caliper import from_caliper

        return from_caliper(text, str(path))
    from dse.measured.profiles.launches import from_launches

    found = from_launches(text, str(path))
    if found is not None:
        return found
    for pattern, tool in _PRINTED.items():
        if re.search(pattern, text, re.MULTILINE):
            raise DseError(
                f"{str(path)!r} is what {tool.split(' (')[0]} prints, without a table of CSV: "
                f"run it with {tool.partition('(')[2][:-1]}"
            )
    if not path.name.lower().endswith((".csv", ".csv.gz", ".parquet")):
        raise DseError(
            f"{str(path)!r} is no file of measurements that is known: expected JSON of a tuner, a "
            "report or CSV of a profiler, Caliper's text, or a table in CSV or Parquet"
        )
    return None
