"""The commands on random inputs: ``dse chances``, ``dse information`` and ``dse law``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import (
    best_on_interrupt,
    command,
    input_errors,
    query_from_options,
    query_options,
    read_source,
    read_study,
)
from dse.cli.options import (
    figure_option,
    goal_options,
    per_and_top_options,
    source_argument,
    split_list,
    study_argument,
    values_option,
)
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    import xarray as xr

#: Configurations that are told people; JSON has them all.
_ROWS = 10
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@command(
    "dse chances uncertain.toml --minimize time",
    'dse chances uncertain.toml --maximize throughput --where "power <= 150 W" --per workload',
)
@source_argument
@goal_options(several=False)
@per_and_top_options
def chances(source: str, **options: Any) -> Any:
    """How likely each configuration is the best, where inputs are random.

    Tells the likeliest first: the chance, and the regret, by how much it is expected to miss the
    best; each with the half width of its 95 % interval. Both are judged on fresh draws. The source
    is a study with laws under [random], values along the dimension draw, or measurements along run
    (dse import --runs), of which the best on average is meant. Where no objective is given, the
    study's [best] is asked.
    """
    read, given = read_query(source, options)
    result = best_on_interrupt(lambda: dse.chances(read, **given, progress=True))
    return _chances_answer(result, given.get("top"))


def read_query(source: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is asked, and the question of the options or of the study's ``[best]``."""
    from dse.study.study import StudyData
    from dse.verbs.sources import load_if_study_file

    with input_errors():
        read = load_if_study_file(source) if source.endswith(".toml") else read_source(source)
    filed = read.best if isinstance(read, StudyData) else None
    best = query_from_options(query_options(options), filed)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    given = best.as_keywords()
    if options.get("top") is None:
        given.pop("top", None)
    return read, given


def _chances_answer(ds: xr.Dataset, top: int | None) -> Answer:
    from dse.display import dataset_answer, rows_answer

    lists = ds.drop_vars([name for name in ds.data_vars if "rank" not in ds[name].dims])
    told = dataset_answer(lists)
    data = dict(told.data)
    for name in ("left", "left_error", "none"):
        data[name] = ds[name].values.tolist()
    verdict = ("verdict", "told_apart", "run_again", "drifting", "lag1", "drift")
    data |= {name: ds.attrs[name] for name in verdict if name in ds.attrs}
    data["configurations"] = int(ds.attrs["configurations"])
    shown = [row for row in data["rows"] if row["rank"] <= (top or _ROWS)]
    rest = ds.chance.isel(rank=slice(top or _ROWS, None)).sum("rank") + ds.left
    error = f" ± {ds.left_error.item():.2g}" if not rest.ndim and ds.left.item() else ""
    notes = ["left to others: " + ", ".join(f"{x:.3g}" for x in rest.values.reshape(-1)) + error]
    if "verdict" in data:
        notes += [
            data["verdict"],
            f"measure rank {data['run_again']} again first",
            f"of all configurations: {data['drifting']:.0%} drift over their runs; correlation of "
            f"neighbouring runs {data['lag1']:.2f} (median)",
        ]
    if ds.none.values.any():
        notes.append(f"nothing is feasible: {float(ds.none.max()):.3g}")
    title = f"{data['configurations']:,} configurations can be the best: {told.title}"
    return replace(rows_answer(told, shown), title=title, notes=notes, data=data)


@command(
    "dse information uncertain.toml --minimize time",
    "dse information uncertain.toml --minimize time --set-of mem_latency,mem_bandwidth",
)
@study_argument
@goal_options(several=False)
@click.option(
    "--set-of", "sets", multiple=True, metavar="Q,...", help="Inputs known together; repeatable."
)
def information(study: str, sets: Sequence[str], **options: Any) -> Any:
    """What it would be worth to know random inputs, and which to measure next.

    Of all inputs (EVPI), of each (EVPPI) and of sets, in the unit of the objective: by how much the
    mean of what is chosen would be better. Where no objective is given, the study's [best] is
    asked.
    """
    read, given = read_query(study, options)
    asked_of = ("minimize", "maximize", "where")
    wanted: dict[str, Any] = {name: given[name] for name in asked_of}
    wanted["sets"] = [split_list([text]) for text in sets]
    result = best_on_interrupt(lambda: dse.information(read, **wanted, progress=True))
    return _information_answer(result)


