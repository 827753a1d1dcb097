"""Predict the time of a kernel or workload on machines, and give one answer for each variant.

A kernel is compiled and counted for each machine (``dse.cuda``), a model predicts its time
(:mod:`dse.analysis.prediction`), and measured errors of that model give an interval of the time
(:mod:`dse.uncertain.model_errors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from dse.analysis.report import Analysis, AnswerOfVariant
from dse.analysis.subject import MAX_ADVISED, KernelSubject, Subject, WorkloadSubject
from dse.catalog.entries import load_entries
from dse.catalog.entries import machine as load_machine
from dse.cuda import as_shapes, as_sizes
from dse.progress import ProgressOption, show_progress
from symbolic.errors import DseError

__all__ = ["KERNEL_FILES", "Analysis", "analyze"]

#: Endings of files that hold a kernel; any other source is a workload.
KERNEL_FILES = (".cu", ".cuh", ".cubin", ".ptx")


def analyze(
    source: str | PathLike[str],
    machine: str | Sequence[str],
    *,
    block: Any = (),
    grid: Any = (),
    set: Mapping[str, Any] | None = None,  # noqa: A002
    define: Mapping[str, object] | None = None,
    axes: Mapping[str, Any] | None = None,
    times: Mapping[str, float] | None = None,
    entry: str = "",
    options: Sequence[str] = (),
    dynamic_shared: int | str | None = None,
    array_bytes: Mapping[str, int | str] | None = None,
    profile: str | PathLike[str] | None = None,
    row: int | None = None,
    interval: float = 0.9,
    moves: bool = True,
    progress: ProgressOption = False,
) -> Analysis:
    """Predict the time of a kernel, and explain it: what limits it, and what would help.

    Parameters:
        source (path or str): CUDA source (``.cu``), a cubin or PTX; or a workload, by name or path
            (``.toml``). A comment ``// dse: --set n=1048576 --grid ceil(n/block_x)`` in the source
            gives its usual launch; arguments of this function take precedence.
        machine (str or sequence of str): Machines of the catalogue, or paths of their files.
        block (tuple, or list of tuples): Sizes in x, y and z, as numbers or formulas in macros and
            arguments; several blocks are variants. Default: the best of the shapes for which the
            kernel can be counted.
        grid (tuple): Sizes in x, y and z, as numbers or formulas in arguments, macros, ``block_x``,
            ``block_y`` and ``block_z``.
        set (mapping): Arguments of the kernel, and quantities of the model, such as
            ``core_clock="1.3 GHz"``.
        define (mapping): Macros; with a list of values each combination is a variant.
        axes (mapping): Arguments or quantities with several values; each combination is a variant.
        times, entry, options, dynamic_shared, array_bytes: As for :func:`dse.kernel`.
        profile, row: A profile whose counters are compared with the counts of the best variant, and
            the row of one launch.
        interval (float): Level of the intervals.
        moves (bool): Compute what would help, which takes longer than all else.
        progress (bool): Show the elapsed time after one second.

    Returns:
        Analysis: One answer per machine and variant, fastest first.

    Raises:
        DseError: Values are missing that the kernel and the machine do not determine (the message
            names all), or no variant can be predicted.

    >>> result = analyze("examples/kernels/triad.toml", "h100_pcie", block=256)
    >>> result.best.bottleneck, 90e-6 < result.best.time < 150e-6
    ('dram', True)
    """
    machines = [machine] if isinstance(machine, str) else list(machine)
    if not machines:
        raise DseError("machine names none: expected one or more, such as h100_sxm")
    if not 0 < interval < 1:
        raise DseError(f"interval = {interval}: expected a share between 0 and 1")
    load_entries(load_machine, machines)
    path = fspath(source)
    given: dict[str, Any] = {
        "blocks": as_shapes(block),
        "grid": as_sizes(grid, "grid"),
        "set": dict(set or {}),
        "define": dict(define or {}),
        "axes": dict(axes or {}),
        "times": dict(times or {}),
        "entry": entry,
        "options": tuple(options),
        "dynamic_shared": dynamic_shared,
        "array_bytes": dict(array_bytes or {}),
    }
    subject: Subject
    if Path(path).suffix.lower() in KERNEL_FILES:
        subject = KernelSubject(Path(path), **given)
    else:
        subject = WorkloadSubject(path, **given)
    subject.check_quantities()
    subject.advised = MAX_ADVISED if moves else 0
    with show_progress(progress, "analyzing"):
        answers: list[AnswerOfVariant] = []
        errors: list[DseError] = []
        for name in dict.fromkeys(machines):  # if one machine fails, the others are still answered
            try:
                answers += subject.answers(name, interval)
            except DseError as error:
                errors.append(error)
                answers.append(AnswerOfVariant(machine=name, status=str(error)))
        if len(errors) == len(dict.fromkeys(machines)):
            raise errors[0]
        counters: Sequence[Mapping[str, Any]] = ()
        if profile is not None:
            counters = subject.compare(Path(fspath(profile)), row, load_machine(machines[0]))
    return Analysis(
        subject=subject.title,
        answers=tuple(answers),
        counters=tuple(counters),
        write_study=partial(subject.write_study, answers, machines),
    )
