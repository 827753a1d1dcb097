"""The command `dse new`: write a commented study, machine or workload file to start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, input_errors, is_interactive, new_file
from dse.cli.options import echo, example_studies, option
from dse.toml_text import printable_line, toml_value, value_line
from symbolic.answer import Answer
from symbolic.errors import DseError, check_name

if TYPE_CHECKING:
    from dse.catalog.entries import Entry
    from dse.catalog.entry_file import Value
    from symbolic.quantity import Quantity

#: Defaults of --from for machines and workloads.
_DEFAULT_BASE = {"machine": "gtx280", "workload": "svm"}


@command(
    "dse new",
    "dse new study study.toml",
    "dse new study study.toml --from energy-gtx280",
    "dse new machine mine.toml --from cc8.9",
    "dse new workload mine.toml --from svm",
)
@click.argument("kind", required=False, type=click.Choice(["study", "machine", "workload"]))
@click.argument("out", metavar="[OUT.toml]", required=False, type=click.Path(dir_okay=False))
@option(
    "--from NAME",
    "Machine, workload or example study to start from; default: gtx280, svm or a short study",
    "base",
)
def new(kind: str | None, out: str | None, base: str | None) -> Any:
    """Write a file to start from: a commented study, machine or workload.

    Without arguments, the command asks for three things on a terminal: your kernel, workload or
    model; the machine; and what you want to know. It then writes a study.

    You can use the file without changes. A machine or workload file uses the values of another
    machine or workload, and shows them as comments: to replace a value, uncomment its line. If the
    other machine lacks values that models need, a machine file lists them with the numbers of a
    similar machine.
    """
    if kind is None and is_interactive():
        return _ask_study()
    if kind is None or out is None:
        raise click.UsageError(
            "name the kind and the file, such as dse new study study.toml (or machine, workload); "
            "without them, dse new asks three questions, for which it needs a terminal"
        )
    path = new_file(out, ".toml")
    closed: dict[str, tuple[str, ...]] = {}
    with input_errors():
        if kind == "study":
            from dse.analysis.draft import draft_study

            known = example_studies()
            if base is None:
                text = draft_study("svm", "gtx280", "block", out)
            else:
                check_name(base, known, f"--from {base!r}: there is no such example study")
                text = known[base].read_text(encoding="utf-8")
            from sweeps.files.atomic_write import write_atomic

            write_atomic(path, text, replace=False)
        else:
            from dse.catalog.entries import machine, workload

            name = base or _DEFAULT_BASE[kind]
            entry = (machine if kind == "machine" else workload)(name)
            base_name = str(Path(name).resolve()) if name.endswith(".toml") else entry.name
            other = entry if kind == "workload" else _similar_machine(entry)
            closed = {} if kind == "workload" else _models_gained(entry, other)
            text = "\n".join(entry_lines(kind, path, entry, base_name, other)) + "\n"
            from dse.catalog.entry_file import write_entry_file

            write_entry_file(path, text, kind, replace=False)
    filling = [f"to fill in for {name}: {', '.join(names)}" for name, names in closed.items()]
    data = {"kind": kind, "written": path, "to_fill_in": closed}
    return Answer(title=f"{path} (a {kind} to start from)", notes=filling, data=data)


def _ask_study() -> Answer:
    """Ask for a subject, a machine, and a question that their study answers; write the study."""
    from dse.analysis import KERNEL_FILES
    from dse.analysis.draft import QUESTIONS, check_subject, count_kernel, draft_study
    from dse.catalog.entries import machine as load_machine
    from sweeps.files.atomic_write import write_atomic

    what = "What do you have? The file of a kernel, a workload or a model (dse models lists them)"
    while True:
        subject = _ask(what, "gemm", check_subject)
        machine = _ask("Which machine? (dse machines lists them)", "h100_sxm", load_machine)
        out, drafts = _free_path("study"), dict[str, str]()
        try:
            if Path(subject).suffix.lower() in KERNEL_FILES:
                counts, path = count_kernel(Path(subject), machine), _free_path(Path(subject).stem)
                write_atomic(path, counts, replace=False)
                subject = str(path)
            for key in QUESTIONS:
                with suppress(DseError):
                    drafts[key] = draft_study(subject, machine, key, str(out))
            if not drafts:
                draft_study(subject, machine, key, str(out))  # raises the error of the draft
            break
        except (DseError, OSError) as error:
            echo(f"{error}\n", err=True)
    texts = "".join(f"\n  {key:6}  {QUESTIONS[key][0]}" for key in drafts)
    options: dict[str, Any] = {"type": click.Choice([*drafts]), "show_choices": False}
    key = click.prompt(f"Which question?{texts}\n", next(iter(drafts)), err=True, **options)
    write_atomic(out, drafts[key], replace=False)
    title = f"{out}: dse plan {out} shows what it does, dse run {out} runs it"
    return Answer(title=title, data={"kind": "study", "written": out, "workload": subject})


def _ask(text: str, default: str, check: Callable[[str], object]) -> str:
    """Ask on the terminal until the answer passes a check."""

    def convert(answer: str) -> str:
        try:
            check(answer)
        except (DseError, OSError) as error:
            raise click.UsageError(str(error)) from error
        return answer

    return str(click.prompt(text, default=default, err=True, value_proc=convert))


def _free_path(stem: str) -> Path:
    paths = (Path(f"{stem}{number or ''}.toml") for number in (0, *range(2, 1000)))
    return next(path for path in paths if not path.exists())


def _similar_machine(entry: Entry) -> Entry:
    """Return the machine with a known latency whose compute capability is the nearest."""
    from dse.catalog.entries import machines

    def distance(other: Entry) -> tuple[float, int, int]:
        here, there = entry.compute_capability or 0, other.compute_capability or 0
        gap = abs(float(here) - float(there)) + 100 * (bool(here) != bool(there))
        return gap, other.name != entry.name, -len(other.values)

    known = (other for name, other in machines().items() if not name.startswith("cc"))
    return min((other for other in known if "mem_latency_nominal" in other.values), key=distance)


def _models_gained(entry: Entry, other: Entry) -> dict[str, tuple[str, ...]]:
    """Return the models that the values of ``other`` make usable, and what each model lacks now."""
    from dataclasses import replace

    from dse.catalog.entries import unavailable_models

    still = unavailable_models(other)
    closed = unavailable_models(
        replace(entry, values={**_transferable_values(other), **entry.values})
    )
    return {name: names for name, names in closed.items() if name not in still}


def _transferable_values(other: Entry) -> dict[str, Value]:
    """Return the values that also hold for other machines: formulas, and programmers' choices."""
    from dse.catalog.entries import formula_inputs
    from symbolic.quantities import TABLE

    return {
        name: value
        for name, value in other.values.items()
        if formula_inputs(name, value.value) or TABLE[name].lever == "programmer"
    }


