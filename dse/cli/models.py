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


@command("dse models", "dse models mwp_cwp", "dse models transit ms_throughput --latex")
@click.argument("name", required=False, shell_complete=complete_model)
@click.argument("quantity", required=False)
@option("--latex", "Print the equations in LaTeX, one per line, and their symbols", is_flag=True)
def models(name: str | None, quantity: str | None, latex: bool) -> Any:
    """List the models, or show one.

    NAME is a model, the path of a file (.py), or several of these joined by +. For one model, the
    command shows its inputs, switches, outputs and equations with their sources. QUANTITY selects
    one equation in LaTeX.
    """
    if name is None:
        if latex:
            raise click.UsageError("--latex needs the NAME of a model")
        return catalog_answer(dse.models())
    model = dse.model(name)
    if not latex and quantity is None:
        return model._answer()
    from symbolic.closed_form import latex_symbols

    with input_errors():
        equations = model.latex(quantity)
    shown = model.equations if quantity is None else model.graph().equations
    used, written = [eq for eq in shown if quantity in (None, eq.name)], latex_symbols(model)
    names = dict.fromkeys(name for eq in used for name in (eq.name, *eq.inputs))
    for each in [name for name in names if re.search(r"\\frac|/", written[name])]:
        names |= dict.fromkeys(n for eq in model.variants(each) for n in eq.inputs)
    flags = {eq.name: [f"{n} {text}" for n, text in eq.flags.items()] for eq in model.equations}
    known = {q: "; ".join([q.meaning, *flags.get(q.name, ())]) for q in map(model.quantity, names)}
    rows = [(written[q.name], q.name, q.unit, meaning) for q, meaning in known.items()]
    if r"\varepsilon" in equations:
        rows.append((r"\varepsilon", "", "", "allowance for rounding errors, 1e-12"))
    head = ("symbol", "name", "unit", "meaning")
    data: dict[str, Any] = {"name": model.name, "latex": equations.splitlines()}
    data["symbols"] = [dict(zip(head, row, strict=True)) for row in rows]
    table = Table(title="symbols", columns=head, rows=rows)
    return Answer(title=equations, tables=[table], data=data)
