"""The command `dse kernel`: a workload of what stands in a kernel's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dse.cli.ends import reading
from dse.cli.frame import example, in_json, listed, pairs, put

__all__ = ["kernel"]


@click.command(
    epilog=example(
        "dse kernel examples/vector-add.cu --arch sm_86 --block 256 --grid 4096 --set n=1048576",
        "dse kernel examples/strided-sum.ptx --times WALK=100 --out strided-sum.toml",
        "dse kernel CoulombSum3d.cu --define Z_ITERATIONS=4 --option -use_fast_math "
        "--block 16,4 --grid 16,64,64 --set numberOfAtoms=64,gridSize=256",
        "dse kernel add.cu --arch sm_75 --beside add.ncu-rep --set n=1048576",
    )
)
@click.argument(
    "path", metavar="KERNEL.cu|.cubin|.sass|.ptx", type=click.Path(exists=True, dir_okay=False)
)
@click.option("--arch", default="sm_80", metavar="sm_NN", help="Compiled for. [sm_80]")
@click.option("--entry", "--kernel", default="", metavar="NAME", help="The kernel, of several.")
@click.option(
    "--define", multiple=True, metavar="K=V,...", help="A macro, or all of several; repeatable."
)
@click.option("--option", multiple=True, metavar="-O", help="Of the compiler; repeatable.")
@click.option("--block", metavar="X,Y,Z", help="Threads of a block. [256]")
@click.option("--grid", metavar="X,Y,Z", help="Blocks of the grid. [one stands for all]")
@click.option("--set", "given", multiple=True, metavar="N=V,...", help="Arguments; repeatable.")
@click.option(
    "--times",
    "--trips",
    multiple=True,
    metavar="NAME=N,...",
    help="How often a loop runs, or a branch is taken, by the name that is asked for; repeatable.",
)
@click.option(
    "--out",
    metavar="OUT.toml|.csv|.nc",
    type=click.Path(dir_okay=False),
    help="A table where macros have several values. [the screen]",
)
@click.option(
    "--beside",
    metavar="PROFILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Compare with what was measured: a profile, or a tuner's results.",
)
@click.option("--row", type=click.IntRange(min=0), metavar="N", help="Of PROFILE. [all]")
@in_json
def kernel(
    path: str,
    arch: str,
    entry: str,
    define: Sequence[str],
    option: Sequence[str],
    block: str | None,
    grid: str | None,
    given: Sequence[str],
    times: Sequence[str],
    out: str | None,
    beside: str | None,
    row: int | None,
    as_json: bool,
) -> None:
    """Count the instructions of a kernel, as a workload file; no GPU is needed.

    Source is compiled and disassembled (the extra kernels), and each instruction counted
    as often as its loops and branches let it run. What depends on the data of the kernel is asked
    for by name. Machine code may be a cubin, or its listing (cuobjdump -res-usage -sass). Of a
    PTX file, which nvcc -ptx writes, loops are told by their labels.
    """
    from dse.kernels import kernel as counted

    with reading():
        numbers = {
            name: _numbers(texts, name) for name, texts in (("set", given), ("times", times))
        }
        macros: dict[str, Any] = dict(pairs(define, "define"))
        macros = {k: listed([v]) if "," in v else v for k, v in macros.items()}
        found = counted(
            path,
            numbers["times"],
            entry,
            arch=arch,
            define=macros,
            options=option,
            block=listed([block]) if block else (),
            grid=listed([grid]) if grid else (),
            set=numbers["set"],
            beside=beside,
            row=row,
        )
    if beside is not None:
        _beside(found, out, as_json)
        return
    if any(isinstance(each, list) for each in macros.values()):
        _table(found, out, as_json)
        return
    with reading():
        text = _text(path, found)
    if out is not None:
        Path(out).write_text(text, encoding="utf-8")
    data = {"kernel": path, "values": dict(found)}
    for name in ("formulas", "numbers", "assumed", "origin", "left_out"):
        data |= {name: getattr(found, name)} if hasattr(found, name) else {}
    put(as_json, data, lambda: text if out is None else f"{out}: {len(found)} quantities")


def _beside(found: Any, out: str | None, as_json: bool) -> None:
    """Counts beside measured ones, a line each; what was not counted, and why."""
    import dse
    from dse.cli.text import table
    from dse.kernels.beside import shares

    if out is not None:
        dse.export(found, out)
    rows, failed = list(shares(found)), [str(each) for each in found.status.values if each]
    data = {"counts": rows, "launches": found.status.size, "not_counted": failed}

    def told() -> str:
        cells = [
            [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows
        ]
        lines = [table(list(rows[0]), cells)] if rows else []
        if failed:
            lines.append(f"{len(failed)} not counted; the first: {failed[0]}")
        return "\n".join(lines)

    put(as_json, data, told)


def _table(found: Any, out: str | None, as_json: bool) -> None:
    """A tuning space: written as any Dataset, or its variants told."""
    import dse

    if out is None:
        raise click.UsageError("several variants make a table: give --out OUT.csv, .nc or .zarr")
    dse.export(found, out)
    failed = int((found.status != "").sum())
    data = {"variants": found.status.size, "not_counted": failed, "out": out}
    put(as_json, data, lambda: f"{out}: {found.status.size:,} variants, {failed:,} not counted")


def _text(path: str, found: Mapping[str, Any]) -> str:
    """The workload file."""
    if hasattr(found, "toml"):
        return str(found.toml())
    from dse.kernels.ptx import workload_text

    return workload_text(path, found)


def _numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    told = pairs(listed(texts), option)
    try:
        return {name: float(text) for name, text in told.items()}
    except ValueError:
        raise click.UsageError(f"--{option} {' '.join(texts)}: expected NAME=NUMBER") from None
