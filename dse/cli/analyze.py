"""The command `dse analyze`: predict a kernel's time, its limits, and what would help."""

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import (
    complete_machine,
    launch_options,
    names_option,
    nonempty_options,
    option,
    parse_axis_text,
    parse_number,
    split_list,
    values_option,
)
from dse.progress import show_progress

#: Seconds until progress is shown; a blank screen for several seconds looks like a fault.
_SHOWN_AFTER = 0.05

_MACHINE = "Machines, or paths of their files, with commas between"
_BLOCK = (
    "Block in threads, as numbers or formulas; repeatable: each is a variant; default: the best"
)
_GRID = "Grid in blocks, as numbers or formulas in arguments, macros and block_x, block_y, block_z"
_SET = "Argument of the kernel, or quantity such as core_clock=1.3GHz; repeatable"
_AXIS = "Argument or quantity with several values, each a variant: Q=V,V,... or Q=A:B[:STEP]"


@command(
    "dse analyze examples/kernels/triad.toml --machine h100_pcie",
    "dse analyze examples/kernels/gemm.cu --machine h100_sxm,a100_80",
    "dse analyze examples/kernels/stencil2d.cu --machine a100_80 --block 32,8 --block 16,16",
    "dse analyze examples/kernels/gemm.cu --machine l40 --define TILE_K=8,16,32 --json",
)
@click.argument("source", metavar="KERNEL.cu|WORKLOAD.toml")
@names_option(
    "--machine NAME,...", _MACHINE, "machine", required=True, shell_complete=complete_machine
)
@launch_options(_BLOCK, _GRID)
@values_option("--set NAME=VALUE", _SET, "set_values", commas=True)
@values_option("--axis Q=V,...", _AXIS, "axes")
@option("--interval", "Level of the intervals", default=0.9)
def analyze(source: str, machine: list[str], define: dict[str, str], **options: Any) -> Any:
    """Predict the time of a kernel, what limits it, and what would help.

    SOURCE is CUDA source (.cu), a cubin, PTX, or a workload by name or path. Source is compiled and
    counted without a GPU. The answer has the time with an interval that holds the measured error of
    the model, the share of each limit, the best block size, moves that would help, and what was
    assumed. --json prints a list with a record for each machine and variant, the fastest first.
    """
    macros = {k: split_list([v]) if "," in v else v for k, v in define.items()}
    axes = {name: parse_axis_text(text) for name, text in options.pop("axes").items()}
    values = {name: parse_number(text) for name, text in options.pop("set_values").items()}
    options |= {"block": list(options["block"]), "set": values, "axes": axes, "define": macros}
    with input_errors(), show_progress(True, "analyzing", after=_SHOWN_AFTER):
        return dse.analyze(source, machine, **nonempty_options(options))
