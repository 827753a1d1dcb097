"""The command ``dse``. Heavy libraries are imported by the commands that need them."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from dse.cli.best import optimum, pareto
from dse.cli.borders import borders
from dse.cli.checking import verify
from dse.cli.compare import disagreement
from dse.cli.described import allowing, changed, described
from dse.cli.doctor import doctor
from dse.cli.effects import sensitivity
from dse.cli.ends import Commands, end_with, handed_back, reading
from dse.cli.exploring import explore
from dse.cli.filed import checked, looked_for, looked_up, watched
from dse.cli.fits import calibrate, fit
from dse.cli.frame import asked, command, listening, read_study, warned
from dse.cli.growing import add
from dse.cli.information import information
from dse.cli.kernels import kernel
from dse.cli.launching import launch
from dse.cli.law import imbalance
from dse.cli.listing import machines, models, quantities, workloads
from dse.cli.measure import measure
from dse.cli.measured import import_measured
from dse.cli.options import expanding, from_store, from_study, goals, kinds, telling
from dse.cli.outcomes import law
from dse.cli.plot import plot
from dse.cli.point import advise, evaluate, explain
from dse.cli.proof import proving
from dse.cli.ranges import ranges
from dse.cli.spread import count, histogram, quantiles
from dse.cli.starting import new
from dse.cli.targets import meets
from dse.cli.uncertain import chances
from dse.cli.validating import validate

__all__ = ["main"]

#: Options of a run that are handed on as they are.
_RUN = ("expand", "fresh", "extend", "compression", "workers")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit status:
  0    done (also: nothing to do, the store of this study is finished)
  1    failed: no point is feasible, a file cannot be written, a URL does not answer, memory
       does not suffice, a store is damaged
  2    misused: a wrong option, study, name, unit or input file; a store of another study
  130  interrupted (143: terminated); no unfinished file stands under the name of a result, and of a
       search the best so far is told

\b
Example:
  dse run examples/merge-four-gpus.toml --store merge.zarr""",
)
@click.version_option(message="%(prog)s %(version)s", package_name="simt-dse", prog_name="dse")
def main() -> None:
    """Explore the design space of GPUs with published analytic models.

    Results go to standard output, progress and errors to standard error.
    """


@command(
    "dse run examples/merge-four-gpus.toml --store merge.zarr",
    'dse run study.toml --maximize "1 / time" --per machine --top 3',
    "dse run study.toml --set core_clock=1.3GHz --axis active_sms=1:30",
)
@from_study
@described
@click.option(
    "--store", metavar="OUT.zarr", help="Write the dataset here; the same command continues."
)
@expanding
@click.option(
    "--compression", metavar="KIND", help="lz4 or none, of a new store; of another it stays. [lz4]"
)
@click.option("--fresh", is_flag=True, help="Keep what is at OUT.zarr aside and compute anew.")
@click.option(
    "--extend", is_flag=True, help="Compute only what a smaller study at OUT.zarr does not hold."
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes to compute in, instead of threads."
)
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="A dask.distributed cluster, whose workers compute and write.",
)
@telling
@goals(several=False)
@kinds
def run(
    study: str,
    axes: dict[str, Any],
    given: dict[str, str],
    store: str | None,
    progress: str,
    scheduler: str | None,
    **options: Any,
) -> Any:
    """Sweep a study and find its best configuration.

    Tells what was swept, how fast, the best configuration, and where the dataset lies. The best
    configuration is the one the study file asks for under [best], or these options. --where
    constrains only the best configuration; a constraint of the study belongs in its file.

    What cannot be computed is told, with its configurations and the reason, and the rest goes on;
    the exit status is 1 then, and the same command tries it again.

    A store may be a folder or a URL (s3://, memory://). A run that was interrupted, killed or out
    of space is continued by the same command. Values added to the axes of a finished study, and
    outputs, are computed alone with --extend.

    --set and --axis stand instead of what the file says of their quantities, or of machine and
    workload; a store is that of the study so changed.
    """
    from dse.cli.report import run_data, run_text
    from dse.runner import run_study

    read = filed = read_study(study)
    if axes or given:
        own = {name: getattr(read, name) for name in ("machine", "workload", "axes", "set")}
        folder = allowing(read.folder, given, axes)
        with reading():
            read = replace(read, folder=folder, **changed(own, given, axes))
        warned(read, filed)
    best = checked(read, asked(options))
    began = time.monotonic()
    with listening(progress, looked_for(best, read) if best is not None else None) as listener:
        done = run_study(
            read,
            store=store,
            progress=listener,
            client=scheduler,
            watch=watched(best, read) if best is not None else None,
            **{name: options[name] for name in _RUN},
        )
    found = None
    if best is not None:
        values = done.open() if store is None else None
        with proving():
            found = handed_back(lambda: looked_up(best, read, values))
    seconds = time.monotonic() - began
    data = run_data(read, done, seconds=seconds, store=store, best=found)
    if done.failed:
        end_with(1)
    return data, lambda: run_text(data)


@command("dse plan examples/merge-four-gpus.toml", "dse plan received.toml --no-code")
@from_study
@expanding
@click.option("--no-code", is_flag=True, help="Run no Python that the study names; tell of it.")
def plan(study: str, expand: bool, no_code: bool) -> Any:
    """What a run would do, before any work.

    Points, tiles, memory, what each output depends on, defaults and assumptions.

    A study whose model is a Python file (.py) runs that file, as any program. Of a study that is
    not your own ask first with --no-code: where it would run Python, that is told and nothing run.
    """
    from dse.planning import make_plan

    if no_code:
        from dse.study_file import code_of

        with reading():
            found = code_of(study)
        if found:
            data = {"study": study, "would_run": [asdict(code) for code in found]}
            lines = [f"{study} would run this; nothing was run, so there is no plan:"]
            return data, "\n  ".join([*lines, *map(str, found)])
    planned = make_plan(read_study(study), expand=expand)
    return planned.to_dict(), planned


@command("dse export merge.zarr merge.nc", "dse export merge.zarr merge.csv")
@from_store
@click.argument("out", metavar="OUT.nc|.csv|.parquet|.zarr", type=click.Path())
def export(store: str, out: str) -> Any:
    """Write a stored dataset in another format.

    The ending of the name chooses it. Values, units, flags and attributes are kept.
    """
    from dse.cli.report import size_of
    from dse.files import export as write
    from dse.planning import bytes_text
    from dse.progress import shown
    from sweeps.files.export import open_dataset

    with reading():
        ds = open_dataset(store)
    path = Path(out)
    with shown(True, f"writing {path}"):
        write(ds, path)
    size = size_of(path)
    return {"source": store, "written": path, "bytes": size}, f"{path} ({bytes_text(size)})"


for each in (
    *(add, advise, borders, calibrate, chances, count, disagreement, doctor, evaluate, explain),
    *(explore, fit, histogram, imbalance, import_measured, information, kernel, launch, law),
    *(machines, measure, meets, models, new, optimum, pareto, plan, plot, quantiles, quantities),
    *(export, ranges, run, sensitivity, validate, verify, workloads),
):
    main.add_command(each)
