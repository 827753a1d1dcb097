"""The command `dse chances`: compute the probability that each configuration is the best."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dse
from dse.cli.command import best_on_interrupt, command, input_errors, read_query, read_source
from dse.cli.options import goal_options, per_and_top_options, source_path_argument
from symbolic.answer import Answer, count_text

if TYPE_CHECKING:
    import xarray as xr

_ROWS = 10


@command(
    "dse chances uncertain.toml --minimize time",
    'dse chances uncertain.toml --maximize throughput --where "power <= 150 W" --per workload',
)
@source_path_argument
@goal_options(several=False)
@per_and_top_options
def chances(source: str, **options: Any) -> Any:
    """Compute the chance to be the best, of each configuration, under uncertain inputs.

    The configurations are listed by their chance, the largest first. The regret is the expected
    difference between the objective of a configuration and the best objective. Chance and regret
    have 95 % confidence intervals (half-widths are shown), and are evaluated on independent draws
    to avoid selection bias. The source is a study with distributions under [random], values along
    the dimension draw, or repeated measurements along the dimension run (dse import --runs), whose
    averages are compared. The default objective is that of the study's [best].
    """
    read = read_random_source(source)
    query = read_query(read, options) | {"top": options["top"]}
    result = best_on_interrupt(lambda: dse.chances(read, **query, progress=True))
    return _chances_answer(result, options["top"])


def read_random_source(source: str) -> Any:
    """Return the study or comparison of a study file, or what another source contains."""
    from dse.verbs.sources import load_if_study_file

    with input_errors():
        return load_if_study_file(source) if source.endswith(".toml") else read_source(source)


def _chances_answer(ds: xr.Dataset, top: int | None) -> Answer:
    from dse.display import dataset_answer, select_rows

    lists = ds.drop_vars([name for name in ds.data_vars if "rank" not in ds[name].dims])
    answer = dataset_answer(lists)
    data = dict(answer.data)
    for name in ("left", "left_error", "none"):
        data[name] = ds[name].values.tolist()
    verdict = ("verdict", "told_apart", "run_again", "drifting", "lag1", "drift")
    data |= {name: ds.attrs[name] for name in verdict if name in ds.attrs}
    data["configurations"] = int(ds.attrs["configurations"])
    shown = [row for row in data["rows"] if row["rank"] <= (top or _ROWS)]
    shown = [row | {"regret": "infinite"} if row["regret"] == math.inf else row for row in shown]
    rest = ds.chance.isel(rank=slice(top or _ROWS, None)).sum("rank") + ds.left
    error = f" ± {ds.left_error.item():.2g}" if not rest.ndim and ds.left.item() else ""
    notes = ["chance of all others: " + ", ".join(f"{x:.3g}" for x in rest.values.flat) + error]
    if any(row["regret"] == "infinite" for row in shown):
        notes.append("infinite regret: in some draws, the configuration is infeasible")
    if "verdict" in data:
        again = f"measure rank {data['run_again']} again first"
        notes += [
            data["verdict"],
            "no further measurement needed" if data.get("told_apart") else again,
            f"{data['drifting']:.0%} of all configurations drift over their runs; correlation of "
            f"neighbouring runs {data['lag1']:.2f} (median)",
        ]
    names = [str(name) for name, each in ds.coords.items() if "rank" in each.dims]
    others = [name for name in names if name not in ("rank", "machine", "workload")]
    if "machine" in names and others:
        best = f"best({answer.title.partition(' ')[2]}, {', '.join(others)})"
        notes.append(f"configurations share a machine's chance: write {best} to compare machines")
    if ds.none.values.any():
        notes.append(f"chance that no configuration is feasible: {float(ds.none.max()):.3g}")
    title = f"{count_text(data['configurations'], 'configuration')} can be the best: {answer.title}"
    return replace(select_rows(answer, shown), title=title, notes=notes, data=data)
