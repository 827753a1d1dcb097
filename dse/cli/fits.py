"""The command `dse fit`: quantities of a model from measured rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dse.cli.ends import reading
from dse.cli.frame import example, in_json, listed, pairs, put, where

__all__ = ["columns_of", "fit"]


@click.command(
    epilog=example(
        "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
        "dse fit clock_scaling runs.csv --to time --free core_cycles,stall_time --relative",
        "dse fit clock_scaling runs.csv --to time --per kernel=core_cycles,stall_time "
        '--columns "core_clock=MHz [MHz],time=ms [ms]"',
    )
)
@click.argument("model")
@click.argument("data", type=click.Path(exists=True))
@click.option("--free", multiple=True, metavar="Q,...", help="Quantities to be fitted.")
@click.option("--per", metavar="COLUMN=Q,...", help="Further ones, for each label of a column.")
@click.option("--to", multiple=True, metavar="Q,...", help="Measured: by default the main output.")
@click.option("--set", "given", multiple=True, metavar="Q=VALUE", help="A value; may be repeated.")
@click.option("--machine", metavar="NAME", help="Gives values that are not set.")
@click.option("--workload", metavar="NAME", help="Gives values that are not set.")
@where("Rows to fit; may be repeated.")
@click.option("--columns", multiple=True, metavar="Q[=HEADER],...", help="To read. [all]")
@click.option("--weights", metavar="COLUMN", help="Weights of the squared residuals.")
@click.option("--relative", is_flag=True, help="Residuals as shares of what was measured.")
@click.option("--start", multiple=True, metavar="Q=VALUE", help="Where the search begins too.")
@click.option("--out", metavar="OUT.nc", type=click.Path(), help="Write the rows as fitted here.")
@click.option("--save", metavar="NAME.fit.json", type=click.Path(), help="A file for studies.")
@in_json
def fit(
    model: str,
    data: str,
    free: Sequence[str],
    per: str | None,
    to: Sequence[str],
    given: Sequence[str],
    machine: str | None,
    workload: str | None,
    where: Sequence[str],
    columns: Sequence[str],
    weights: str | None,
    relative: bool,
    start: Sequence[str],
    out: str | None,
    save: str | None,
    as_json: bool,
) -> None:
    """Fit quantities of a model to measured rows.

    DATA is a CSV file with a value a row in each column, headed by the name of its quantity with a
    unit if need be, "time [ms]"; or a dataset (.nc, .zarr, .parquet). The columns of --to are what
    the model should yield from the others.
    """
    from dse.fitting import fit as fitted
    from sweeps.files.export import export

    with reading():
        found = fitted(
            model,
            data,
            free=listed(free),
            per=_per(per),
            to=listed(to) or None,
            set=pairs(given, "set"),
            machine=machine,
            workload=workload,
            where=list(where),
            columns=columns_of(listed(columns)),
            weights=weights,
            residuals="relative" if relative else "absolute",
            start=pairs(start, "start"),
        )
    said: dict[str, Any] = found.to_dict()
    if out is not None:
        said["dataset"] = export(found.dataset, Path(out))
    tail = f"\ndataset: {out}" if out is not None else ""
    if save is not None:
        with reading():
            said["saved"] = found.save(save)
        tail += f'\nsaved: {save}, for fit = "{save}" of a study'
    put(as_json, said, lambda: f"{found}{tail}")


def _per(text: str | None) -> dict[str, list[str]] | None:
    if text is None:
        return None
    column, equals, names = text.partition("=")
    if not (column.strip() and equals and names.strip()):
        raise click.UsageError(f"--per {text!r}: expected COLUMN=QUANTITY,...")
    return {column.strip(): listed([names])}


def columns_of(texts: Sequence[str]) -> list[str] | dict[str, str] | None:
    """Names alone, or quantities with their headers; a name alone is its own header."""
    if not texts:
        return None
    if not any("=" in text for text in texts):
        return list(texts)
    pairs = {name.strip(): header.strip() for name, _, header in (t.partition("=") for t in texts)}
    return {name: header or name for name, header in pairs.items()}