def _information_answer(ds: xr.Dataset) -> Answer:
    now = {str(name): ds[name].item() for name in ds.coords if not ds[name].dims}
    unit, question = str(ds.evpi.attrs["units"]), str(ds.attrs["question"])

    def value_cells(value: float, error: float) -> list[Any]:
        return [(value, unit), half_width_text(error, unit)]

    everything = ds.evpi.item(), ds.evpi_error.item()
    rows, cells = [], [["everything", *value_cells(*everything), "", *[""] * len(now)]]
    for place, name in enumerate(ds["set"].values.tolist()):
        one = ds.isel(set=place)
        of = {n: one[n].item() for n in ("evppi", "evppi_error", "changes")}
        then = {f"then_{axis}": one[f"then_{axis}"].item() for axis in now}
        rows.append({"set": name, **of, **then})
        shown = value_cells(of["evppi"], of["evppi_error"])
        cells.append([name, *shown, f"{of['changes']:.1%}", *then.values()])
    chosen = ", ".join(
        f"{name} = {value_text(value, str(ds[name].attrs.get('units', '')))}"
        for name, value in now.items()
    )
    following = str(ds.attrs["next"])
    data = {"question": question, "unit": unit, "now": now, "evpi": everything[0]}
    data |= {"evpi_error": everything[1], "sets": rows, "next": following}
    heads = ["known", "is worth", "", "then another", *(f"mostly {axis}" for axis in now)]
    return Answer(
        kind="Information",
        title=f"{question}: best on average with {chosen or 'the only configuration'}",
        tables=[Table(columns=heads, rows=cells)],
        notes=[f"to measure next: {following}"],
        data=data,
    )


def half_width_text(error: float, unit: str) -> str:
    return f"± {value_text(error, unit)}" if error else "exact"


@command(
    "dse law uncertain.toml time --at threads_per_block=256,active_sms=30",
    "dse law uncertain.toml power --plot power.png",
)
@study_argument
@click.argument("quantity")
@values_option("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@figure_option("--plot", help="Draw the law here.")
def law(study: str, quantity: str, at: dict[str, str], plot: Path | None) -> Any:
    """The law of an output at one configuration, where inputs are random.

    Mean, standard deviation and quantiles, with the half widths of 95 % intervals where they are
    not exact. It is exact where all laws are enumerated, and where one input alone is random in the
    output, along which it is proven to go one way.
    """
    result = dse.law(read_study(study), quantity, at)
    if plot is not None:
        from dse.plots.laws import draw_output_law

        write_figure(draw_output_law(result).figure, plot)
    unit, undefined = result.unit, result.undefined
    atoms = None
    if result.way == "enumerated":
        atoms = [result.values.tolist(), result.weights.tolist()]
    moments = {name: [getattr(result, name), result.error(name)] for name in ("mean", "std")}
    levels = [[q, result.quantile(q), result.error("quantile", q)] for q in _QUANTILES]
    data: dict[str, Any] = {"quantity": quantity, "unit": unit, "at": dict(result.at)}
    data |= {
        "way": result.way,
        "undefined": undefined,
        "atoms": atoms,
        **moments,
        "quantiles": levels,
    }
    pairs = [*moments.items(), *((f"quantile {q:g}", each) for q, *each in levels)]
    rows = [[name, (value, unit), half_width_text(error, unit)] for name, (value, error) in pairs]
    place = ", ".join(f"{name} = {value}" for name, value in result.at.items())
    return Answer(
        kind="Law",
        title=f"{quantity}{f' at {place}' if place else ''} ({_WAYS[result.way]})",
        tables=[Table(columns=(quantity, "", ""), rows=rows)],
        notes=[f"nothing is feasible: {undefined:.3g}"] if undefined else [],
        data=data,
    )


_WAYS = {
    "enumerated": "every value with its chance",
    "monotone": "one input is random in it, along which it goes one way",
    "draws": "of draws",
}
