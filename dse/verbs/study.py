"""Define the verbs that need the study itself: advise, explain, plan, run, lazy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dse.arguments import axis_indices
from dse.display import warn_failures
from dse.inputs.merge import entry_name
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
    machine: str | Path | None = None,
    workload: str | Path | None = None,
    prefer: str | None = None,
    goal: str | None = None,
    levers: str = "all",
    **point: Any,
) -> Advice: ...
def advise(
    source: SourceLike | Model,
    /,
    *,
    machine: str | Path | None = None,
    workload: str | Path | None = None,
    prefer: str | None = None,
    goal: str | None = None,
    levers: str = "all",
    **point: Any,
) -> Advice | dict[str, Advice]:
    """Find the bottleneck of a configuration, and the changes of inputs that would help.

    Each change, a move, ends where another limit takes over. Only inputs are changed; a computed
    quantity changes with its inputs, unless you give its value. Moves respect the domains of
    quantities, the rules of the model and the limits of the machine.

    Parameters:
        source (Study, Comparison, Dataset, path, str or Model): A study, the Dataset or store of a
            study, or a model as in :func:`dse.evaluate`. For a comparison, the result is a dict by
            model.
        machine, workload, prefer (str, optional): As in :func:`dse.evaluate`; for a study,
            ``machine`` and ``workload`` are labels on axes.
        goal (str, optional): Quantity to improve, such as ``"energy"``, if the model has advice for
            several quantities.
        levers ({"all", "programmer", "designer"}): Return all moves, or only moves of inputs that
            the programmer, or that the designer of the machine, can change.
        **point: For a model, its quantities: numbers, texts with units, formulas, labels of
            switches. For a study, a value for each axis; by default, the first value of each axis,
            and the most central draw (``draw``) of random inputs.

    Raises:
        DseError: The model has no guide, or the arguments do not describe a single configuration.
        InfeasibleError: The configuration breaks a rule or a constraint.

    >>> print(advise("transit", threads=1024, intensity=10, lanes_width=32, ms_peak=1,
    ...              mem_latency=600)["ms_peak"])  # doctest: +ELLIPSIS
    raise ms_peak from 1 to 1.67869: then thread; gain 1.67869, ms_throughput x 1.67869   [thread...
    """
    from dse.advice.advise import build_advice

    entries = {k: entry_name(k, v) for k, v in (("machine", machine), ("workload", workload))}

    def compute(subject: str | Model | StudyData) -> Advice:
        return build_advice(subject, entries, prefer, point, goal, levers)

    if isinstance(source, Model) or (isinstance(source, str) and is_model(source)):
        return compute(source)
    return map_studies(source, compute)


@overload
def explain(source: ComparisonData, /, **point: Any) -> dict[str, Explanation]: ...
@overload
def explain(
    source: StudyData | xr.Dataset | str | Path | Model,
    /,
    *,
    machine: str | Path | None = None,
    workload: str | Path | None = None,
    prefer: str | None = None,
    **point: Any,
) -> Explanation: ...
def explain(
    source: SourceLike | Model,
    /,
    *,
    machine: str | Path | None = None,
    workload: str | Path | None = None,
    prefer: str | None = None,
    **point: Any,
) -> Explanation | dict[str, Explanation]:
    """Return every intermediate quantity at one configuration: value, unit, equation, source.

    Parameters:
        source (Study, Comparison, Dataset, path, str or Model): A study, the Dataset or store of a
            study, or a model as in :func:`dse.evaluate`. For a comparison, return a dict by model.
        machine, workload, prefer (str, optional): As in :func:`dse.evaluate`; for a study, the
            label on its axis.
        **point: As for :func:`advise`: quantities of a model, or a value for each axis of a study.

    >>> explain("occupancy", machine="gtx280", threads_per_block=256, registers_per_thread=16,
    ...         shared_mem_per_block=0)["limiter"].value
    '1 (registers)'
    """
    entries = {k: entry_name(k, v) for k, v in (("machine", machine), ("workload", workload))}
    if is_model(source):
        name = source.name if isinstance(source, Model) else str(source)
        given: dict[str, Any] = {"set": point, **entries}
        study = StudyData(model=name, prefer=prefer, **given)
        return explain_point(study, {})
    if prefer is not None:
        raise DseError("prefer is part of a study: give it to dse.Study")
    labels = {kind: label for kind, label in entries.items() if label is not None}
    assert not isinstance(source, Model)
    return map_studies(source, lambda study: explain_point(study, {**point, **labels}))


def is_model(source: object) -> bool:
    """True if a source is a Model, a model file, or a name or several names joined by +."""
    if not isinstance(source, str):
        return isinstance(source, Model)
    return "+" in source or Path(source).suffix.lower() in ("", ".py")


@overload
def plan(source: ComparisonData, *, expand: bool = False) -> dict[str, Plan]: ...
@overload
def plan(source: StudyData | xr.Dataset | str | Path, *, expand: bool = False) -> Plan: ...
def plan(source: SourceLike, *, expand: bool = False) -> Plan | dict[str, Plan]:
    """Describe a run before it is started: points, tiles, bytes, and the axes of each output.

    The plan's ``warnings`` name unusual numbers, and a swept clock that neither latency nor power
    depends on.

    Parameters:
        source (Study, Comparison, Dataset or path): Study to plan; see :func:`explain`.
        expand (bool): Plan a run that stores every output over all axes.
    """
    import warnings

    from dse.study.plan import make_plan

    plans = map_studies(source, lambda study: make_plan(study, expand=expand))
    for each in plans.values() if isinstance(plans, dict) else [plans]:
        for text in each.warnings:
            warnings.warn(text, stacklevel=3)
    return plans


#: Up to this number of steps, a notebook shows the whole table.
_OPEN_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One quantity at a configuration: its value, and the equation or source of the value."""

    name: str
    value: float | str
    unit: str
    meaning: str
    how: str
    source: str

    @property
    def text(self) -> str:
        """The value with ten digits and its unit, as text."""
        value = self.value if isinstance(self.value, str) else f"{self.value:.10g}"
        return f"{value} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Report):
    """The quantities at a configuration in order of computation, and whether conditions hold.

    ``assumed`` lists inputs that nobody published; ``impossible`` lists limits that are exceeded.
    """

    point: Mapping[str, Any]
    steps: tuple[Step, ...]
    conditions: Mapping[str, bool]
    assumed: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        hint = nearest_hint(name, [step.name for step in self.steps])
        raise UnknownNameError(f"{name!r} is no step of this explanation{hint}")

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
                Table(title="impossible", rows=[[text] for text in self.impossible], is_open=True),
                Table(title="assumed, as nobody published it", rows=[[t] for t in self.assumed]),
            ],
        )


