"""The command `dse kernel`: count the instructions of a kernel, and write a workload file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import (
    file_option,
    launch_options,
    nonempty_options,
    number_parser,
    option,
    split_list,
    values_option,
)
from symbolic.answer import Answer, Table
from symbolic.errors import DseError

_BLOCK = "Size of a block in threads, default: 256; repeat it to count several blocks"
_GRID = (
    "Size of the grid in blocks, or formulas such as ceil(n/block_x); default: the grid that the "
    "kernel's bounds checks need, else one block, to represent all"
)
_FLOPS = "Operations that the problem needs, such as 2*M*N*K; other counts are refused"
_OUT = "File for the workload, or for a table of variants; default: print the workload"


@command(
    "dse kernel examples/vector-add.cu --arch sm_86 --block 256 --grid 4096 --set n=1048576",
    "dse kernel examples/strided-sum.ptx --set steps=100 --out strided-sum.toml",
    "dse kernel CoulombSum3d.cu --define Z_ITERATIONS=4 --option -use_fast_math "
    "--block 16,4 --grid 16,64,64 --set numberOfAtoms=64,gridSize=256",
    "dse kernel examples/kernels/stencil2d.cu --block 32,8 --block 64,4 "
    "--set width=4096,height=4096 --out blocks.csv",
    "dse kernel add.cu --arch sm_75 --beside add.ncu-rep --set n=1048576",
)
@click.argument(
    "path", metavar="KERNEL.cu|.cubin|.ptx", type=click.Path(exists=True, dir_okay=False)
)
@option("--arch sm_NN", "Architecture to compile for", default="sm_80")
@option(
    "--include FOLDER",
    "Folder in which the compiler looks for headers; repeatable",
    "include",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
)
@launch_options(_BLOCK, _GRID)
@option("--flops FORMULA", _FLOPS, default=None)
@values_option(
    "--set N=V,...",
    "Values of arguments of the kernel; repeatable",
    commas=True,
    parse=number_parser("--set"),
)
@file_option("--out OUT.toml|.csv|.nc", _OUT)
def kernel(
    path: str,
    out: str | None,
    include: Sequence[str],
    **options: Any,
) -> Any:
    """Count a kernel's instructions, without a GPU, and write a workload file.

    CUDA source is compiled and disassembled, which needs the extra kernels. The count of an
    instruction is the product of the trip counts of its loops and the fractions of its branches.
    If one of these depends on the data, give it by --times. A cubin may come from any compiler,
    such as Triton or numba. PTX (nvcc -ptx) is counted in the same way and needs no extra. A
    comment "// dse: --set n=4096 --grid n/256" in the source gives options that are left out.
    """
    from dse.analysis.launch import LaunchOptions, merge_launch, source_launch

    if len(options["block"]) == 1:
        (options["block"],) = options["block"]
    options["options"] = (*options["options"], *(f"-I{folder}" for folder in include))
    with input_errors():
        if options["profile"] is None:  # else it has the launches
            text = Path(path).read_text("utf-8", errors="ignore")
            own = {each.name: options[each.name] for each in fields(LaunchOptions)}
            options |= asdict(merge_launch(LaunchOptions(**own), source_launch(text, path)))
        macros = {k: split_list([v]) if "," in v else v for k, v in options["define"].items()}
        options |= {"define": macros}
        options = nonempty_options(options) | {"progress": True}
        blocks = options.get("block", ())
        several_blocks = any(isinstance(each, tuple) for each in blocks)
        several_macros = any(isinstance(each, list) for each in macros.values())
        if several_blocks and not several_macros and str(out).endswith(".toml"):
            from dse.cuda.instruction_counts import join_blocks

            for status in filter(None, dse.kernel(path, **options).status.values.flat):
                raise DseError(f"{path}: {status}")
            each = [{**options, "block": block} for block in blocks]
            result, several_blocks = join_blocks([dse.kernel(path, **one) for one in each]), False
        else:
            result = dse.kernel(path, **options)
    if options.get("profile") is not None:
        return _profile_comparison(result, out)
    if several_blocks or several_macros:
        return _variants_answer(result, out)
    text = str(result.toml())
    if out is not None:
        with input_errors():
            from dse.catalog.entry_file import write_entry_file

            write_entry_file(Path(out), text, "workload")
    data = {"kernel": path, "values": dict(result)}
    for name in ("formulas", "numbers", "assumed", "origin", "left_out", "holds_for", "labels"):
        data[name] = getattr(result, name)
    return Answer(title=text if out is None else f"{out}: {len(result)} quantities", data=data)


def _profile_comparison(ds: Any, out: str | None) -> Any:
    """Return a table of counted and measured numbers, and the reasons for missing counts."""
    from dse.cuda.tuning_space import agreement_rows

    if out is not None:
        dse.export(ds, out)
    rows, failed = list(agreement_rows(ds)), [str(each) for each in ds.status.values if each]
    data = {"counts": rows, "launches": ds.status.size, "not_counted": failed}
    title = f"{len(failed)} not counted; the first: {failed[0]}" if failed else ""
    table = Table(columns=list(rows[0]) if rows else (), rows=[[*row.values()] for row in rows])
    return Answer(kind="Counts", title=title, tables=[table], data=data)


def _variants_answer(ds: Any, out: str | None) -> Any:
    if out is None:
        raise click.UsageError("several variants make a table: give --out OUT.csv, .nc or .zarr")
    dse.export(ds, out)
    failed = int((ds.status != "").sum())
    data = {"variants": ds.status.size, "not_counted": failed, "out": out}
    title = f"{out}: {ds.status.size:,} variants, {failed:,} not counted"
    return Answer(title=title, data=data)
