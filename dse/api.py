"""Define the public classes Study and Comparison, which have each verb as a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack, overload

import dse
from dse.call_checks import check_arguments
from dse.study.comparison import ComparisonData
from dse.study.study import StudyData
from dse.verbs.study import lazy
from symbolic.answer import Answer, DisplayMixin, Table, count_text, shorten, value_text
from symbolic.file_access import PathBase

if TYPE_CHECKING:
    from sweeps.grid.axes import Axis


class VerbMethods:
    """Base class that gives a study or a comparison the verbs as methods."""

    __slots__ = ()

    advise = dse.advise
    borders = dse.borders
    chances = dse.chances
    count = dse.count
    disagreement = dse.disagreement
    explain = dse.explain
    explore = dse.explore
    fold = dse.fold
    histogram = dse.histogram
    information = dse.information
    law = dse.law
    lazy = check_arguments(lazy)
    meets = dse.meets
    optimum = dse.optimum
    pareto = dse.pareto
    plan = dse.plan
    quantiles = dse.quantiles
    ranges = dse.ranges
    rule = dse.rule
    run = dse.run
    sensitivity = dse.sensitivity


class _StudyArguments(TypedDict, total=False):
    machine: str | Path | None
    workload: str | Path | None
    axes: Mapping[str, Any]
    set: Mapping[str, Any]
    where: str | Sequence[str]
    outputs: Sequence[str] | None
    prefer: str | None
    best: Mapping[str, Any] | None
    random: Mapping[str, Any]
    folder: PathBase
    fit: Any


class Study(DisplayMixin, VerbMethods, StudyData):
    """Design space of a model, with each verb as a method.

    Parameters:
        model (str): A shipped model, several models joined by ``+``, or the path of your own model
            file (``.py``). A list of models gives a :class:`dse.Comparison`.
        machine, workload (str, optional): A name of :func:`dse.machines` / :func:`dse.workloads`,
            or the path of a TOML file.
        axes (mapping): Inputs that vary, the outermost first: quantities, switches, ``machine``,
            ``workload``, or a zip. The values of a quantity are a list, a range, an array, numbers
            with units, or another form of :func:`sweeps.grid.axes.parse_axis`.
        set (mapping): Values of quantities: numbers, texts with units, formulas, labels of
            switches, or DataArrays over some of the axes.
        where (str or list of str): Constraints; ``feasible`` is False where a constraint is
            violated. Labels are written in quotes and compared by ``==`` and ``!=``: ``"workload ==
            'svm' and time <= 1 ms"``.
        outputs (list of str, optional): Quantities to compute; default: the main outputs of the
            model.
        prefer (str, optional): One of several joined models; its equation is used if two models
            define a quantity.
        best (mapping, optional): Query whose answer ``dse run`` also prints: ``minimize`` or
            ``maximize``, ``per``, ``where`` and ``top``, as for :func:`optimum`. It does not change
            the values of the run.
        random (mapping, optional): Laws of uncertain quantities: texts such as ``"normal: 450
            cycles, 5 %"``, results of :func:`dse.normal` and similar functions, a
            :class:`stochastic.Pmf`, laws of ``scipy.stats``, or joint laws; and ``correlation``,
            ``draws`` and ``seed`` (:func:`dse.uncertain.draws.read_random`). Quantities that depend
            on them vary along the axis ``draw``. Formulas can contain statistics over this axis:
            ``mean(time)``, ``quantile(time, 0.95)``, ``chance(power <= 150 W)``. A run gives means
            and their errors.
        folder (Path, optional): Folder to which paths are relative; default: the working directory.
            ``dataclasses.replace(study, axes=...)`` is a copy with other arguments and this folder.
        fit (path, Fit, mapping or list, optional): Fits whose values become inputs:
            ``"runs.fit.json"``; ``{"file": "runs.fit.json", "label": "sgemm"}`` for the values of
            one label; or the result of :func:`dse.fit`, :func:`dse.calibrate` or
            :func:`dse.load_fit`. Fitted values override those of workload and machine; ``set``
            overrides fitted values.

    Raises:
        DseError: An argument is wrong; the message names the argument, what was expected, and a
            solution.

    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> study.run().cs_throughput.values.round(3).tolist()
    [4.197, 8.393, 10.0]
    """

    __slots__ = ()

    @overload
    def __new__(cls, *, model: str | Path, **more: Unpack[_StudyArguments]) -> Self: ...
    @overload
    def __new__(  # type: ignore[misc]
        cls, *, model: list[str] | tuple[str, ...], **more: Unpack[_StudyArguments]
    ) -> Comparison: ...
    def __new__(cls, *_: Any, model: Any = None, **more: Any) -> Any:
        """Return the study of one model, or the comparison of a list of models."""
        if not isinstance(model, (list, tuple)):
            return object.__new__(cls)
        return Comparison.from_models(cls, model, **more)

    if not TYPE_CHECKING:  # a type checker reads __new__
        __init__ = check_arguments(StudyData.__init__)
        __signature__ = signature(StudyData)

    def _answer(self) -> Answer:
        grid = self.grid()
        axes, quantities = list(grid.axes.values()), grid.model.quantities
        given = {"machine": self.machine, "workload": self.workload}
        outputs = []
        for name in grid.outputs:
            row = quantities.get(name)
            outputs.append([name, row.unit if row else "", row.meaning if row else ""])
        tables = [Table(title="axes", rows=[_axis(a, quantities) for a in axes], is_open=True)]
        for name in ("set", "random", "best"):
            rows = [[n, _short_text(v)] for n, v in (getattr(self, name) or {}).items()]
            tables.append(Table(title=name, rows=rows))
        tables.append(Table(title="where", rows=[[text] for text in self.where]))
        columns = ("quantity", "unit", "meaning")
        tables.append(Table(title="outputs", columns=columns, rows=outputs))
        return Answer(
            kind="Study",
            title=_title(self),
            facts={name: text for name, text in given.items() if text},
            tables=tables,
        )


class Comparison(DisplayMixin, VerbMethods, ComparisonData):
    """Studies that differ only in their model; ``each`` maps model names to studies.

    >>> given = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    >>> both = Study(model=["transit", "transit + transit_warps"], axes={"threads": [64, 2048]},
    ...              set=given, outputs=["ms_throughput"])
    >>> both.run().ms_throughput.dims
    ('model', 'threads')
    """

    def _answer(self) -> Answer:
        rows = [[name, _title(study)] for name, study in self.each.items()]
        return Answer(
            kind="Comparison",
            title=f"{', '.join(self.each)}: {shorten(self.outputs)}",
            tables=[Table(title="models", rows=rows, is_open=True)],
        )


def _title(study: StudyData) -> str:
    grid = study.grid()
    sizes = " x ".join(f"{axis.name} {axis.size}" for axis in grid.axes.values())
    title = f"{study.model}: {count_text(grid.points, 'configuration')}"
    return f"{title} ({sizes})" if sizes else title


def _axis(axis: Axis, quantities: Mapping[str, Any]) -> list[str]:
    row = quantities.get(axis.name)
    values = [value_text(v, row.unit if row else "") for v in (axis.coordinate[[0, -1]]).tolist()]
    if axis.labels:
        return [axis.name, f"{axis.size:,}", shorten(axis.labels)]
    span = values[0] if axis.size == 1 else f"{values[0]} to {values[-1]}"
    return [axis.name, f"{axis.size:,}", span]


def _short_text(value: Any) -> str:
    if hasattr(value, "dims"):
        return f"array over {', '.join(map(str, value.dims))}"
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
