"""The command `dse run`: sweep a study and find its best configuration."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import (
    best_on_interrupt,
    change_study,
    command,
    progress_from_option,
    query_from_options,
    query_options,
    read_study,
    set_exit_status,
)
from dse.cli.optimum import (
    compile_search_in_background,
    find_winners,
    watched_objective,
)
from dse.cli.options import (
    axis_and_set_options,
    expand_option,
    goal_options,
    option,
    per_and_top_options,
    progress_option,
    study_argument,
)
from symbolic.answer import Answer, Table, count_text, value_text

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import BestQuery, StudyData
    from sweeps.grid.axes import Axis
    from sweeps.runtime.progress import Outcome

_RUN = ("expand", "fresh", "extend", "compression", "workers")
_VALUES_SHOWN = 8
#: Rates of at least this number of configurations per second are written in millions.
_MILLIONS = 1e6


def _axis(axis: Axis, study: StudyData) -> tuple[dict[str, Any], str]:
    """Return a description of an axis for JSON, and the values of the axis as text."""
    values, row = axis.coordinate, study.grid().model.quantities.get(axis.name)
    unit = row.unit if row is not None and not axis.columns else ""
    data = {"size": axis.size} | ({"unit": unit} if unit else {})
    if axis.labels or axis.size <= _VALUES_SHOWN:
        shown = values.tolist()
        return {**data, "values": shown}, ", ".join(value_text(value, unit) for value in shown)
    first, last = values[0], values[-1]
    text = f"{value_text(first, unit)} to {value_text(last, unit)}"
    return {**data, "first": first, "last": last}, text


def _rate_text(rate: float | None) -> str:
    """Return a rate in configurations per second as text.

    >>> _rate_text(2.59), _rate_text(3.2e7), _rate_text(None)
    ('2.6 configurations/s', '32 million configurations/s', '-')
    """
    if rate is None:
        return "-"
    if rate >= _MILLIONS:
        return f"{rate / _MILLIONS:,.3g} million configurations/s"
    return f"{rate:,.2g} configurations/s" if rate < 100 else f"{rate:,.0f} configurations/s"


def _report(
    study: StudyData,
    outcome: Outcome,
    seconds: float,
    compiling: float,
    store: str | None,
    best: xr.Dataset | None,
    query: BestQuery | None,
) -> Answer:
    from dse.cli.export import byte_size
    from dse.display import column_order, dataset_answer, failure_lines, select_rows
    from dse.inputs.validity import validity_warnings
    from dse.study.plan import bytes_text, idle_axes_notes

    grid, ds = study.grid(), outcome.open_dataset() if store is None else None
    computed = outcome.tiles is None or outcome.tiles[0] > 0
    feasible = grid.points if outcome.feasible is None else outcome.feasible
    if ds is not None and "feasible" in ds:
        feasible = round(float(ds["feasible"].mean()) * grid.points)
    axes = {axis.name: _axis(axis, study) for axis in grid.axes.values()}
    conditions = [condition.text for condition in grid.conditions]
    rate = grid.points * outcome.share / outcome.seconds if outcome.seconds else None
    size = byte_size(store) if store is not None else None
    warnings = [*validity_warnings(study._parts), *study.notes, *idle_axes_notes(grid)]
    winners = dataset_answer(best, column_order(study)) if best is not None else None
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
        "compiling_seconds": compiling if computed else None,
        "computing_seconds": outcome.seconds if computed else None,
        "points_per_second": rate,
        "store": store,
        "store_bytes": size,
        "memory_bytes": None if ds is None else ds.nbytes,
        "kept_aside": outcome.old_store,
        "values_barred": outcome.infeasible,
        "failed": [asdict(failure) for failure in outcome.failures],
        "notes": warnings,
        "best": winners and winners.data,
    }
    facts, notes = {"outputs": ", ".join(grid.outputs)}, []
    if conditions:
        facts["feasible"] = f"{feasible:,}, where {' and '.join(conditions)}"
    if computed:
        compiled = f"compiled in {compiling:.3g} s" if compiling else "nothing to compile"
        notes.append(
            f"computed in {outcome.seconds:.3g} s, {_rate_text(rate)}; {compiled}; "
            f"{seconds:.3g} s in all"
        )
        if outcome.tiles and outcome.tiles[1]:
            more, before = outcome.tiles
            notes.append(f"continued: {before:,} tiles were stored before, {more:,} were computed")
    else:
        notes.append("nothing to do: the store of this study is finished")
    if outcome.infeasible:
        many = f"{outcome.infeasible:,}"
        notes.append(f"not computed: {many} values, in tiles without a feasible configuration")
    rows = [[name, each["size"], text] for name, (each, text) in axes.items()]
    tables = [Table(columns=("axis", "values", ""), rows=rows)]
    notes += failure_lines(outcome.failures)
    notes += [f"note: {text}" for text in warnings]
    if winners is not None and query is not None:
        axes_of = [name for name in winners.data["over"] if name != "rank"]
        each = f" for each {' and '.join(axes_of)}" if axes_of else ""
        each += f", where {' and '.join(query.where)}" if query.where else ""
        single = [axis.name for axis in grid.axes.values() if axis.size == 1]
        variables = {n: v for n, v in winners.data["variables"].items() if n not in single}
        shown = replace(winners, data={**winners.data, "variables": variables})
        (table,) = select_rows(shown, winners.data["rows"]).tables
        keys = table.key_columns - len(winners.data["variables"]) + len(variables)
        title = f"best, {winners.title}{each}:"
        tables.append(replace(table, key_columns=keys, title=title))
    else:
        notes.append("best: name an objective with --minimize or --maximize, or under [best]")
    if outcome.old_store is not None:
        notes.append(f"the earlier store was moved to {outcome.old_store}")
    if size is not None:
        notes.append(f"dataset: {store} ({bytes_text(size)})")
    elif ds is not None:
        size_text = bytes_text(ds.nbytes)
        notes.append(f"dataset: in memory only ({size_text}); --store OUT.zarr writes it")
    title = f"{study.model}: {count_text(grid.points, 'configuration')}"
    return Answer(kind="Run", title=title, facts=facts, tables=tables, notes=notes, data=data)


@command(
    "dse run examples/merge-four-gpus.toml --store merge.zarr",
    'dse run study.toml --maximize "1 / time" --per machine --top 3',
    "dse run study.toml --set core_clock=1.3GHz --axis active_sms=1:30",
)
@study_argument
@axis_and_set_options
@option(
    "--store OUT.zarr",
    "Store (zarr) to save the dataset in; the same command continues an interrupted run",
)
@expand_option
@option(
    "--compression KIND",
    "Compression of a new store, lz4 or none; default: lz4. An existing store is not recompressed",
)
@option("--fresh", "Rename the store at OUT.zarr, and start a new one", is_flag=True)
@option("--extend", "Keep the smaller study in OUT.zarr; compute only new values", is_flag=True)
@option(
    "--workers",
    "Number of processes that compute; default: one process with several threads",
    type=click.IntRange(min=1),
)
@option(
    "--scheduler tcp://HOST:PORT",
    "Scheduler of a dask.distributed cluster whose workers compute and write the store",
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
    """Sweep a study, and find its best configuration.

    The report shows the axes, the speed, the best configuration, and the location of the dataset.
    The default objective is that of the study's [best]. --where applies only to the search for the
    best configuration; constraints of the study belong in its file.

    If a configuration cannot be computed, it is reported with the reason, and the run continues;
    the exit status is then 1, and the same command tries the configuration again.

    A store may be a folder or a URL (s3://, memory://). The same command continues a run that was
    interrupted, killed or out of space. If you add outputs or axis values to a finished study,
    --extend computes only the additions.

    --set and --axis replace values and axes of the file, including machine and workload; the store
    then belongs to the changed study.
    """
    from dse.runs.run import run_study
    from dse.verbs.sources import with_quantity_names
    from stochastic.compile_cache import compile_seconds

    began, compiled_before = time.monotonic(), compile_seconds()
    read: StudyData = read_study(study)
    options = with_quantity_names(read, {**options, "axes": axes, "set_values": set_values})
    read = change_study(read, options["axes"], options["set_values"])
    best = query_from_options(query_options(options), read.best)
    if best is not None:
        read.check_best(best)
    watch, unit = watched_objective(best, read) or (None, "")
    with progress_from_option(progress, (watch[0], unit) if watch else None) as listener:
        outcome = run_study(
            read,
            store=store,
            progress=listener,
            client=scheduler,
            watch=watch,
            **{name: options[name] for name in _RUN},
        )
    winners = None
    if best is not None:
        values = outcome.open_dataset() if store is None else None
        with compile_search_in_background():
            winners = best_on_interrupt(lambda: find_winners(best, read, values))
    seconds, compiling = time.monotonic() - began, compile_seconds() - compiled_before
    if outcome.failures:
        set_exit_status(1)
    return _report(read, outcome, seconds, compiling, store, winners, best)
