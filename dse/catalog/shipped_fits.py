"""Numbers of machines that were fitted to measured times, and ship with the project.

A fit is a file ``dse/data/fits/MODEL-MACHINE.fit.json`` in the format of ``dse fit --save``. Its
values become values of the machine, like the values in the machine's file.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dse.catalog.entry_file import Value

_DATA = Path(__file__).parents[1] / "data"
_ENDING = ".fit.json"


@cache  # the shipped files do not change while a process runs
def fitted_values(machine: str) -> Mapping[str, Value]:
    """Return the values of the shipped fits of a machine; empty if it has none.

    >>> fitted_values("h100_sxm")["gemm_start_time"].fit
    'gemm-h100_sxm.fit.json'
    """
    return dict(_read(machine))


def _read(machine: str) -> Iterator[tuple[str, Value]]:
    for path in sorted((_DATA / "fits").glob(f"*-{machine}{_ENDING}")):
        tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = tree["rows"]
        source = (
            f"fitted: {tree['model']} to {', '.join(tree['to'])} of {rows['used']:,} rows of "
            f"{rows['data']}, in {path.name}"
        )
        named = {**tree["set"], **dict(zip(tree["names"], tree["values"], strict=True))}
        for name, value in named.items():
            if not isinstance(value, str):
                yield name, Value(value=value, source=source, fit=path.name)