def entry_lines(kind: str, path: Path, entry: Entry, base_name: str, other: Entry) -> Iterator[str]:
    """Yield the lines of a machine or workload file that is based on ``entry``."""
    from symbolic.quantities import TABLE

    known = {**TABLE, **{row.name: row for row in entry.declared}}
    yield from (
        f"# A {kind} based on {printable_line(entry.name)}, which gives all values not set here.",
        '# Uncomment a line to replace its value, and give its source, or assumed = "why".',
        f"# dse quantities NAME explains a quantity; dse {kind}s {printable_line(str(path))} shows",
        "# all values.",
        "",
        f"title = {toml_value(f'{path.stem}, from {entry.title}')}",
        f'kind = "{kind}"',
        f"base = {toml_value(base_name)}",
        "",
        "[values]",
    )
    lacking = {name: value for name, value in other.values.items() if name not in entry.values}
    if lacking:
        yield f"# --- to fill in: unknown for {printable_line(entry.name)}; {other.name} has these"
        for model, names in _models_gained(entry, other).items():
            yield f"# {model} needs {', '.join(names)}"
    standing = [name for name in _transferable_values(other) if name in lacking]
    for name in [name for name in lacking if name not in standing]:
        value = lacking[name]
        yield f"# {_meaning_text(known[name])}"
        line = value_line(name, toml_value(value.value), "source", "WHERE YOURS IS FROM")
        yield f"# {line}  # {other.name}: {printable_line(value.source or value.assumed)}"
    if standing:
        yield f"# --- formulas and usual values, from {other.name}"
    for name in standing:
        yield f"# {_meaning_text(known[name])}"
        yield _line(name, lacking[name])
    if lacking:
        yield f"# --- from {printable_line(entry.name)}"
    for name, value in entry.values.items():
        yield f"# {_meaning_text(known[name])}"
        yield f"# {_line(name, value)}"


def _line(name: str, value: Value) -> str:
    origin = "source" if value.source else "assumed"
    return value_line(name, toml_value(value.value), origin, value.source or value.assumed)


def _meaning_text(row: Quantity) -> str:
    return printable_line(row.meaning) + (f" [{row.unit}]" if row.unit not in ("", "1") else "")
