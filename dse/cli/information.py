"""The command `dse information`: compute the value of information on random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dse
from dse.cli.chances import read_random_source
from dse.cli.command import best_on_interrupt, command, read_query
from dse.cli.options import goal_options, option, split_list, study_argument
from symbolic.answer import Answer, Table, half_width_text, value_text

if TYPE_CHECKING:
    import xarray as xr


@command(
    "dse information uncertain.toml --minimize time",
    "dse information uncertain.toml --minimize time --set-of mem_latency,mem_bandwidth",
)
@study_argument
@goal_options(several=False)
@option("--set-of Q,...", "Inputs to evaluate as one set; repeatable", "sets", multiple=True)
def information(study: str, sets: Sequence[str], **options: Any) -> Any:
    """Compute the value of information: which uncertain input to measure next.

    The value of information is the expected gain from learning inputs before you choose a
    configuration, in the unit of the objective. It is given for all inputs together (EVPI), for
    each input (EVPPI), and for the sets of --set-of. The default objective is that of the study's
    [best].
    """
    read = read_random_source(study)
    query = read_query(read, options)
    wanted: dict[str, Any] = {name: query[name] for name in ("minimize", "maximize", "where")}
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
        known = ds.isel(set=place)
        values = {n: known[n].item() for n in ("evppi", "evppi_error", "changes")}
        then = {f"then_{axis}": known[f"then_{axis}"].item() for axis in now}
        rows.append({"set": name, **values, **then})
        worth = value_cells(values["evppi"], values["evppi_error"])
        cells.append([name, *worth, f"{values['changes']:.1%}", *then.values()])
    chosen = ", ".join(
        f"{name} = {value_text(value, str(ds[name].attrs.get('units', '')))}"
        for name, value in now.items()
    )
    data = {"question": question, "unit": unit, "now": now, "evpi": everything[0]}
    data |= {"evpi_error": everything[1], "sets": rows, "next": str(ds.attrs["next"])}
    heads = ["known input", "gain", "", "choice changes", *(f"mostly {axis}" for axis in now)]
    return Answer(
        kind="Information",
        title=f"{question}: best on average with {chosen or 'the only configuration'}",
        tables=[Table(columns=heads, rows=cells)],
        notes=[f"measure next: {data['next']}"],
        data=data,
    )
