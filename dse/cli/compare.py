"""The command `dse disagreement`: several models side by side."""

from __future__ import annotations

import itertools
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import click

from dse.cli.frame import asked, command, read_models
from dse.cli.options import from_study_or_store, goals, names
from dse.tables import ROWS, table
from dse.wording import value_text

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
    from dse.verbs.compared import disagreement as compared
    from sweeps.files.export import export

    ds, filed = read_models(source)
    given = asked(options)
    if not {"minimize", "maximize"} & set(given):
        given = {**filed, **given}
    given.pop("top", None)
    found = compared(ds, **given, progress=True)
    if store is not None:
        export(ds, Path(store))
    data = _data(found) | ({"dataset": store} if store is not None else {})
    return data, lambda: _text(data)


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


def _text(data: dict[str, Any]) -> str:
    letters = dict(zip(data["models"], _letters(), strict=False))
    lines = [f"{letter} = {model}" for model, letter in letters.items()]
    for name, said in data["differs"].items():
        where = "nowhere"
        if said["configurations"]:
            share = said["configurations"] / said["of"]
            where = f"at {said['configurations']:,} of {said['of']:,} configurations, {share:.2%}"
        lines.append(f"{name} differs {where}")
    if data["rows"]:
        first = data["rows"][0]
        names = [name for name in first if name not in ("model", "regret")]
        split = len(data["per"])
        heads = [name.removeprefix("best_") for name in names]
        regrets = [f"regret if {letter}" for letter in letters.values()]
        header = [*heads[:split], "by", *heads[split:], *regrets]
        body = []
        for row in data["rows"][:ROWS]:
            cells = [value_text(row[name], data["units"].get(name, "")) for name in names]
            regret = [f"{row['regret'][model]:.4f}" for model in data["models"]]
            body.append([*cells[:split], letters[row["model"]], *cells[split:], *regret])
        lines += ["", f"{data['question']}; regret of the best by one model if another is right:"]
        lines += ["", table(header, body, of=len(data["rows"]))]
    if "dataset" in data:
        lines.append(f"dataset: {data['dataset']}")
    return "\n".join(lines)


def _letters() -> list[str]:
    """A, B, ... Z, AA, AB, ..."""
    return [*ascii_uppercase, *map("".join, itertools.product(ascii_uppercase, repeat=2))]
