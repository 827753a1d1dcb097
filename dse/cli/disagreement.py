"""The command `dse disagreement`: compare several models."""

from __future__ import annotations

import itertools
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import command, query_options, read_comparison
from dse.cli.options import goal_options, names_option, option, source_path_argument
from symbolic.answer import TEXT_ROWS, Answer, Table

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse disagreement examples/two-models.toml",
    "dse disagreement examples/two-models.toml --per workload --store two.zarr",
    "dse disagreement two.zarr --minimize time --per workload,machine",
)
@source_path_argument
@goal_options(several=False)
@names_option("--per AXIS,...", "Compare separately for each value of these axes")
@option("--store OUT.zarr", "Store in which to save the dataset of all models", type=click.Path())
def disagreement(source: str, store: str | None, **options: Any) -> Any:
    """Compare models: where they differ, and the regret of following the wrong one.

    The source is a study with a list of models, or the stored dataset of such a study. The answer
    shows at how many configurations the models differ in a case or bound, and the best
    configuration of each model. The regret compares two models: it is the objective, computed by
    the second model, at the best configuration of the first model, divided by the best objective
    of the second model. The default objective is that of the study's [best], or else --minimize
    time.
    """
    from sweeps.files.export import export

    ds, study_query = read_comparison(source)
    query = query_options(options)
    if not {"minimize", "maximize"} & set(query):
        query = {**study_query, **query}
    query.pop("top", None)
    result = dse.disagreement(ds, **query, progress=True)
    if store is not None:
        export(ds, Path(store))
    return _answer(result, store)


def _answer(ds: xr.Dataset, store: str | None) -> Answer:
    models, per = ds.model.values.tolist(), str(ds.attrs["per"]).split()
    names = [*ascii_uppercase, *map("".join, itertools.product(ascii_uppercase, repeat=2))]
    letters = dict(zip(models, names, strict=False))
    differs, notes = {}, []
    for name, variable in ds.data_vars.items():
        if str(name).endswith("_differs") and "under" not in variable.dims:
            what, many = str(name).removesuffix("_differs"), int(variable.sum())
            of = int(variable.attrs.get("compared", variable.size))
            differs[what] = {"configurations": many, "of": of}
            same = "both models" if len(models) == 2 else "all models"
            if many:
                text = f"{what} differs at {many:,} of {of:,} configurations, {many / of:.2%}"
            elif what == "feasible":
                text = f"{same} accept the same configurations"
            else:
                text = f"{what} is the same by {same} at all configurations"
            notes.append(text)
    best = [str(name) for name in ds.data_vars if str(name).startswith("best_")]
    units = {name: str(ds[name].attrs.get("units", "")) for name in (*per, *best)}
    rows, cells = [], []
    places = [ds[axis].values.tolist() for axis in per] if "regret" in ds else [[]]
    for cell in itertools.product(*places):
        at = dict(zip(per, cell, strict=True))
        for model in models:
            winner = ds[[*best, "ties", "regret"]].sel(at | {"model": model})
            row = {name: winner[name].values.item() for name in (*best, "ties")}
            regret = {u: float(winner["regret"].sel(under=u)) for u in models}
            rows.append({**at, "model": model, **row, "regret": regret})
            cells.append(
                [*cell, letters[model], *row.values(), *(f"{r:.4f}" for r in regret.values())]
            )
    columns = {name: units[name] for name in per} | {"by": ""}
    columns |= {name.removeprefix("best_"): units[name] for name in best} | {"ties": ""}
    columns |= {f"regret if {letter}": "" for letter in letters.values()}
    title = f"{ds.attrs['question']}; regret of the best by one model if another is right:"
    data = {"question": ds.attrs["question"], "models": models, "differs": differs, "per": per}
    data |= {"units": units, "rows": rows} | ({"dataset": store} if store is not None else {})
    return Answer(
        kind="Disagreement",
        title="\n".join(f"{letter} = {model}" for model, letter in letters.items()),
        tables=[Table(title=title, columns=columns, rows=cells, max_rows=TEXT_ROWS)],
        notes=[*notes, *([f"dataset: {store}"] if store is not None else [])],
        data=data,
    )
