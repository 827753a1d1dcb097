"""The command `dse disagreement`: several models side by side."""

from __future__ import annotations

import itertools
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import command, query_options, read_comparison
from dse.cli.options import goal_options, names_option, source_argument
from symbolic.answer import TEXT_ROWS, Answer, Table

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse disagreement examples/two-models.toml",
    "dse disagreement examples/two-models.toml --per workload --store two.zarr",
    "dse disagreement two.zarr --minimize time --per workload,machine",
)
@source_argument
@goal_options(several=False)
@names_option("--per", metavar="AXIS,...", help="Compared for each value.")
@click.option("--store", metavar="OUT.zarr", type=click.Path(), help="Write the dataset here.")
def disagreement(source: str, store: str | None, **options: Any) -> Any:
    """Where models differ, and what it costs to follow one if another is right.

    Of a study whose model is a list, or of a stored dataset of one. Tells where the models differ
    on a case or bound, the best configuration by each, and the regret: the objective at the best
    configuration by one model, over the best, both computed by another. Without an objective the
    one under [best] is asked, or --minimize time.
    """
    from sweeps.files.export import export

    ds, filed = read_comparison(source)
    given = query_options(options)
    if not {"minimize", "maximize"} & set(given):
        given = {**filed, **given}
    given.pop("top", None)
    result = dse.disagreement(ds, **given, progress=True)
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
            place = f"at {many:,} of {of:,} configurations, {many / of:.2%}" if many else "nowhere"
            notes.append(f"{what} differs {place}")
    best = [str(name) for name in ds.data_vars if str(name).startswith("best_")]
    units = {name: str(ds[name].attrs.get("units", "")) for name in (*per, *best)}
    rows, cells = [], []
    places = [ds[axis].values.tolist() for axis in per] if "regret" in ds else [[]]
    for cell in itertools.product(*places):
        at = dict(zip(per, cell, strict=True))
        for model in models:
            one = ds[[*best, "ties", "regret"]].sel(at | {"model": model})
            row = {name: one[name].values.item() for name in (*best, "ties")}
            regret = {u: float(one["regret"].sel(under=u)) for u in models}
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
