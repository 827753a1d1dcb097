"""The commands ``dse run`` and ``dse plan``."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import (
    asked,
    command,
    end_with,
    handed_back,
    listening,
    read_study,
    reading,
    warned,
)
from dse.cli.optimum import checked, looked_for, looked_up, proving, watched
from dse.cli.options import (
    allowing,
    changed,
    described,
    expanding,
    from_study,
    goals,
    kinds,
    telling,
)
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData
    from sweeps.grid.space import Axis
    from sweeps.runtime.progress import Outcome

#: Options of a run that are handed on as they are.
_RUN = ("expand", "fresh", "extend", "compression", "workers")
_NAMED = 8


def size_of(place: str | Path) -> int:
    """The bytes of a file, a folder or a store."""
    from sweeps.store.backend import backend_of

    if isinstance(place, Path) and place.is_file():
        return place.stat().st_size
    return sum(backend_of(place).files().values())


def _run_data(
    study: StudyData,
    done: Outcome,
    *,
    seconds: float,
    store: str | None,
    best: xr.Dataset | None,
) -> dict[str, Any]:
    """The report of a run for JSON; ``seconds`` it took in all."""
    from dse.answers import answer, order_of
    from dse.validity import beyond_validity

    grid, ds = study.grid(), done.open() if store is None else None
    computed = done.tiles is None or done.tiles[0] > 0
    feasible = done.feasible
    if ds is not None and "feasible" in ds:
        feasible = round(float(ds["feasible"].mean()) * grid.points)
    return {
        "model": study.model,
        "points": grid.points,
        "feasible_points": grid.points if feasible is None else feasible,
        "axes": {axis.name: _axis_data(axis, study) for axis in grid.axes.values()},
        "outputs": list(grid.outputs),
        "conditions": [condition.text for condition in grid.conditions],
        "computed": computed,
        "tiles_computed": done.tiles[0] if done.tiles else None,
        "tiles_stored_before": done.tiles[1] if done.tiles else None,
        "seconds": seconds if computed else None,
        "compiling_seconds": done.compiling if computed else None,
        "computing_seconds": done.seconds if computed else None,
        "points_per_second": grid.points * done.share / done.seconds if done.seconds else None,
        "store": store,
        "store_bytes": size_of(store) if store is not None else None,
        "memory_bytes": None if ds is None else ds.nbytes,
        "kept_aside": done.kept,
        "values_barred": done.barred,
        "failed": [asdict(failure) for failure in done.failed],
        "notes": [*beyond_validity(study._parts), *study.notes],
        "best": answer(best, order_of(study)).data if best is not None else None,
    }


def _axis_data(axis: Axis, study: StudyData) -> dict[str, Any]:
    values = axis.coordinate
    row = study.grid().model.quantities.get(axis.name)
    found: dict[str, Any] = {"size": axis.size}
    if row is not None and row.unit and not axis.columns:
        found["unit"] = row.unit
    if axis.labels or axis.size <= _NAMED:
        return {**found, "values": values.tolist()}
    return {**found, "first": values[0], "last": values[-1]}


def _axis_text(said: dict[str, Any]) -> str:
    unit = said.get("unit", "")
    if "values" in said:
        return ", ".join(value_text(value, unit) for value in said["values"])
    return f"{value_text(said['first'], unit)} to {value_text(said['last'], unit)}"


def _run_answer(data: dict[str, Any]) -> Answer:
    """The report of a run."""
    from dse.answers import rows_answer
    from dse.planning import bytes_text
    from dse.wording import failures_text
    from sweeps.grid.failing import Failure

    facts, notes = {"outputs": ", ".join(data["outputs"])}, list[str]()
    if data["conditions"]:
        facts["feasible"] = f"{data['feasible_points']:,}, where {' and '.join(data['conditions'])}"
    if data["computed"]:
        rate = f"{data['points_per_second'] / 1e6:,.3g}" if data["points_per_second"] else "-"
        notes.append(
            f"computed in {data['computing_seconds']:.3g} s, {rate} million configurations a "
            f"second; compiled in {data['compiling_seconds']:.3g} s; {data['seconds']:.3g} s in all"
        )
        if data["tiles_stored_before"]:
            before, more = data["tiles_stored_before"], data["tiles_computed"]
            notes.append(f"continued: {before:,} tiles were stored before, {more:,} were computed")
    else:
        notes.append("nothing to do: the store of this study is finished")
    if data["values_barred"]:
        many = f"{data['values_barred']:,}"
        notes.append(f"not computed: {many} values, in tiles where no point keeps the rules")
    rows = [[name, axis["size"], _axis_text(axis)] for name, axis in data["axes"].items()]
    tables = [Table(columns=("axis", "values", ""), rows=rows)]
    notes += failures_text([Failure(**failure) for failure in data["failed"]])
    notes += [f"note: {text}" for text in data["notes"]]
    if (best := data["best"]) is not None:
        apart = [name for name in best["over"] if name != "rank"]
        each = f" for each {' and '.join(apart)}" if apart else ""
        (table,) = rows_answer(best).tables
        tables.append(replace(table, title=f"best, {best['question']}{each}:"))
    else:
        notes.append("best: name an objective with --minimize or --maximize, or under [best]")
    if data["kept_aside"] is not None:
        notes.append(f"the earlier store is kept as {data['kept_aside']}")
    if data["store"] is not None:
        notes.append(f"dataset: {data['store']} ({bytes_text(data['store_bytes'])})")
    else:
        size = bytes_text(data["memory_bytes"])
        notes.append(f"dataset: kept in memory only ({size}); --store OUT.zarr keeps it")
    title = f"{data['model']}: {data['points']:,} configurations"
    return Answer(kind="Run", title=title, facts=facts, tables=tables, notes=notes, data=data)


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
    if done.failed:
        end_with(1)
    return _run_answer(_run_data(read, done, seconds=seconds, store=store, best=found))


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
            return Answer(title="\n  ".join([*lines, *map(str, found)]), data=data)
    return make_plan(read_study(study), expand=expand)
