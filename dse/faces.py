"""A study, and models compared, as users hold them: the data, and each verb as a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.page.explore import explore
from dse.study.cards import comparison_card, study_card
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.borders import borders
from dse.verbs.chosen import optimum
from dse.verbs.compared import disagreement
from dse.verbs.described import advise, explain, plan
from dse.verbs.folding import fold
from dse.verbs.fronts import pareto
from dse.verbs.information import information
from dse.verbs.laws import law
from dse.verbs.ranges import ranges
from dse.verbs.running import lazy, run
from dse.verbs.sensitivity import sensitivity
from dse.verbs.statistics import count, histogram, quantiles
from dse.verbs.targets import meets
from dse.verbs.uncertain import chances
from symbolic.reach import Base
from symbolic.visible import Card, Visible

__all__ = ["Comparison", "Study"]


class Study(Visible, StudyData):
    """A design space and a question frame over it.

    Parameters
    ----------
    model : str
        A shipped model, several joined by ``+``, or the path of a file of your own (``.py``). A
        list gives a :class:`dse.faces.Comparison` of several.
    machine, workload : str, optional
        A name of :func:`dse.machines` / :func:`dse.workloads`, or the path of a TOML file.
    axes : mapping
        What varies, outermost first: quantities (lists, ranges, arrays, numbers with units, the
        forms of :func:`sweeps.grid.space.parse_axis`), switches, ``machine``, ``workload``, or a
        zip.
    set : mapping
        Values of quantities: numbers, texts with units, formulas, labels of switches, or
        DataArrays over some of the axes.
    where : str or list of str
        Constraints; points that break one are marked in ``feasible``. Labels are compared in
        quotes, by ``==`` and ``!=``: ``"workload == 'svm' and time <= 1 ms"``.
    outputs : list of str, optional
        The quantities wanted; the model's main outputs where None.
    prefer : str, optional
        Of joined models, the one whose equation is used where two define the same quantity.
    best : mapping, optional
        The question that ``dse run`` answers besides: ``minimize`` or ``maximize``, ``per``,
        ``where`` and ``top``, as for :func:`optimum`. It changes nothing in what is computed.
    random : mapping, optional
        Laws of quantities: texts such as ``"normal: 450 cycles, 5 %"``, what :func:`dse.normal` and
        its like make, a :class:`stochastic.Pmf`, laws of ``scipy.stats``; joint ones; and
        ``correlation``, ``draws``, ``seed`` (:func:`dse.uncertain.draws.read_random`). What follows
        is random along the axis ``draw``, over which formulas take statistics: ``mean(time)``,
        ``quantile(time, 0.95)``, ``chance(power <= 150 W)``. A run tells means and their errors.
    folder : Path, optional
        The folder against which relative paths are read.
    fit : path, Fit, mapping or list, optional
        Fits whose values become inputs, after those of ``set`` and before those of workload and
        machine: ``"runs.fit.json"``, ``{"file": "runs.fit.json", "label": "sgemm"}`` for the values
        of one label, or what :func:`dse.fit`, :func:`dse.calibrate` and :func:`dse.load_fit` give.

    Raises
    ------
    DseError
        Whatever does not fit, naming what was given, what was expected and a way out.

    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> study.run().cs_throughput.values.round(3).tolist()
    [4.197, 8.393, 10.0]
    """

    __slots__ = ()

    def __new__(
        cls,
        *,
        model: str | Sequence[str],
        machine: str | None = None,
        workload: str | None = None,
        axes: Mapping[str, Any] = {},
        set: Mapping[str, Any] = {},  # noqa: A002
        where: str | Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        prefer: str | None = None,
        best: Mapping[str, Any] | None = None,
        random: Mapping[str, Any] = {},
        folder: Base = None,
        fit: Any = None,
    ) -> Any:
        """A study of one model; of a list of models, their comparison."""
        if not isinstance(model, (list, tuple)):
            return object.__new__(cls)
        given: dict[str, Any] = {"machine": machine, "workload": workload, "axes": axes, "set": set}
        given |= {"where": where, "outputs": outputs, "prefer": prefer, "best": best, "fit": fit}
        given |= {"random": random}
        return Comparison.of(cls, model, folder=folder, **given)

    def _card(self) -> Card:
        return study_card(self)

    advise = advise
    borders = borders
    chances = chances
    count = count
    explain = explain
    explore = explore
    fold = fold
    histogram = histogram
    information = information
    law = law
    lazy = lazy
    meets = meets
    optimum = optimum
    pareto = pareto
    plan = plan
    quantiles = quantiles
    ranges = ranges
    run = run
    sensitivity = sensitivity


class Comparison(Visible, ComparisonData):
    """Studies that differ in their model alone; ``each`` holds them by the model.

    >>> given = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    >>> both = Study(model=["transit", "transit + transit_warps"], axes={"threads": [64, 2048]},
    ...              set=given, outputs=["ms_throughput"])
    >>> both.run().ms_throughput.dims
    ('model', 'threads')
    """

    def _card(self) -> Card:
        return comparison_card(self)

    advise = advise
    borders = borders
    chances = chances
    count = count
    disagreement = disagreement
    explain = explain
    fold = fold
    histogram = histogram
    information = information
    lazy = lazy
    meets = meets
    optimum = optimum
    pareto = pareto
    plan = plan
    quantiles = quantiles
    ranges = ranges
    run = run
    sensitivity = sensitivity
