"""The commands `dse run` and `dse plan`, and those on a finished store: add, verify, export."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import (
    best_on_interrupt,
    command,
    input_errors,
    progress_from_option,
    query_options,
    read_study,
    set_exit_status,
    warn_odd_numbers,
)
from dse.cli.optimum import (
    compile_search_in_background,
    find_winners,
    study_query,
    watched_objective,
)
from dse.cli.options import (
    allow_named_files,
    axis_and_set_options,
    expand_option,
    goal_options,
    override_inputs,
    per_and_top_options,
    progress_option,
    study_argument,
)
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import StudyData
    from sweeps.grid.axes import Axis
    from sweeps.runtime.progress import Outcome


#: Options of a run that are handed on as they are.
_RUN = ("expand", "fresh", "extend", "compression", "workers")
_VALUES_SHOWN = 8


def _axis(axis: Axis, study: StudyData) -> tuple[dict[str, Any], str]:
    """Return an axis for JSON, and its values as text."""
    values, row = axis.coordinate, study.grid().model.quantities.get(axis.name)
    unit = row.unit if row is not None and not axis.columns else ""
    result = {"size": axis.size} | ({"unit": unit} if unit else {})
    if axis.labels or axis.size <= _VALUES_SHOWN:
        shown = values.tolist()
        return {**result, "values": shown}, ", ".join(value_text(value, unit) for value in shown)
    first, last = values[0], values[-1]
    text = f"{value_text(first, unit)} to {value_text(last, unit)}"
    return {**result, "first": first, "last": last}, text


def _report(
    study: StudyData, outcome: Outcome, seconds: float, store: str | None, best: xr.Dataset | None
) -> Answer:
    """Return the report of a run that took so many ``seconds`` in all."""
    from dse.display import column_order, dataset_answer, failure_lines, rows_answer
    from dse.inputs.validity import validity_warnings
    from dse.study.plan import bytes_text

    grid, ds = study.grid(), outcome.open_dataset() if store is None else None
    computed = outcome.tiles is None or outcome.tiles[0] > 0
    feasible = grid.points if outcome.feasible is None else outcome.feasible
    if ds is not None and "feasible" in ds:
        feasible = round(float(ds["feasible"].mean()) * grid.points)
    axes = {axis.name: _axis(axis, study) for axis in grid.axes.values()}
    conditions = [condition.text for condition in grid.conditions]
    rate = grid.points * outcome.share / outcome.seconds if outcome.seconds else None
    size = byte_size(store) if store is not None else None
    warnings = [*validity_warnings(study._parts), *study.notes]
    winners = dataset_answer(best, column_order(study)).data if best is not None else None
    data = {
        "model": study.model,
        "points": grid.points,
        "feasible_points": feasible,
        "axes": {name: each for name, (each, _) in axes.items()},
        "outputs": list(grid.outputs),
        "conditions": conditions,
        "computed": computed,
        "tiles_computed": outcome.tiles[0] if outcome.tiles else None,
        "tiles_stored_before": outcome.tiles[1] if outcome.tiles else None,
        "seconds": seconds if computed else None,
        "compiling_seconds": outcome.compiling if computed else None,
        "computing_seconds": outcome.seconds if computed else None,
        "points_per_second": rate,
        "store": store,
        "store_bytes": size,
        "memory_bytes": None if ds is None else ds.nbytes,
        "kept_aside": outcome.old_store,
        "values_barred": outcome.infeasible,
        "failed": [asdict(failure) for failure in outcome.failures],
        "notes": warnings,
        "best": winners,
    }
    facts, notes = {"outputs": ", ".join(grid.outputs)}, []
    if conditions:
        facts["feasible"] = f"{feasible:,}, where {' and '.join(conditions)}"
    if computed:
        fast = f"{rate / 1e6:,.3g}" if rate else "-"
        notes.append(
            f"computed in {outcome.seconds:.3g} s, {fast} million configurations a second; compiled "
            f"in {outcome.compiling:.3g} s; {seconds:.3g} s in all"
        )
        if outcome.tiles and outcome.tiles[1]:
            more, before = outcome.tiles
            notes.append(f"continued: {before:,} tiles were stored before, {more:,} were computed")
    else:
        notes.append("nothing to do: the store of this study is finished")
    if outcome.infeasible:
        many = f"{outcome.infeasible:,}"
        notes.append(f"not computed: {many} values, in tiles where no point keeps the rules")
    rows = [[name, each["size"], text] for name, (each, text) in axes.items()]
    tables = [Table(columns=("axis", "values", ""), rows=rows)]
    notes += failure_lines(outcome.failures)
    notes += [f"note: {text}" for text in warnings]
    if winners is not None:
        apart = [name for name in winners["over"] if name != "rank"]
        each = f" for each {' and '.join(apart)}" if apart else ""
        (table,) = rows_answer(winners).tables
        tables.append(replace(table, title=f"best, {winners['question']}{each}:"))
    else:
        notes.append("best: name an objective with --minimize or --maximize, or under [best]")
    if outcome.old_store is not None:
        notes.append(f"the earlier store is kept as {outcome.old_store}")
    if size is not None:
        notes.append(f"dataset: {store} ({bytes_text(size)})")
    elif ds is not None:
        held = bytes_text(ds.nbytes)
        notes.append(f"dataset: kept in memory only ({held}); --store OUT.zarr keeps it")
    title = f"{study.model}: {grid.points:,} configurations"
    return Answer(kind="Run", title=title, facts=facts, tables=tables, notes=notes, data=data)


@command(
    "dse run examples/merge-four-gpus.toml --store merge.zarr",
    'dse run study.toml --maximize "1 / time" --per machine --top 3',
    "dse run study.toml --set core_clock=1.3GHz --axis active_sms=1:30",
)
@study_argument
@axis_and_set_options
@click.option(
    "--store", metavar="OUT.zarr", help="Write the dataset here; the same command continues."
)
@expand_option
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
@progress_option
@goal_options(several=False)
@per_and_top_options
def run(
    study: str,
    axes: dict[str, Any],
    set_values: dict[str, str],
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
    from dse.runs.run import run_study

    read = filed = read_study(study)
    if axes or set_values:
        own = {name: getattr(read, name) for name in ("machine", "workload", "axes", "set")}
        folder = allow_named_files(read.folder, set_values, axes)
        with input_errors():
            read = replace(read, folder=folder, **override_inputs(own, set_values, axes))
        warn_odd_numbers(read, filed)
    best = study_query(read, query_options(options))
    began = time.monotonic()
    watch, unit = watched_objective(best, read) or (None, "")
    with progress_from_option(progress, (watch[0], unit) if watch else None) as listener:
        done = run_study(
            read,
            store=store,
            progress=listener,
            client=scheduler,
            watch=watch,
            **{name: options[name] for name in _RUN},
        )
    result = None
    if best is not None:
        values = done.open_dataset() if store is None else None
        with compile_search_in_background():
            result = best_on_interrupt(lambda: find_winners(best, read, values))
    seconds = time.monotonic() - began
    if done.failures:
        set_exit_status(1)
    return _report(read, done, seconds, store, result)
