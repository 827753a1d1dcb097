"""The commands on random inputs: ``dse chances``, ``dse information`` and ``dse law``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
)
from dse.cli.options import goal_options, per_and_top_options, source_argument
from symbolic.answer import Answer, value_text

if TYPE_CHECKING:
    import xarray as xr

#: Configurations that are told people; JSON has them all.
_ROWS = 10


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


def half_width_text(error: float, unit: str) -> str:
    return f"± {value_text(error, unit)}" if error else "exact"
