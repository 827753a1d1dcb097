"""The command `dse measure`: rows of the GPU at hand, with what they were measured on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dse.cli.ends import Misused, reading
from dse.cli.frame import example, in_json

__all__ = ["measure"]

#: The units of measured columns that have one.
_UNITS = {
    "attained_bandwidth": "B/s",
    "attained_flops": "1/s",
    "ring_bytes": "B",
    "block_start": "s",
    "block_end": "s",
}


@click.command(
    epilog=example(
        "dse measure supply supply.csv",
        "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
        "dse measure blocks blocks.csv --blocks 1000 --threads 256",
    )
)
@click.argument("what", type=click.Choice(["supply", "demand", "latency", "blocks"]))
@click.argument("out", metavar="OUT.csv", type=click.Path(dir_okay=False))
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    multiple=True,
    help="On a multiprocessor, one row each; of blocks: of each block. [32 to 1024, or 256]",
)
@click.option("--steps", type=click.IntRange(min=1), default=4096, help="Loads or rounds. [4096]")
@click.option("--size", type=click.IntRange(min=1), default=2**26, help="Of supply's ring. [2**26]")
@click.option("--ring", type=click.IntRange(min=256), multiple=True, help="Of latency, in bytes.")
@click.option("--blocks", type=click.IntRange(min=1), default=1000, help="Of the launch. [1000]")
@in_json
def measure(what: str, out: str, **options: Any) -> Any:
    """Measure the NVIDIA GPU at hand (extra gpu), and keep the rows.

    supply: bandwidth against threads that only wait; demand: operations against threads that only
    compute; latency: cycles of a load against the bytes gone through; blocks: multiprocessor, start
    and end of each block of a launch whose blocks work for random whiles.

    OUT.csv has the rows, OUT.json what they were measured on, how and when. NUMBA_ENABLE_CUDASIM=1
    makes a trial without a GPU, whose numbers mean nothing.
    """
    import csv
    import json

    path = Path(out)
    if path.suffix != ".csv" or not path.parent.is_dir():
        raise Misused(f"{out}: expected a name that ends in .csv, in a folder that exists")
    if path.exists():
        raise Misused(f"{out} is there already: choose another name, or remove it")
    if what == "blocks" and len(options["threads"]) > 1:
        raise Misused("--threads is given more than once: blocks of a launch have one size")
    with reading():
        facts, run, given = _measuring(what, **options)
        found = run()
    names = [f"{name} [{_UNITS[name]}]" if name in _UNITS else name for name in found]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(zip(*(values.tolist() for values in found.values()), strict=True))
    told = {"measured": what, **given, **facts}
    path.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    rows = len(next(iter(found.values())))
    data = {"rows": rows, "columns": names, "written": [path, path.with_suffix(".json")], **told}
    return data, f"{path}: {rows} rows of {', '.join(names)}, on {facts['device']}"


def _measuring(
    what: str,
    threads: tuple[int, ...],
    steps: int,
    size: int,
    ring: tuple[int, ...],
    blocks: int,
) -> tuple[dict[str, Any], Callable[[], dict[str, Any]], dict[str, Any]]:
    """The GPU at hand, what to run on it, and with what."""
    import numpy as np

    from dse import gpu
    from stochastic.validation import describe

    facts = describe()
    several = list(threads) or [32 * k for k in (1, 2, 4, 8, 16, 32)]
    if what == "supply":
        given: dict[str, Any] = {"threads": several, "requests": steps, "size": size}
        return facts, lambda: gpu.supply(**given), given
    if what == "demand":
        given = {"threads": several, "rounds": steps}
        return facts, lambda: gpu.demand(**given), given
    if what == "latency":
        given = {"sizes": list(ring) or [2**k for k in range(12, 30)], "requests": steps, "seed": 0}
        return facts, lambda: gpu.latency(**given), given
    each = threads[0] if threads else 256
    rounds = np.random.default_rng(0).integers(1, 2 * steps, blocks)
    given = {"threads": each, "rounds": f"uniform from 1 to {2 * steps - 1}, seed 0"}
    return facts, lambda: gpu.blocks(rounds.tolist(), threads=each), given
