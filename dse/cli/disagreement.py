"""The command `dse disagreement`: several models side by side."""

from __future__ import annotations

import itertools
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import asked, command, read_models
from dse.cli.options import from_study_or_store, goals, names
from symbolic.answer import TEXT_ROWS, Answer, Table

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse disagreement examples/two-models.toml",
    "dse disagreement examples/two-models.toml --per workload --store two.zarr",
    "dse disagreement two.zarr --minimize time --per workload,machine",
)
@from_study_or_store
@goals(several=False)
@names("--per", metavar="AXIS,...", help="Compared for each value.")
@click.option("--store", metavar="OUT.zarr", type=click.Path(), help="Write the dataset here.")
def disagreement(source: str, store: str | None, **options: Any) -> Any:
    """Where models differ, and what it costs to follow one if another is right.

    Of a study whose model is a list, or of a stored dataset of one. Tells where the models differ
    on a case or bound, the best configuration by each, and the regret: the objective at the best
    configuration by one model, over the best, both computed by another. Without an objective the
    one under [best] is asked, or --minimize time.
    """
    from dse.verbs.optimum import disagreement as compared
    from sweeps.files.export import export

    ds, filed = read_models(source)
    given = asked(options)
    if not {"minimize", "maximize"} & set(given):
        given = {**filed, **given}
    given.pop("top", None)
    found = compared(ds, **given, progress=True)
    if store is not None:
        export(ds, Path(store))
    return _answer(_data(found) | ({"dataset": store} if store is not None else {}))


def _data(found: xr.Dataset) -> dict[str, Any]:
    models = found.model.values.tolist()
    per = str(found.attrs["per"]).split()
    differs = {}
    for name, variable in found.data_vars.items():
        if str(name).endswith("_differs") and "under" not in variable.dims:
            what = str(name).removesuffix("_differs")
            compared = int(variable.attrs.get("compared", variable.size))
            differs[what] = {"configurations": int(variable.sum()), "of": compared}
    names = [str(name) for name in found.data_vars if str(name).startswith("best_")]
    rows = []
    if "regret" in found:
        places = [found[axis].values.tolist() for axis in per]
        for cell in itertools.product(*places):
            at = dict(zip(per, cell, strict=True))
            here = found[[*names, "ties", "regret"]].sel(at)
            for model in models:
                one = here.sel(model=model)
                row = {**at, "model": model}
                row |= {name: one[name].values.item() for name in (*names, "ties")}
                row["regret"] = {u: float(one["regret"].sel(under=u)) for u in models}
                rows.append(row)
    units = {name: str(found[name].attrs.get("units", "")) for name in (*per, *names)}
    return {
        "question": found.attrs["question"],
        "models": models,
        "differs": differs,
        "per": per,
        "units": units,
        "rows": rows,
    }


def _answer(data: dict[str, Any]) -> Answer:
    letters = dict(zip(data["models"], _letters(), strict=False))
    notes = []
    for name, differs in data["differs"].items():
        where = "nowhere"
        if many := differs["configurations"]:
            where = f"at {many:,} of {differs['of']:,} configurations, {many / differs['of']:.2%}"
        notes.append(f"{name} differs {where}")
    if "dataset" in data:
        notes.append(f"dataset: {data['dataset']}")
    tables = []
    if data["rows"]:
        names = [name for name in data["rows"][0] if name not in ("model", "regret")]
        split, units = len(data["per"]), data["units"]
        columns = {name.removeprefix("best_"): units.get(name, "") for name in names[:split]}
        columns |= {"by": ""}
        columns |= {name.removeprefix("best_"): units.get(name, "") for name in names[split:]}
        columns |= {f"regret if {letter}": "" for letter in letters.values()}
        rows = [
            [*(row[n] for n in names[:split]), letters[row["model"]]]
            + [*(row[n] for n in names[split:])]
            + [f"{row['regret'][model]:.4f}" for model in data["models"]]
            for row in data["rows"]
        ]
        title = f"{data['question']}; regret of the best by one model if another is right:"
        tables.append(Table(title=title, columns=columns, rows=rows, most=TEXT_ROWS))
    return Answer(
        kind="Disagreement",
        title="\n".join(f"{letter} = {model}" for model, letter in letters.items()),
        tables=tables,
        notes=notes,
        data=data,
    )


def _letters() -> list[str]:
    """A, B, ... Z, AA, AB, ..."""
    return [*ascii_uppercase, *map("".join, itertools.product(ascii_uppercase, repeat=2))]