def explain_point(study: StudyData, point: Mapping[str, Any]) -> Explanation:
    """Return the explanation of one configuration; see :func:`dse.explain`."""
    from dse.inputs.assumed import used_inputs
    from dse.study.possible import impossible_points

    grid, parts = study.grid(draws=True), study._parts
    indices = {name: axis.default_index for name, axis in grid.axes.items()}
    indices |= axis_indices(grid, point, prefix="")
    at = {name: grid.axes[name].coordinate[index].item() for name, index in indices.items()}
    key = tuple(grid.axes[axis].labels[indices[axis]] for axis in grid.switch_axes)
    graph = grid.graphs[key]
    shown_steps = {n: d for n, d in graph.definitions.items() if not isinstance(n, StatisticName)}
    values = grid.evaluate_point(indices, list(shown_steps))
    steps = []
    for name, definition in shown_steps.items():
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
    statistics = statistics_of(condition.node for condition in graph.conditions)
    values |= grid.evaluate_point(indices, statistics)
    conditions = {c.text: bool(interpret_arrays((c.node,), values)[0]) for c in graph.conditions}
    labels = {"machine": study.machine, "workload": study.workload, **at}
    assumed = [
        each.text
        for each in used_inputs(grid, parts.assumed)
        if labels.get(each.kind, each.entry) == each.entry
    ]
    beyond = impossible_points(grid, parts, {n: np.array([k]) for n, k in indices.items()})
    return Explanation(
        point=at,
        steps=tuple(steps),
        conditions=conditions,
        assumed=tuple(assumed),
        impossible=tuple(each.text for each in beyond),
    )


