"""The pages of machines, of workloads and of the commands."""

import textwrap

import dse
from dse.cli import main as command
from pages.rst import heading, plain, table
from symbolic.answer import value_text
from symbolic.quantities import TABLE


def catalogue(kind, entries):
    """Machines or workloads: every value with its source, or why it was assumed."""
    for name, entry in entries.items():
        limits = {}
        yield heading(name, "-", f"{kind}-{name}")
        yield plain(entry.title) + "."
        if entry.compute_capability:
            capability = entry.compute_capability
            limits = dse.machine(f"cc{capability}").values
            yield f"With the limits of :ref:`compute capability {capability} <limits>`."
        yield values({n: v for n, v in entry.values.items() if limits.get(n) != v})


def values(said):
    """A table of values with their sources; assumptions are marked."""
    rows = []
    for name, value in said.items():
        origin = f"**assumed**: {plain(value.assumed)}" if value.assumed else plain(value.source)
        rows.append([f"``{name}``", plain(value_text(value.value, TABLE[name].unit)), origin])
    return table(["quantity", "value", "source"], rows, "30 20 50")


def limits():
    """The limits of every compute capability, and where they are published."""
    found = {n: e for n, e in dse.machines().items() if n.startswith("cc")}
    names = list(dict.fromkeys(name for entry in found.values() for name in entry.values))
    yield heading("Compute capabilities", "-", "limits")
    yield "Each is a machine as well: ``cc8.0``. Most have no clock and no memory of their own."
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
    """The help of every command."""
    import click

    yield heading("Commands", "=")
    for name in command.list_commands(click.Context(command)):
        one = command.get_command(click.Context(command), name)
        with click.Context(one, info_name=f"dse {name}", max_content_width=90) as context:
            text = textwrap.indent(one.get_help(context), "   ")
        yield f"{heading(f'dse {name}', '-')}\n\n.. code-block:: text\n\n{text}"
