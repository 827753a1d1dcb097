"""The command `dse kernel`: a workload of what stands in a kernel's PTX."""

from __future__ import annotations

import click

from dse.cli.ends import reading
from dse.cli.frame import example, in_json, pairs, put

__all__ = ["kernel"]


@click.command(
    epilog=example("dse kernel examples/strided-sum.ptx --times WALK=100 > strided-sum.toml")
)
@click.argument("path", metavar="KERNEL.ptx", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--times", multiple=True, metavar="LABEL=N", help="How often a loop runs; repeatable."
)
@click.option("--entry", default="", metavar="NAME", help="The kernel, of several in the file.")
@in_json
def kernel(path: str, times: tuple[str, ...], entry: str, as_json: bool) -> None:
    """Count the instructions of one thread of a kernel, as a workload file.

    By unit, with those of long latency, the loads that overlap and how soon results are read.
    A PTX file is what nvcc -ptx writes.
    """
    from dse.ptx import kernel as counted
    from dse.ptx import workload_text

    with reading():
        try:
            given = {name: float(text) for name, text in pairs(times, "--times").items()}
        except ValueError:
            raise click.UsageError(f"--times {' '.join(times)}: expected LABEL=NUMBER") from None
        found = counted(path, given, entry)
    put(as_json, {"kernel": path, "values": found}, lambda: workload_text(path, found))
