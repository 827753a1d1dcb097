"""Define the verbs on random inputs: chances to be the best, value of information, law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.arguments import require_mapping
from dse.progress import ProgressOption, show_progress
from dse.study.comparison import ComparisonData, join_answers
from dse.study.random import replace_draws, require_random_inputs
from dse.study.study import StudyData
from dse.verbs.query import add_identity, resolve_source, verb
from dse.verbs.sources import (
    SourceLike,
    joined_answer,
    load_if_study_file,
    map_studies,
    source_kind,
)
from sweeps.query.support_table import check_supported
from sweeps.runtime.interrupts import return_best_on_interrupt
from symbolic.errors import DseError, check_name
from symbolic.expression import formula_unit
from symbolic.statistics import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr

    from dse.uncertain.draws import RandomInputs
    from dse.uncertain.output_law import OutputLaw
    from sweeps.grid.goals import Goal
    from sweeps.grid.grid import Grid
    from sweeps.query.uncertainty import SourceOverDraws


@verb
@return_best_on_interrupt
def chances(
    source: SourceLike,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int | None = None,
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Compute the probability that each configuration is the best, and its expected regret.

    In each draw one configuration is the best; ties share the draw equally. The draws of the study
    select the candidates; independent draws evaluate them, to avoid selection bias. If all laws are
    enumerated, the result is exact. Axes along which the objective does not change are left out.

    Parameters:
        source (Study, Comparison, Dataset or path): A study with random inputs; or values along
            ``draw``, whose errors come from 16 batches; or measurements along ``run``, as from
            ``dse.open(..., runs=True)``. For these, it is the probability of being the best on
            average (:func:`dse.importers.runs.chances_of_runs`).
        minimize, maximize (str): A quantity or formula that has a value in each draw.
        where (str or list of str): Constraints besides those of the study; a configuration competes
            in the draws in which it meets them.
        per (str or list of str, optional): Axes; the configurations compete separately for each of
            their values.
        top (int, optional): Number of configurations to return, the likeliest first; default: all
            that can be the best.
        progress (bool): Show progress on standard error after one second.

    Returns:
        xarray.Dataset: Along ``rank``, the likeliest first: ``chance``, and ``regret``, the
        expected difference to the best objective of each draw (infinite if the configuration may be
        infeasible). ``left`` is the probability that none of these configurations is the best,
        ``none`` the probability that no configuration is feasible. ``chance_error``,
        ``regret_error`` and ``left_error`` are half-widths of 95 % intervals. The attribute
        ``configurations`` is the number of configurations that can be the best.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> table = study.chances(maximize="cs_throughput - threads / 128")
    >>> table.threads.values.tolist(), table.chance.values.tolist()
    ([1024, 512, 256], [0.5, 0.25, 0.25])
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.uncertainty import SourceOverDraws, draw_dimension
    from sweeps.query.uncertainty import chances as chances_of
    from sweeps.scan.values import DatasetTable
    from sweeps.sources.table import TableScan

    goals = read_goals(minimize, maximize)
    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    modifiers = {"per": bool(axes), "objectives": len(goals) > 1}

    def compute(data: StudyData | xr.Dataset) -> xr.Dataset:
        if not isinstance(data, StudyData) and RUN in data.dims and DRAW not in data.dims:
            from dse.importers.runs import chances_of_runs

            check_supported("chances", "rows", {"per": bool(axes)})
            goal_options: dict[str, Any] = {"minimize": minimize, "maximize": maximize}
            return add_identity(chances_of_runs(data, **goal_options, where=texts, top=top), data)
        (goal,) = goals
        if not isinstance(data, StudyData) and DRAW not in data.dims and "study" in data.attrs:
            from dse.runs.identity import study_of

            data = study_of(data)
        if isinstance(data, StudyData):
            draws = _draws(data, goal, texts)
        else:
            table = DatasetTable(data, texts)
            axis = draw_dimension(table.axes)
            draws = SourceOverDraws(source=TableScan(table=table), draw_axis=axis)
        return add_identity(chances_of(draws, goal, per=axes, top=top), data)

    with show_progress(progress, "evaluating every draw"):
        loaded = load_if_study_file(source)
        if isinstance(loaded, ComparisonData):
            for study in loaded.each.values():
                check_supported("chances", source_kind(study), modifiers)
            return join_answers({model: compute(study) for model, study in loaded.each.items()})
        data = resolve_source(loaded)
        check_supported("chances", source_kind(data), modifiers)
        return compute(data)


@verb
def information(
    source: SourceLike,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    sets: Sequence[Sequence[str]] = (),
    progress: ProgressOption = False,
) -> xr.Dataset:
    """Compute the expected gain from learning random inputs before choosing a configuration.

    Without knowledge, one chooses the configuration that is the best on average. If one knows some
    inputs, one chooses, for each of their values, the configuration that is the best on average.
    The expected difference is the EVPI for all inputs and the EVPPI for some inputs (Raiffa and
    Schlaifer 1961). It is exact if all laws are enumerated. Otherwise it is estimated from 16
    replicates of nested Sobol points; only configurations that are the best on average in some cell
    of the draws are considered.

    Parameters:
        source (Study, Comparison, Dataset or path): A study with random inputs, or a Dataset or
            store of such a study.
        minimize, maximize (str): A quantity or formula whose mean is the objective.
        where (str or list of str): Constraints besides those of the study; a configuration must
            meet them in all draws.
        sets (list of lists of str): Sets of inputs to learn together: random quantities, or keys of
            joint laws. Each input is also considered alone.
        progress (bool): Show progress on standard error after one second.

    Returns:
        xarray.Dataset: ``evpi`` and, along ``set``, ``evppi``, in the unit of the objective.
        ``evpi_error`` and ``evppi_error`` are half-widths of 95 % intervals. ``evppi`` never
        decreases if inputs are added to a set. ``changes`` is the probability that another
        configuration is chosen, and ``then_<axis>`` the value that is then chosen most often. The
        coordinates give the choice without knowledge. The attribute ``next`` names the input with
        the largest gain, or ``none`` if no gain exceeds its error.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> table = study.information(maximize="cs_throughput - threads / 128")
    >>> round(table.evpi.item(), 3), table.threads.item(), table.attrs["next"]
    (0.18, 512, 'mem_latency')
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.uncertainty import information as information_of

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    goal = goals[0]

    def compute(study: StudyData) -> xr.Dataset:
        random_inputs = require_random_inputs(study)
        named = _sets(random_inputs, sets)
        inner = 1 << ((random_inputs.draws.bit_length() + 1) // 2)
        outer = 4 * random_inputs.draws // inner

        def nested_grid(name: str) -> tuple[Grid, int, int]:
            axis = random_inputs.nested_axis(named[name], outer, inner)
            return replace_draws(study, axis)._query_grid([goal], texts, per=[DRAW]), outer, inner

        of = random_inputs.inputs
        inputs = {name: [q for key in keys for q in of[key]] for name, keys in named.items()}
        answer = information_of(_draws(study, goal, texts), goal, inputs, nested_grid)
        return add_identity(answer, study)

    with show_progress(progress, "evaluating every draw"):
        return joined_answer("information", source, compute, objectives=len(goals) > 1)


def _sets(random_inputs: RandomInputs, sets: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the sets of inputs to learn, by name: each input alone, and the sets in ``sets``."""
    inputs = random_inputs.inputs
    if isinstance(sets, str):
        raise DseError(f"sets = {sets!r}: expected lists of inputs, such as [['a', 'b']]")
    result: dict[str, tuple[str, ...]] = {name: (name,) for name in inputs}
    for entry in sets:
        names = (entry,) if isinstance(entry, str) else tuple(entry)
        for name in names:
            check_name(name, inputs, f"sets names {name!r}, which is no random input", "these are")
        if not names:
            raise DseError("sets contains an empty set: name inputs to learn together")
        result[", ".join(names)] = tuple(dict.fromkeys(names))
    return result


@verb
def law(source: SourceLike, quantity: str, at: Mapping[str, Any] | None = None) -> OutputLaw:
    """Return the probability distribution of an output at one configuration.

    The distribution is exact if all laws are enumerated, or if the output depends on a single
    random input and is proven monotone in it. Otherwise it is estimated from draws, with errors.

    Parameters:
        source (Study, Dataset or path): A study of one model with random inputs, or a Dataset or
            store of such a study.
        quantity (str): A quantity or formula that has a value in each draw.
        at (mapping, optional): A value for each axis along which the quantity varies.

    Returns:
        dse.uncertain.output_law.OutputLaw: It has ``quantile(q)``, ``cdf(x)``, ``mean`` and
        ``std``. ``error("quantile", q)`` etc. are half-widths of 95 % intervals; ``way`` names the
        method; ``plot()`` draws the distribution.

    Raises:
        DseError: An axis is unknown or needs a value, no input is random, or no draw is feasible.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "normal: 600 cycles, 10 %"})
    >>> study.law("cs_throughput", at={"threads": 256})
    cs_throughput at threads = 256: 4.19672, 90 % within 3.61229 and 5.00676 (monotone)
    """
    from dse.uncertain.output_law import output_law
    from sweeps.grid.goals import Goal, texts_of

    loaded = load_if_study_file(source)
    if isinstance(loaded, ComparisonData):
        raise DseError(f"law takes one model: call it for each of {', '.join(loaded.each)}")
    texts = texts_of(quantity, "quantity")
    if len(texts) != 1:
        raise DseError(f"quantity = {quantity!r}: expected one quantity or formula")
    goal, point = Goal(text=texts[0], sign=1.0), require_mapping(at)

    def compute(study: StudyData) -> OutputLaw:
        random_inputs = require_random_inputs(study)
        grid = study._query_grid([goal], (), per=[DRAW])
        unit = formula_unit(goal.text, grid.model.quantities)
        return output_law(grid, goal, random_inputs, point, unit)

    result = map_studies(loaded, compute, "law")
    assert not isinstance(result, dict)
    return result


def _draws(study: StudyData, goal: Goal, where: Sequence[str]) -> SourceOverDraws:
    """Return the draws of a study; add independent draws unless the laws are enumerated."""
    from sweeps.query.uncertainty import SourceOverDraws
    from sweeps.sources.grid_scan import GridScan

    random_inputs = require_random_inputs(study)
    source = GridScan(grid=study._query_grid([goal], where, per=[DRAW]))
    if random_inputs.is_exact:
        return SourceOverDraws(source=source, exact=True)
    fresh = replace_draws(study, random_inputs.fresh_axis())._query_grid([goal], where, per=[DRAW])
    return SourceOverDraws(source=source, fresh=GridScan(grid=fresh))
