"""Draft a study file from a kernel, a workload or a model, a machine, and a question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.analysis import KERNEL_FILES
from dse.analysis.launch import source_launch
from dse.analysis.prediction import MODELS
from dse.analysis.subject import architecture
from dse.catalog.entries import Entry, workload, workloads
from dse.catalog.entries import machine as load_machine
from dse.catalog.models import models
from dse.cuda import kernel
from dse.cuda.launch_shape import evaluate_sizes, source_macros
from dse.study.study import StudyData
from dse.toml_text import printable_line, toml_key, toml_value
from sweeps.grid.axes import parse_numbers
from symbolic.answer import value_text
from symbolic.errors import DseError, nearest_hint
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.quantity import Quantity

#: Questions that a study can answer, each with its text and the quantities that the study varies.
QUESTIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "best": ("Which block size is the best? Without blocks: what is the effect of the size?",
             ("threads_per_block",)),
    "clock": ("Which clock of the cores is the best?", ("core_clock",)),
    "limits": ("What limits it at other clocks and bandwidths?", ("core_clock", "mem_bandwidth")),
}  # fmt: skip
#: Values of an axis, in percent of the machine's value.
_PERCENT = {"core_clock": range(50, 101, 10), "mem_bandwidth": (50, 75, 100, 150, 200)}
#: Example values of quantities for which the middle of the typical range is too much.
_EXAMPLE = {"threads_per_block": 128}
#: Number of values of an axis that covers the typical range of a quantity.
_VALUES = 16


def kind_of(subject: str) -> str:
    """Return ``"kernel"``, ``"model"`` or ``"workload"``; raise DseError for any other text."""
    if Path(subject).suffix.lower() in KERNEL_FILES:
        if not Path(subject).is_file():
            raise DseError(f"{subject!r} is no file: expected the path of a kernel")
        return "kernel"
    if subject in models():
        return "model"
    if subject not in workloads() and not subject.endswith(".toml"):
        hint = nearest_hint(subject, [*models(), *workloads()])
        raise DseError(f"{subject!r} is no kernel (.cu, .cubin, .ptx), workload or model{hint}")
    workload(subject)
    return "workload"


def count_kernel(path: Path, machine: str) -> str:
    """Return the workload file of a kernel, whose launch is in its comments ``// dse: ...``."""
    text = "" if path.suffix == ".cubin" else path.read_text("utf-8", errors="replace")
    launch = source_launch(text, str(path))
    numbers = {**source_macros(text), **launch.set}
    counted = kernel(
        path,
        launch.times,
        launch.entry,
        arch=architecture(load_machine(machine))[0],
        define=launch.define,
        options=launch.options,
        block=[int(n) for n in evaluate_sizes(launch.block or (256,), numbers, "block")],
        grid=launch.grid,
        set=launch.set,
        dynamic_shared=launch.dynamic_shared,
        array_bytes=launch.array_bytes,
    )
    return str(counted.toml())


def draft_study(subject: str, machine: str, question: str, out: str) -> str:
    """Return the text of a study file ``out`` of a model or workload.

    ``question`` is a key of :data:`QUESTIONS`. If the model needs numbers of the problem, they are
    examples in typical ranges, and the file says so.

    Raises:
        DseError: The machine lacks values that a model needs, or no model fits the workload.
    """
    text, wanted = QUESTIONS[question]
    of_model, errors = kind_of(subject) == "model", []
    for name in [subject] if of_model else MODELS:
        model, entry = load_model(name), load_machine(machine)
        given = {*entry.values, *({} if of_model else workload(subject).values)}
        needs = model.needs(*model.outputs)
        rows = {n: model.quantity(n) for n in needs if n not in given}
        missing = {n: row for n, row in rows.items() if row.default is None}
        unknown = [
            n for n, row in missing.items()
            if row.typical is None or row.lever == "designer"
            or not (of_model or n == "threads_per_block")
        ]  # fmt: skip
        if unknown:
            errors.append(f"{name} needs {', '.join(unknown)}")
            continue
        axes = [[each for each in wanted if each in needs]]
        axes += [[*missing][:1], [*{"core_clock"}.intersection(needs)]] * (question == "best")
        for names in filter(None, axes):
            is_size = names != axes[0] and names[0] in missing
            values = {n: _values(model.quantity(n), entry) for n in (*names, *missing)}
            try:
                study = StudyData(
                    model=name,
                    machine=machine,
                    workload=None if of_model else subject,
                    axes={n: values[n] for n in names},
                    set={
                        n: _EXAMPLE.get(n, values[n][len(values[n]) // 2])
                        for n in missing
                        if n not in names
                    },
                    best=_goal(model, question)
                    | ({"per": names} if is_size or len(names) > 1 else {}),
                )
            except DseError as error:
                errors.append(f"{name}: {error}")
            else:
                return "\n".join(_lines(study, missing, [text, "", f"    dse run {out}"])) + "\n"
        errors += [f"{name} does not depend on {' or '.join(wanted)}"] * (not any(axes))
    ways = "choose another machine, question or model"
    raise DseError(f"no study of {subject} on {machine}: {ways}\n" + "\n".join(errors))


def _goal(model: Model, question: str) -> dict[str, str]:
    units = {name: model.quantity(name).unit for name in model.outputs}
    if question == "clock" and "energy" in model.yields:
        return {"minimize": "energy"}
    rate = next((name for name, unit in units.items() if unit == "1/s"), None)
    costs = [name for name, unit in units.items() if unit in ("s", "J", "W") or "time" in name]
    return {"minimize": costs[0]} if costs and not rate else {"maximize": rate or next(iter(units))}


def _values(row: Quantity, entry: Entry) -> list[Any]:
    """Return values around the one of the machine, or over the typical range of a quantity."""
    if row.name in _PERCENT:
        name = row.name if row.name in entry.values else "nominal_clock"
        while (value := entry.values[name].value) in entry.values:  # core_clock = "boost_clock"
            name = str(value)
        (base,) = parse_numbers([value], row, row.name)
        return [value_text(base * percent / 100, row.unit) for percent in _PERCENT[row.name]]
    if row.name == "threads_per_block":
        return [*range(32, 1025, 32)]
    low, high = row.typical or (0, 0)
    if row.domain.whole:
        return [2**k for k in range(math.frexp(high)[1]) if low <= 2**k <= high][-_VALUES:]
    space = np.geomspace if low > 0 else np.linspace
    return [float(f"{value:.4g}") for value in space(low, high, _VALUES)]


def _lines(study: StudyData, missing: Mapping[str, Quantity], head: list[str]) -> Iterator[str]:
    yield from (f"# {printable_line(text)}".rstrip() for text in (*head, ""))
    for name in ("model", "machine", "workload"):
        if getattr(study, name):
            yield f"{name} = {toml_value(getattr(study, name))}"
    for title in ("axes", "set", "best"):
        if values := getattr(study, title):
            yield f"\n[{title}]"
            note = "# examples in typical ranges: replace them by your numbers"
            yield from [note] * (title == "set")
        for name, value in values.items():
            row = missing.get(name)
            unit = f" [{row.unit}]" if row and row.unit else ""
            meaning = f"  # {printable_line(row.meaning)}{unit}" if row else ""
            yield f"{toml_key(name)} = {toml_value(value)}{meaning}"
