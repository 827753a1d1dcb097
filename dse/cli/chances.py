"""The commands on random inputs: ``dse chances``, ``dse information`` and ``dse law``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import (
    asked,
    command,
    handed_back,
    question,
    read_source,
    read_study,
    reading,
)
from dse.cli.options import (
    drawn,
    from_study,
    from_study_or_store,
    goals,
    kinds,
    listed,
    values,
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
@from_study_or_store
@goals(several=False)
@kinds
def chances(source: str, **options: Any) -> Any:
    """How likely each configuration is the best, where inputs are random.

    Tells the likeliest first: the chance, and the regret, by how much it is expected to miss the
    best; each with the half width of its 95 % interval. Both are judged on fresh draws. The source
    is a study with laws under [random], values along the dimension draw, or measurements along run
    (dse import --runs), of which the best on average is meant. Where no objective is given, the
    study's [best] is asked.
    """
    read, given = read_question(source, options)
    found = handed_back(lambda: dse.chances(read, **given, progress=True))
    return _chances_answer(found, given.get("top"))


def read_question(source: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is asked, and the question of the options or of the study's ``[best]``."""
    from dse.study.data import StudyData
    from dse.verbs.sources import with_file_read

    with reading():
        read = with_file_read(source) if source.endswith(".toml") else read_source(source)
    filed = read.best if isinstance(read, StudyData) else None
    best = question(asked(options), filed)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    given = best.as_asked()
    if options.get("top") is None:
        given.pop("top", None)
    return read, given


def _chances_answer(found: xr.Dataset, top: int | None) -> Answer:
    from dse.answers import answer, rows_answer

    lists = found.drop_vars([name for name in found.data_vars if "rank" not in found[name].dims])
    told = answer(lists)
    data = dict(told.data)
    for name in ("left", "left_error", "none"):
        data[name] = found[name].values.tolist()
    verdict = ("verdict", "told_apart", "run_again", "drifting", "lag1", "drift")
    data |= {name: found.attrs[name] for name in verdict if name in found.attrs}
    data["configurations"] = int(found.attrs["configurations"])
    shown = [row for row in data["rows"] if row["rank"] <= (top or _ROWS)]
    rest = found.chance.isel(rank=slice(top or _ROWS, None)).sum("rank") + found.left
    error = f" ± {found.left_error.item():.2g}" if not rest.ndim and found.left.item() else ""
    notes = ["left to others: " + ", ".join(f"{x:.3g}" for x in rest.values.reshape(-1)) + error]
    if "verdict" in data:
        notes += [
            data["verdict"],
            f"measure rank {data['run_again']} again first",
            f"of all configurations: {data['drifting']:.0%} drift over their runs; correlation of "
            f"neighbouring runs {data['lag1']:.2f} (median)",
        ]
    if found.none.values.any():
        notes.append(f"nothing is feasible: {float(found.none.max()):.3g}")
    title = f"{data['configurations']:,} configurations can be the best: {told.title}"
    return replace(rows_answer(told, shown), title=title, notes=notes, data=data)


@command(
    "dse information uncertain.toml --minimize time",
    "dse information uncertain.toml --minimize time --set-of mem_latency,mem_bandwidth",
)
@from_study
@goals(several=False)
@click.option(
    "--set-of", "sets", multiple=True, metavar="Q,...", help="Inputs known together; repeatable."
)
def information(study: str, sets: Sequence[str], **options: Any) -> Any:
    """What it would be worth to know random inputs, and which to measure next.

    Of all inputs (EVPI), of each (EVPPI) and of sets, in the unit of the objective: by how much the
    mean of what is chosen would be better. Where no objective is given, the study's [best] is
    asked.
    """
    read, given = read_question(study, options)
    asked_of = ("minimize", "maximize", "where")
    wanted: dict[str, Any] = {name: given[name] for name in asked_of}
    wanted["sets"] = [listed([text]) for text in sets]
    found = handed_back(lambda: dse.information(read, **wanted, progress=True))
    return _information_answer(found)


def _information_answer(found: xr.Dataset) -> Answer:
    now = {str(name): found[name].item() for name in found.coords if not found[name].dims}
    unit, question = str(found.evpi.attrs["units"]), str(found.attrs["question"])

    def worth(value: float, error: float) -> list[Any]:
        return [(value, unit), _error(error, unit)]

    everything = found.evpi.item(), found.evpi_error.item()
    rows, cells = [], [["everything", *worth(*everything), "", *[""] * len(now)]]
    for place, name in enumerate(found["set"].values.tolist()):
        one = found.isel(set=place)
        of = {n: one[n].item() for n in ("evppi", "evppi_error", "changes")}
        then = {f"then_{axis}": one[f"then_{axis}"].item() for axis in now}
        rows.append({"set": name, **of, **then})
        shown = worth(of["evppi"], of["evppi_error"])
        cells.append([name, *shown, f"{of['changes']:.1%}", *then.values()])
    chosen = ", ".join(
        f"{name} = {value_text(value, str(found[name].attrs.get('units', '')))}"
        for name, value in now.items()
    )
    following = str(found.attrs["next"])
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


def _error(error: float, unit: str) -> str:
    return f"± {value_text(error, unit)}" if error else "exact"


@command(
    "dse law uncertain.toml time --at threads_per_block=256,active_sms=30",
    "dse law uncertain.toml power --plot power.png",
)
@from_study
@click.argument("quantity")
@values("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@drawn("--plot", help="Draw the law here.")
def law(study: str, quantity: str, at: dict[str, str], plot: Path | None) -> Any:
    """The law of an output at one configuration, where inputs are random.

    Mean, standard deviation and quantiles, with the half widths of 95 % intervals where they are
    not exact. It is exact where all laws are enumerated, and where one input alone is random in the
    output, along which it is proven to go one way.
    """
    found = dse.law(read_study(study), quantity, at)
    if plot is not None:
        from dse.plots.laws import output_law

        write_figure(output_law(found).figure, plot)
    unit, undefined = found.unit, found.undefined
    atoms = None
    if found.way == "enumerated":
        atoms = [found.values.tolist(), found.weights.tolist()]
    moments = {name: [getattr(found, name), found.error(name)] for name in ("mean", "std")}
    levels = [[q, found.quantile(q), found.error("quantile", q)] for q in _QUANTILES]
    data: dict[str, Any] = {"quantity": quantity, "unit": unit, "at": dict(found.at)}
    data |= {
        "way": found.way,
        "undefined": undefined,
        "atoms": atoms,
        **moments,
        "quantiles": levels,
    }
    pairs = [*moments.items(), *((f"quantile {q:g}", each) for q, *each in levels)]
    rows = [[name, (value, unit), _error(error, unit)] for name, (value, error) in pairs]
    place = ", ".join(f"{name} = {value}" for name, value in found.at.items())
    return Answer(
        kind="Law",
        title=f"{quantity}{f' at {place}' if place else ''} ({_WAYS[found.way]})",
        tables=[Table(columns=(quantity, "", ""), rows=rows)],
        notes=[f"nothing is feasible: {undefined:.3g}"] if undefined else [],
        data=data,
    )


_WAYS = {
    "enumerated": "every value with its chance",
    "monotone": "one input is random in it, along which it goes one way",
    "draws": "of draws",
}