def _origin(origins: str | Mapping[str, str] | None, labels: Iterable[Any]) -> str:
    """Return the source of a value for the machine and workload with these labels."""
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

    Parameters:
        source (Study, Comparison or path): Study to run. For a comparison, the outputs that all
            models have lie along the dimension ``model``, and the result stays in memory. If the
            values of a case or bound have different meanings in the models, the attributes
            ``flag_values_by_model`` and ``flag_meanings_by_model`` give the meanings.
        store (path or URL, optional): The zarr store to write: a folder, or a URL of fsspec
            (``s3://``, ``memory://``). Tiles that the store already has are kept and only missing
            tiles are computed, so the same call continues an interrupted run. The memory in use
            does not grow with the grid.
        expand (bool): Store every output over all axes.
        progress (bool or callable): True shows progress on standard error after one second; a
            callable gets a :class:`sweeps.runtime.progress.Progress` after each tile.
        fresh (bool): With ``store``: rename an existing store and compute everything.
        client (distributed.Client or str, optional): With ``store``: a dask.distributed cluster, or
            the address of its scheduler. Its workers compute and write the tiles; default: threads
            of this process do.
        workers (int, optional): With ``store``: number of local processes that compute the tiles;
            they end with the run. Call ``run`` under ``if __name__ == "__main__":``, like any code
            that starts processes.
        extend (bool): With ``store``: if it is the finished store of this study with fewer axis
            values or fewer outputs, keep its contents and compute only new values.
        compression (str, optional): With ``store``: ``"lz4"`` (default) or ``"none"`` for a new
            store. The compression of an existing store does not change.

    Returns:
        xarray.Dataset: Each axis is a dimension coordinate. Cases are small integers; attributes
        give their meanings. ``feasible`` is present if there is a rule or constraint. A store is
        read lazily.
    """
    from dse.runs.run import run_study

    options: dict[str, Any] = {"expand": expand, "progress": progress}
    store_options: dict[str, Any] = {"store": store, "fresh": fresh, "client": client}
    store_options |= {"workers": workers, "extend": extend, "compression": compression}
    study = load_if_study_file(source)
    if isinstance(study, ComparisonData):
        if wrong := [name for name, value in store_options.items() if value]:
            raise DseError(
                f"{', '.join(wrong)}: a run of several models stays in memory; write its Dataset "
                "with dse.export, or run each model into a store of its own"
            )
        runs = {model: run(each, **options) for model, each in study.each.items()}
        return join_runs(runs, study.outputs)
    if not isinstance(study, StudyData):
        raise DseError(f"{study!r} cannot be run: give a Study, or a study file (.toml)")
    result = run_study(study, **options, **store_options)
    if result.failures:
        warn_failures(result.failures)
    return result.open_dataset()


def lazy(source: Any, chunks: Any = None, *, expand: bool = False) -> xr.Dataset:
    """Return the Dataset of a study with Dask arrays; each block is computed when it is read.

    All operations of xarray work, such as ``.sel(...).compute()`` and ``.to_zarr(...)``, also with
    a ``distributed.Client``. The values are those of :func:`dse.run`.

    Parameters:
        source (Study, Comparison or path): Study to compute.
        chunks (int, "auto" or mapping, optional): Block sizes for all axes or by axis, as in
            :meth:`xarray.Dataset.chunk`. An axis that a mapping does not name is not divided.
            Default: the sizes of the tiles of a store.
        expand (bool): See :func:`run`.

    Raises:
        DseError: The block sizes do not fit the axes.
    """
    from dse.runs.identity import dataset_attributes
    from sweeps.files.lazy_outputs import lazy_dataset

    study = load_if_study_file(source)
    if isinstance(study, ComparisonData):
        runs = {model: lazy(each, chunks, expand=expand) for model, each in study.each.items()}
        return join_runs(runs, study.outputs)
    study.check_outputs()
    attributes = dataset_attributes(study, expand=expand)
    return lazy_dataset(study.grid(), attributes, chunks=chunks, expand=expand)
