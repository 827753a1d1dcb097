"""What a study says before any run, and its run: advice, one configuration explained, plan, run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dse.arguments import axis_indices
from dse.display import warn_failures
from dse.progress import ProgressOption
from dse.study.comparison import ComparisonData, join_runs
from dse.study.study import StudyData
from dse.verbs.sources import SourceLike, load_if_study_file, map_studies
from symbolic.answer import Answer, Report, Table, value_text
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.model import Model
from symbolic.ops import interpret_arrays
from symbolic.quantities import indexed_quantity
from symbolic.statistics import StatisticName, statistics_of

if TYPE_CHECKING:
    import xarray as xr

    from dse.advice.report import Advice
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
    source: SourceLike | Model,
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
    from dse.advice.advise import build_advice

    def compute(what: str | Model | StudyData) -> Advice:
        entries = {"machine": machine, "workload": workload}
        return build_advice(what, entries, prefer, point, goal, levers)

    if isinstance(source, Model):
        return compute(source)
    if isinstance(source, str) and ("+" in source or Path(source).suffix.lower() in ("", ".py")):
        return compute(source)
    return map_studies(source, compute)


@overload
def explain(source: ComparisonData, /, **point: Any) -> dict[str, Explanation]: ...
@overload
def explain(source: StudyData | xr.Dataset | str | Path, /, **point: Any) -> Explanation: ...


def explain(source: SourceLike, /, **point: Any) -> Explanation | dict[str, Explanation]:
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

    return map_studies(source, lambda study: explain_point(study, point))


@overload
def plan(source: ComparisonData, *, expand: bool = False) -> dict[str, Plan]: ...
@overload
def plan(source: StudyData | xr.Dataset | str | Path, *, expand: bool = False) -> Plan: ...
def plan(source: SourceLike, *, expand: bool = False) -> Plan | dict[str, Plan]:
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

    planned = map_studies(source, lambda study: make_plan(study, expand=expand))
    for one in planned.values() if isinstance(planned, dict) else [planned]:
        for text in one.warnings:
            warnings.warn(text, stacklevel=2)
    return planned


# --- One configuration, every intermediate: value, unit, equation, source
#: So many steps are shown unfolded.
_OPEN_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One quantity at the configuration: where its value comes from."""

    name: str
    value: float | str
    unit: str
    meaning: str
    how: str
    source: str

    @property
    def text(self) -> str:
        """The value with its unit, to ten digits."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.10g}"
        return f"{value} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Report):
    """The steps in order of computation, and the conditions with whether they hold."""

    point: Mapping[str, Any]
    steps: tuple[Step, ...]
    conditions: Mapping[str, bool]

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        known = [step.name for step in self.steps]
        raise UnknownNameError(
            f"{name!r} is no step of this explanation{nearest_hint(name, known)}"
        )

    def _answer(self) -> Answer:
        units = {step.name: step.unit for step in self.steps}
        at = [f"{n} = {value_text(v, units.get(n, ''))}" for n, v in self.point.items()]
        holds = [[text, "holds" if ok else "BROKEN"] for text, ok in self.conditions.items()]
        steps = [
            [step.name, step.text, f"{step.meaning} [{step.how}; {step.source}]".strip()]
            for step in self.steps
        ]
        return Answer(
            kind="Explanation",
            title=f"at {', '.join(at) or 'one point'}",
            tables=[
                Table(
                    title=f"{len(steps):,} quantities, in the order of computation",
                    columns=("quantity", "value", "meaning [from; source]"),
                    rows=steps,
                    is_open=len(steps) <= _OPEN_STEPS,
                ),
                Table(title="conditions", rows=holds, is_open=not all(self.conditions.values())),
            ],
        )


def explain_point(study: StudyData, point: Mapping[str, Any]) -> Explanation:
    """See :func:`dse.explain`; what is random stands at its most central draw."""
    grid, parts = study.grid(draws=True), study._parts
    said = axis_indices(grid, point, prefix="")
    places = {name: said.get(name, axis.default_index) for name, axis in grid.axes.items()}
    at = {name: grid.axes[name].coordinate[place].item() for name, place in places.items()}
    key = tuple(grid.axes[axis].labels[places[axis]] for axis in grid.switch_axes)
    graph = grid.graphs[key]
    own = {n: d for n, d in graph.definitions.items() if not isinstance(n, StatisticName)}
    values = grid.evaluate_point(places, list(own))
    steps = []
    for name, definition in own.items():
        value = values[name]
        shown: float | str = value.item() if hasattr(value, "item") else value
        if name != indexed_quantity(name):
            name, shown = grid.decode_value(name, value)
        row = grid.model.quantity(name)
        flags = grid.flag_meanings(name)
        if flags:
            shown = f"{int(float(shown))} ({flags.get(int(float(shown)), '?')})"
        eq = definition.equation
        source = eq.source if eq is not None else _origin(parts.origins.get(name), at.values())
        steps.append(
            Step(
                name=name,
                value=shown,
                unit=row.unit,
                meaning=row.meaning,
                how=f"equation of {', '.join(definition.needs)}" if eq else definition.kind,
                source=source + (f", with {eq.switch_text}" if eq is not None and eq.when else ""),
            )
        )
    asked = statistics_of(condition.node for condition in graph.conditions)
    values |= grid.evaluate_point(places, asked)
    conditions = {}
    for condition in graph.conditions:
        conditions[condition.text] = bool(interpret_arrays((condition.node,), values)[0])
    return Explanation(point=at, steps=tuple(steps), conditions=conditions)


def _origin(origins: str | Mapping[str, str] | None, labels: Iterable[Any]) -> str:
    """Where a value is from; of what an axis supplies, at the label that stands here."""
    if isinstance(origins, Mapping):
        return next((origins[label] for label in labels if label in origins), "the model's own")
    return origins or "default of the quantity"


def run(
    source: SourceLike,
    *,
    store: str | Path | None = None,
    expand: bool = False,
    progress: ProgressOption = False,
    fresh: bool = False,
    client: Any = None,
    workers: int | None = None,
    extend: bool = False,
    compression: str | None = None,
) -> xr.Dataset:
    """Compute every output over the axes on which it depends.

    Parameters
    ----------
    source : Study, Comparison or path
        What is run. The outputs that all models compared yield lie along the dimension ``model``;
        such a run is kept in memory. Where the models mean different things by the values of a
        case or bound, the meanings stand in the attributes ``flag_values_by_model`` and
        ``flag_meanings_by_model``.
    store : path or URL, optional
        The zarr store to write: a folder, or what fsspec reaches (``s3://``, ``memory://``).
        What it holds of this study is kept and what is missing computed, tile by tile, so that
        the same call continues a run that was stopped. Memory does not grow with the grid.
    expand : bool
        Store every output over all axes.
    progress : bool or callable
        True shows progress on standard error once a run takes longer than a second; a callable
        is given a :class:`sweeps.runtime.progress.Progress` after each tile.
    fresh : bool
        With ``store``: keep an existing store aside and compute anew.
    client : distributed.Client or str, optional
        With ``store``: a cluster of dask.distributed, or the address of its scheduler, whose
        workers compute the tiles and write them; by default threads of this process do.
    workers : int, optional
        With ``store``: so many processes of this machine instead, which end with the run. Call
        it under ``if __name__ == "__main__":``, as with any module that starts processes.
    extend : bool
        With ``store``: where it is the finished store of this study with fewer values along its
        axes, or fewer outputs, take over what it holds and compute only what is new.
    compression : str, optional
        With ``store``: ``"lz4"``, that of a new store, or ``"none"``; where one is, it stays.

    Returns
    -------
    xarray.Dataset
        Each axis a dimension coordinate; cases as small integers with their meanings;
        ``feasible`` where a rule or constraint applies. That of a store is read when needed.
    """
    from dse.runs.run import run_study

    whole: dict[str, Any] = {"expand": expand, "progress": progress}
    of_store: dict[str, Any] = {"store": store, "fresh": fresh, "client": client}
    of_store |= {"workers": workers, "extend": extend, "compression": compression}
    of = load_if_study_file(source)
    if isinstance(of, ComparisonData):
        if wrong := [name for name, value in of_store.items() if value]:
            raise DseError(
                f"{', '.join(wrong)}: the run of several models is kept in memory; dse.export "
                "writes its Dataset, or run each model into a store of its own"
            )
        runs = {model: run(study, **whole) for model, study in of.each.items()}
        return join_runs(runs, of.outputs)
    if not isinstance(of, StudyData):
        raise DseError(f"{of!r} cannot be run: give a Study, or the path of a study file (.toml)")
    done = run_study(of, **whole, **of_store)
    if done.failures:
        warn_failures(done.failures)
    opened: xr.Dataset = done.open_dataset()
    return opened


def lazy(source: Any, chunks: Any = None, *, expand: bool = False) -> xr.Dataset:
    """Return the Dataset of a study with lazy Dask arrays, whose blocks are computed when read.

    Whatever xarray does with such arrays works: ``.sel(...).compute()``, ``.to_zarr(...)``, a
    ``distributed.Client``. The values are those of :func:`dse.run`.

    Parameters
    ----------
    source : Study, Comparison or path
        What is computed.
    chunks : int, "auto" or mapping, optional
        Sizes of the blocks, for all axes or by axis, as :meth:`xarray.Dataset.chunk` takes them; an
        axis that a mapping does not name is not cut. By default those of a store.
    expand : bool
        Put every output over all axes.

    Raises
    ------
    DseError
        Sizes of blocks that do not fit the axes.
    """
    from dse.runs.identity import dataset_attributes
    from sweeps.files.lazy_outputs import lazy_dataset

    of = load_if_study_file(source)
    if isinstance(of, ComparisonData):
        runs = {model: lazy(study, chunks, expand=expand) for model, study in of.each.items()}
        return join_runs(runs, of.outputs)
    attributes = dataset_attributes(of, expand=expand)
    return lazy_dataset(of.grid(), attributes, chunks=chunks, expand=expand)
