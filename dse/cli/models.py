"""The command `dse models`: list the models, or show one."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

import dse
from dse.cli.command import command, input_errors
from dse.cli.options import complete_model, option
from symbolic.answer import Answer, Table


def catalog_answer(item: Any) -> Answer:
    """Return the answer that shows a catalogue entry or a model; omit the title of a list."""
    answer: Answer = item._answer()
    return replace(answer, title="") if isinstance(item, Mapping) else answer


@command(
    "dse models",
    "dse models mwp_cwp",
    "dse models transit --latex",
    "dse models transit ms_throughput --latex",
)
@click.argument("name", required=False, shell_complete=complete_model)
@click.argument("quantity", required=False)
@option("--latex", "Print the equations in LaTeX, one per line, and their symbols", is_flag=True)
def models(name: str | None, quantity: str | None, latex: bool) -> Any:
    """List the models, or show one.

    NAME is a model, the path of a file (.py), or several of these joined by +. For one model, the
    command shows its inputs, switches, outputs and equations with their sources. With --latex,
    QUANTITY selects one equation.
    """
    if name is None:
        if latex:
            raise click.UsageError("--latex needs the NAME of a model")
        return catalog_answer(dse.models())
    model = dse.model(name)
    if quantity is not None and not latex:
        raise click.UsageError(f"{quantity}: one equation needs --latex, which prints it")
    if not latex:
        return model._answer()
    from symbolic.closed_form import latex_symbols

    with input_errors():
        equations = model.latex(quantity)
    shown = model.equations if quantity is None else model.graph().equations
    used = [eq for eq in shown if quantity in (None, eq.name)]
    written = latex_symbols(model)
    names = dict.fromkeys(name for eq in used for name in (eq.name, *eq.inputs))
    for each in [name for name in names if re.search(r"\\frac|/", written[name])]:
        names |= dict.fromkeys(n for eq in model.variants(each) for n in eq.inputs)
    rows = []
    for each in names:
        row = model.quantity(each)
        rows.append([written[each], each, row.unit, row.meaning])
    if r"\varepsilon" in equations:
        rows.append([r"\varepsilon", "", "", "allowance for rounding errors, 1e-12"])
    columns = ("symbol", "name", "unit", "meaning")
    table = Table(title="symbols", columns=columns, rows=rows)
    data = {"name": model.name, "latex": equations.splitlines()}
    data |= {"symbols": [dict(zip(columns, row, strict=True)) for row in rows]}
    return Answer(title=equations, tables=[table], data=data)
