"""Draft a study file from a kernel, a workload or a model, a machine, and a question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
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
from dse.verbs.optimum import optimum
from sweeps.grid.axes import parse_numbers
from symbolic.answer import value_text
from symbolic.errors import DseError, check_name, nearest_hint
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.quantity import Quantity

#: Questions that a study can answer, each with its text and the quantities that the study varies.
QUESTIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    "block": ("Which block size is the best?", ("threads_per_block",)),
    "shape": ("How does the result depend on the size of the problem?", ()),
    "clock": ("Which clock of the cores is the best?", ("core_clock",)),
    "limits": ("What limits it at other clocks and bandwidths?", ("core_clock", "mem_bandwidth")),
}  # fmt: skip
#: Values of an axis, in percent of the machine's value.
_PERCENT = {"core_clock": range(50, 101, 10), "mem_bandwidth": (50, 75, 100, 150, 200)}
#: Largest number of values of an axis over the typical range of a quantity.
_VALUES = 16


def count_kernel(path: Path, machine: str) -> str:
    """Return the text of a kernel's workload file. Comments ``// dse: ...`` give the launch."""
    text = "" if path.suffix == ".cubin" else path.read_text("utf-8", errors="replace")
    launch = source_launch(text, str(path))
    numbers = {**source_macros(text), **launch.set}
    block = [int(n) for n in evaluate_sizes(launch.block or (256,), numbers, "block")]
    arch = architecture(load_machine(machine))[0]
    return str(kernel(path, **{**asdict(launch), "block": block, "arch": arch}).toml())


def check_subject(subject: str) -> None:
    """Raise DseError unless ``subject`` is the file of a kernel, a workload or a model."""
    if Path(subject).suffix.lower() in KERNEL_FILES:
        if not Path(subject).is_file():
            raise DseError(f"the file {subject!r} does not exist: name a file, workload or model")
    elif subject.endswith(".toml"):
        workload(subject)
    elif subject not in models() and subject not in workloads():
        hint = nearest_hint(subject, [*models(), *workloads()])
        raise DseError(f"{subject!r} is no kernel (.cu, .cubin, .ptx), workload or model{hint}")


def draft_study(subject: str, machine: str, question: str, out: str) -> str:
    """Return the text of a study file for a model or workload.

    ``question`` is a key of :data:`QUESTIONS`. ``out`` is the file name that comments mention. The
    file has examples of numbers that the model needs and that are not given, and says so.

    Raises:
        DseError: A name is unknown, the machine lacks values, or no model fits the workload.
    """
    check_name(question, QUESTIONS, f"{question!r} is no question")
    check_subject(subject)
    is_model, errors = subject in models(), []
    entry, other = load_machine(machine), None if is_model else subject
    given = {**entry.values, **(workload(subject).values if other else {})}
    for name in [subject] if is_model else MODELS:
        model = load_model(name)
        rows = {need: model.quantity(need) for need in model.needs(*model.outputs)}
        missing = {n: row for n, row in rows.items() if row.default is None and n not in given}
        lacking = [
            n for n, row in missing.items() if row.typical is None or row.lever == "designer"
        ] + [n for n in missing if other and n != "threads_per_block"]
        names = [n for n in QUESTIONS[question][1] if n in rows]
        if question == "shape":
            names = [n for n in missing if n != "threads_per_block"][:1]
        if lacking or not names:
            errors.append(f"{name} needs {', '.join(lacking) or 'none of the inputs that vary'}")
            continue
        is_table = len(names) > 1 or question == "shape"
        about: dict[str, Any] = {
            "axes": {n: _values(rows[n], entry) for n in names},
            "set": {n: _example(row) for n, row in missing.items() if n not in names},
            "best": {**_goal(model, question), **({"per": names} if is_table else {})},
        }
        try:
            study = StudyData(model=name, machine=machine, workload=other, **about)
            optimum(study, **about["best"])  # refuses rules of the model that no point meets
        except DseError as error:
            errors.append(f"{name}: {error}")
        else:
            return "\n".join(_lines(study, missing, QUESTIONS[question][0], out)) + "\n"
    ways = "choose another machine, question or model"
    raise DseError(f"no study of {subject} on {machine}: {ways}\n" + "\n".join(errors))


def _goal(model: Model, question: str) -> dict[str, str]:
    units = {name: model.quantity(name).unit for name in model.outputs}
    if question == "clock" and {"energy", "power"} <= {*model.yields}:
        return {"minimize": "energy"}
    rate = next((name for name, unit in units.items() if unit == "1/s"), None)
    costs = [name for name, unit in units.items() if unit in ("s", "J", "W") or "time" in name]
    return {"minimize": costs[0]} if costs and not rate else {"maximize": rate or next(iter(units))}


def _values(row: Quantity, entry: Entry) -> Any:
    """Return the values of an axis: around the machine's value, or over the typical range."""
    if row.name in _PERCENT:
        name = row.name if row.name in entry.values else "nominal_clock"
        while (value := entry.values[name].value) in entry.values:  # core_clock = "boost_clock"
            name = str(value)
        (base,) = parse_numbers([value], row, row.name)
        return [value_text(base * percent / 100, row.unit) for percent in _PERCENT[row.name]]
    if row.name == "threads_per_block":
        return {"start": 32, "stop": 1024, "step": 32}
    low, high = row.typical or (0, 0)
    if row.domain.whole:
        return [2**k for k in range(math.frexp(high)[1]) if low <= 2**k <= high][-_VALUES:]
    space = np.geomspace if low > 0 else np.linspace
    return [float(f"{value:.4g}") for value in space(low, high, _VALUES)]


def _example(row: Quantity) -> float:
    low, high = row.typical or (0, 0)
    middle = math.sqrt(low * high) if low > 0 else high / 2
    return 2 ** round(math.log2(middle)) if row.domain.whole else float(f"{middle:.2g}")


def _lines(
    study: StudyData, missing: Mapping[str, Quantity], question: str, out: str
) -> Iterator[str]:
    name = printable_line(out)
    yield f"# {question}\n#\n#     dse plan {name}     what a run would do, before any work"
    yield f"#     dse run {name}      the best configuration (--store OUT.zarr keeps all)\n"
    for key in ("model", "machine", "workload"):
        if getattr(study, key):
            yield f"{key} = {toml_value(getattr(study, key))}  # dse {key}s lists them"
    yield '# where = ["time <= 1 s"]  # what every configuration must satisfy'
    notes = {
        "axes": "several values, or { start = 1, stop = 30 }; machine and workload can be axes",
        "set": "one value each; examples in typical ranges: replace them by your numbers",
        "best": 'what dse run and dse optimum look for; per = ["machine"]: for each machine',
    }
    for title, note in notes.items():
        yield f"\n[{title}]  # {note}"
        for key, value in getattr(study, title).items():
            row = missing.get(key)
            unit = f" [{row.unit}]" if row and row.unit else ""
            meaning = f"  # {printable_line(row.meaning)}{unit}" if row else ""
            yield f"{toml_key(key)} = {toml_value(value)}{meaning}"
