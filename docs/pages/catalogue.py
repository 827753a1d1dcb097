"""Generate the pages of machines, workloads and commands."""

import json
import textwrap

from click.testing import CliRunner

import dse
from dse.cli import main as command
from pages.rst import heading, paragraphs, plain, table, tree
from symbolic.answer import value_text
from symbolic.quantities import TABLE

ORIGINS = """\
Every number has a source, or a reason why it was assumed. A value is a number with its unit, or a
formula in other quantities. Your own is a TOML file of the same form, given by its path.
"""

#: Columns of the table of machines: quantity and heading.
COLUMNS = {
    "release_year": "year",
    "n_sms": "SMs",
    "nominal_clock": "nominal clock",
    "mem_bandwidth": "bandwidth",
    "fp32_flops": "FP32 rate",
}


def shown(entry, name):
    """Return the value of a quantity as text, or nothing if the entry has none."""
    value = entry.values.get(name)
    return plain(value_text(value.value, TABLE[name].unit)) if value else ""


def machines():
    """Yield the table of machines and a page for each machine."""
    every = dse.machines()
    entries = {name: entry for name, entry in every.items() if not name.startswith("cc")}
    rows = [
        [
            f":doc:`{name} <machines/{name}>`",
            plain(entry.title),
            entry.compute_capability,
            *(shown(entry, quantity) for quantity in COLUMNS),
        ]
        for name, entry in entries.items()
    ]
    header = ["machine", "GPU", "compute capability", *COLUMNS.values()]
    yield (
        "machines.rst",
        paragraphs(
            heading("Machines", "="),
            ORIGINS,
            "A machine page lists all values with their sources, the values that are unknown, and "
            "the models that need further inputs. An empty cell means that the file has no value.",
            table(header, rows),
            *limits(),
            tree(f"{name} <machines/{name}>" for name in entries),
        ),
    )
    for name, entry in entries.items():
        yield f"machines/{name}.rst", paragraphs(*machine(name, entry))


def machine(name, entry):
    """Yield the parts of the page of a machine."""
    limited = {}
    yield heading(name, "=", f"machine-{name}")
    yield plain(entry.title) + "."
    if entry.compute_capability:
        capability = entry.compute_capability
        limited = dse.machine(f"cc{capability}").values
        yield f"With the limits of :ref:`compute capability {capability} <limits>`."
    yield f"In Python ``dse.machine({name!r})``, in a shell ``dse machines {name}``."
    yield heading("Values", "-")
    yield values({n: v for n, v in entry.values.items() if limited.get(n) != v})
    if entry.unknown:
        yield heading("Unknown values", "-")
        rows = [[f"``{quantity}``", plain(why)] for quantity, why in entry.unknown.items()]
        yield table(["quantity", "reason"], rows, "30 70")
    done = CliRunner().invoke(command, ["machines", name, "--json"])
    closed = json.loads(done.stdout)["closed_models"]
    if closed:
        yield heading("Models that need further inputs", "-")
        yield "Neither this file nor a default gives these inputs. A study can set them."
        rows = [
            [f":doc:`/generated/models/{model}`", ", ".join(f"``{lack}``" for lack in lacking)]
            for model, lacking in closed.items()
        ]
        yield table(["model", "missing inputs"], rows, "25 75")


def workloads():
    """Yield the page of workloads: a table that links to the values of each."""
    entries = dse.workloads()
    rows = [
        [f":ref:`{name} <workload-{name}>`", plain(entry.title)] for name, entry in entries.items()
    ]
    sections = []
    for name, entry in entries.items():
        sections.append(heading(name, "-", f"workload-{name}"))
        sections.append(plain(entry.title) + ".")
        sections.append(values(entry.values, {row.name: row for row in entry.declared}))
    title = heading("Workloads", "=")
    summary = table(["workload", "description"], rows, "25 75")
    yield "workloads.rst", paragraphs(title, ORIGINS, summary, *sections)


def values(said, declared=()):
    """Return a table of values with their sources; assumptions are marked.

    ``declared`` maps names to the quantities that a workload declares, such as its sizes.
    """
    rows, known = [], {**TABLE, **dict(declared)}
    for name, value in said.items():
        origin = f"**assumed**: {plain(value.assumed)}" if value.assumed else plain(value.source)
        rows.append([f"``{name}``", plain(value_text(value.value, known[name].unit)), origin])
    return table(["quantity", "value", "source"], rows, "30 20 50")


def limits():
    """Yield the limits of every compute capability with their sources."""
    found = {n: e for n, e in dse.machines().items() if n.startswith("cc")}
    names = list(dict.fromkeys(name for entry in found.values() for name in entry.values))
    yield heading("Compute capabilities", "-", "limits")
    yield "Each compute capability is a machine, too: ``cc8.0``. Most have no clock and no memory."
    rows = []
    for name in names:
        by_value = {}
        for entry in found.values():
            if name in entry.values:
                by_value.setdefault(entry.values[name].value, []).append(entry.compute_capability)
        several = "; ".join(f"{value_text(v)} ({', '.join(c)})" for v, c in by_value.items())
        sources = dict.fromkeys(
            value.source or f"**assumed**: {value.assumed}"
            for entry in found.values()
            if (value := entry.values.get(name))
        )
        rows.append([f"``{name}``", several, "; ".join(sources)])
    yield table(["quantity", "value (compute capabilities)", "source"], rows, "20 50 30")


def commands():
    """Yield the help of every command."""
    import click

    yield heading("Commands", "=")
    for name in command.list_commands(click.Context(command)):
        one = command.get_command(click.Context(command), name)
        with click.Context(one, info_name=f"dse {name}", max_content_width=90) as context:
            text = textwrap.indent(one.get_help(context), "   ")
        yield f"{heading(f'dse {name}', '-')}\n\n.. code-block:: text\n\n{text}"
