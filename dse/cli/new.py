"""The command `dse new`: a commented file to start from, which works as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, input_errors, new_file
from dse.cli.options import example_studies
from dse.toml_text import printable_line, toml_value, value_line
from sweeps.files.atomic_write import write_atomic
from symbolic.answer import Answer
from symbolic.errors import check_name

if TYPE_CHECKING:
    from dse.catalog.entries import Entry
    from dse.catalog.entry_file import Value
    from symbolic.quantity import Quantity

#: What a file starts from where nothing is named.
_DEFAULT_BASE = {"machine": "gtx280", "workload": "svm"}

_STUDY = """\
# A study: a model, its values, and the axes along which some of them vary.
#
#     dse plan {out}     what a run would do, before any work
#     dse run {out}      the best configuration (--store OUT.zarr keeps all of them)

model = "occupancy + mwp_cwp"       # dse models lists them
machine = "gtx280"                  # dse machines lists them, or the path of a file
workload = "svm"                    # dse workloads lists them, or the path of a file
outputs = ["time", "case", "occupancy"]
# where = ["occupancy >= 0.5"]      # what every configuration must hold

[axes]                              # several values, or a range; of machine and workload too
threads_per_block = {{ start = 64, stop = 512, step = 32 }}
active_sms = {{ start = 1, stop = 30 }}
# core_clock = ["1.1 GHz", "1.2 GHz", "1.3 GHz"]

[set]                               # one value each, before those of workload and machine
# mem_bandwidth = "160 GB/s"        # dse quantities lists names and units

[best]                              # what dse run and dse optimum look for
minimize = "time"
# per = ["active_sms"]              # a winner for each value
"""


@command(
    "dse new study study.toml",
    "dse new study study.toml --from energy-gtx280",
    "dse new machine mine.toml --from cc8.9",
    "dse new workload mine.toml --from svm",
)
@click.argument("kind", type=click.Choice(["study", "machine", "workload"]))
@click.argument("out", metavar="OUT.toml", type=click.Path(dir_okay=False))
@click.option(
    "--from",
    "base",
    metavar="NAME",
    help="The machine, workload or example study to start from. [gtx280, svm; a study: none]",
)
def new(kind: str, out: str, base: str | None) -> Any:
    """Write a commented file to start from: a study, a machine or a workload.

    It works as it stands. A machine or workload starts from another's values, which its file shows
    as comments: a line stands once the mark before it is taken away. What models ask of a machine
    and the other does not tell is listed to be filled in, beside the numbers of a similar one; its
    formulas stand.
    """
    path = new_file(out, ".toml")
    closed: dict[str, tuple[str, ...]] = {}
    with input_errors():
        if kind == "study":
            text = _STUDY.format(out=printable_line(out))
            if base is not None:
                known = example_studies()
                check_name(base, known, f"--from {base!r}: there is no such example study")
                text = known[base].read_text(encoding="utf-8")
            write_atomic(path, text, replace=False)
        else:
            from dse.catalog.entries import machine, workload

            name = base or _DEFAULT_BASE[kind]
            entry = (machine if kind == "machine" else workload)(name)
            named = str(Path(name).resolve()) if name.endswith(".toml") else entry.name
            other = entry if kind == "workload" else _similar_machine(entry)
            closed = {} if kind == "workload" else _models_gained(entry, other)
            text = "\n".join(entry_lines(kind, path, entry, named, other)) + "\n"
            from dse.catalog.entry_file import write_entry_file

            write_entry_file(path, text, kind, replace=False)
    filling = [f"to fill in for {name}: {', '.join(names)}" for name, names in closed.items()]
    data = {"kind": kind, "written": path, "to_fill_in": closed}
    return Answer(title=f"{path} (a {kind} to start from)", notes=filling, data=data)


def _similar_machine(entry: Entry) -> Entry:
    """The machine of the nearest compute capability of which most is known, the latency too."""
    from dse.catalog.entries import machines

    def distance(other: Entry) -> tuple[float, int, int]:
        here, there = entry.compute_capability or 0, other.compute_capability or 0
        apart = abs(float(here) - float(there)), bool(here) != bool(there)
        return 100 * apart[1] + apart[0], other.name != entry.name, -len(other.values)

    known = (other for name, other in machines().items() if not name.startswith("cc"))
    return min((other for other in known if "mem_latency_nominal" in other.values), key=distance)


# --- the lines of the file
def _models_gained(entry: Entry, other: Entry) -> dict[str, tuple[str, ...]]:
    """The models that the numbers of another machine would open, each with what is lacking.

    What holds for both stands already.
    """
    from dataclasses import replace

    from dse.catalog.entries import unavailable_models

    still = unavailable_models(other)
    closed = unavailable_models(
        replace(entry, values={**_transferable_values(other), **entry.values})
    )
    return {name: names for name, names in closed.items() if name not in still}


def _transferable_values(other: Entry) -> dict[str, Value]:
    """What holds for other machines as well: formulas, and what is said of workloads."""
    from dse.catalog.entries import formula_inputs
    from symbolic.quantities import TABLE

    return {
        name: value
        for name, value in other.values.items()
        if formula_inputs(name, value.value) or TABLE[name].lever == "programmer"
    }


def entry_lines(kind: str, path: Path, entry: Entry, base_name: str, other: Entry) -> Iterator[str]:
    """The lines of the file of a machine or workload that has all values of another."""
    from symbolic.quantities import TABLE

    known = {**TABLE, **{row.name: row for row in entry.declared}}
    yield from (
        f"# A {kind} that starts from {printable_line(entry.name)}: what is not said here is as there.",
        "# Take the mark away before a line and give your own value, with its source, or with",
        '# assumed = "why". dse quantities NAME tells of a quantity; dse '
        f"{kind}s {printable_line(str(path))} shows all.",
        "",
        f"title = {toml_value(f'{path.stem}, from {entry.title}')}",
        f'kind = "{kind}"',
        f"base = {toml_value(base_name)}",
        "",
        "[values]",
    )
    lacking = {name: value for name, value in other.values.items() if name not in entry.values}
    if lacking:
        told = f"not told by {printable_line(entry.name)}; beside each, what {other.name} has"
        yield f"# --- to fill in: {told}"
        for model, names in _models_gained(entry, other).items():
            yield f"# {model} asks for {', '.join(names)}"
    standing = [name for name in _transferable_values(other) if name in lacking]
    for name in [name for name in lacking if name not in standing]:
        value = lacking[name]
        yield f"# {_meaning_text(known[name])}"
        line = value_line(name, toml_value(value.value), "source", "WHERE YOURS IS FROM")
        yield f"# {line}  # {other.name}: {printable_line(value.source or value.assumed)}"
    if standing:
        yield f"# --- formulas in those and what is usual, as {other.name} has them"
    for name in standing:
        yield f"# {_meaning_text(known[name])}"
        yield _line(name, lacking[name])
    if lacking:
        yield f"# --- as {printable_line(entry.name)} has it"
    for name, value in entry.values.items():
        yield f"# {_meaning_text(known[name])}"
        yield f"# {_line(name, value)}"


def _line(name: str, value: Value) -> str:
    """A value of a file, with its origin."""
    origin = "source" if value.source else "assumed"
    return value_line(name, toml_value(value.value), origin, value.source or value.assumed)


def _meaning_text(row: Quantity) -> str:
    return printable_line(row.meaning) + (f" [{row.unit}]" if row.unit not in ("", "1") else "")
