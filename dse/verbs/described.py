"""What a study says before any run: its plan, one configuration explained, what would help it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.sources import Askable, each_study
from symbolic.model import Model

if TYPE_CHECKING:
    import xarray as xr

    from dse.advice.words import Advice
    from dse.explaining import Explanation
    from dse.study.plan import Plan


@overload
def advise(
    source: ComparisonData, /, *, goal: str | None = None, levers: str = "all", **point: Any
) -> dict[str, Advice]: ...
@overload
def advise(
    source: StudyData | xr.Dataset | str | Path | Model,
    /,
    *,
    machine: str | None = None,
    workload: str | None = None,
    prefer: str | None = None,
    goal: str | None = None,
    levers: str = "all",
    **point: Any,
) -> Advice: ...
def advise(
    source: Askable | Model,
    /,
    *,
    machine: str | None = None,
    workload: str | None = None,
    prefer: str | None = None,
    goal: str | None = None,
    levers: str = "all",
    **point: Any,
) -> Advice | dict[str, Advice]:
    """What limits a configuration, what would help, and how far until something else limits.

    Only inputs are advised: a quantity that an equation yields is moved through the inputs behind
    it, and a given value cuts its equation. No move leaves the domain of a quantity, or what the
    rules of the model and the limits of the machine allow.

    Parameters
    ----------
    source : Study, Comparison, Dataset, path, str or Model
        A study; or a model, as for :func:`dse.evaluate`. Of a Dataset or store the study that it
        tells is asked, and of models compared each: the answer is a dict by the model then.
    machine, workload, prefer : str, optional
        As for :func:`dse.evaluate`; of a study, the label on its axis.
    goal : str, optional
        What should improve, where a model is advised on for several ends: ``"energy"`` of one that
        yields time and power, say.
    levers : {"all", "programmer", "designer"}
        Whose moves are told: the programmer's, or those of who designs the machine.
    **point
        Of a model, its quantities: numbers, texts with units, formulas, labels of switches. Of a
        study, a value for each axis; axes left out stand at their first value, what is random at
        its most central draw (``draw``).

    Raises
    ------
    DseError
        A model without a guide, several configurations, whatever does not fit.
    InfeasibleError
        A configuration that breaks a rule or a constraint.

    >>> print(advise("transit", threads=1024, intensity=10, lanes_width=32, ms_peak=1,
    ...              mem_latency=600)["ms_peak"])  # doctest: +ELLIPSIS
    raise ms_peak from 1 to 1.67869: then thread; gain 1.67869, ms_throughput x 1.67869   [thread...
    """
    from dse.advice.opening import advice

    def ask(what: str | Model | StudyData) -> Advice:
        entries = {"machine": machine, "workload": workload}
        return advice(what, entries, prefer, point, goal, levers)

    if isinstance(source, Model) or (isinstance(source, str) and not _is_data(source)):
        return ask(source)
    return each_study(source, ask)


def _is_data(path: str) -> bool:
    """Whether a text names a study or data, not a model."""
    return Path(path).suffix.lower() not in ("", ".py") and "+" not in path


@overload
def explain(source: ComparisonData, /, **point: Any) -> dict[str, Explanation]: ...
@overload
def explain(source: StudyData | xr.Dataset | str | Path, /, **point: Any) -> Explanation: ...


def explain(source: Askable, /, **point: Any) -> Explanation | dict[str, Explanation]:
    """Every intermediate at one configuration: value, unit, equation, source.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked; of a Dataset or store the study that it tells. Of models compared the answer
        is a dict by the model.
    **point
        A value for each axis; axes left out stand at their first value, and what is random at its
        most central draw (``draw``).
    """
    from dse.explaining import explained

    return each_study(source, lambda study: explained(study, point))


@overload
def plan(source: ComparisonData, *, expand: bool = False) -> dict[str, Plan]: ...
@overload
def plan(source: StudyData | xr.Dataset | str | Path, *, expand: bool = False) -> Plan: ...
def plan(source: Askable, *, expand: bool = False) -> Plan | dict[str, Plan]:
    """What a run would do, before any work: points, tiles, bytes, what depends on what.

    Warns of a swept clock that costs nothing: see the plan's ``warnings``.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked, as of :func:`explain`.
    expand : bool
        Of a run that stores every output over all axes.
    """
    import warnings

    from dse.study.plan import make_plan

    planned = each_study(source, lambda study: make_plan(study, expand=expand))
    for one in planned.values() if isinstance(planned, dict) else [planned]:
        for text in one.warnings:
            warnings.warn(text, stacklevel=2)
    return planned
