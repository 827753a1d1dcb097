"""Where inputs are random: who can be best, what knowledge is worth, the law of an output."""

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
from symbolic.statistics import DRAW, RUN

if TYPE_CHECKING:
    import xarray as xr

    from dse.uncertain.draws import RandomInputs
    from dse.uncertain.output_law import OutputLaw
    from sweeps.grid.goals import Goal
    from sweeps.grid.grid import Grid
    from sweeps.query.uncertainty import SourceOverDraws


# --- Where inputs are random: who can be best, and how likely
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
    """How likely each configuration is the best one, and what it costs where it is not.

    In each draw one configuration is best; those that tie share the draw in equal parts. Which can
    be best is found on the draws of the study; how likely, on fresh ones, so that luck among many
    is not told as merit. Where all laws are enumerated, everything is exact. Axes along which the
    objective is the same are left out.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        A study with random inputs; or values along ``draw``, of which errors are told by 16 parts
        of them that follow each other; or measurements along ``run``, as ``dse.open(...,
        runs=True)`` gives: the best on average (:func:`dse.importers.runs.chances_of_runs`).
    minimize, maximize : str
        A quantity or formula that has a value in each draw.
    where : str or list of str
        Constraints besides those of the study: a configuration competes in the draws in which
        it meets them.
    per : str or list of str, optional
        Axes for each value of which others compete.
    top : int, optional
        How many are told, the likeliest first; all that can be best where None.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        Along ``rank``, the likeliest first: ``chance``, and ``regret``, by how much a configuration
        is expected to miss the best of each draw, in the unit of the objective (infinite where it
        may not be feasible). ``left``: the chance that none of these is the best; ``none``: that
        nothing is feasible. With ``chance_error``, ``regret_error`` and ``left_error``, half the
        widths of 95 % intervals. The attribute ``configurations`` tells how many can be best.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> found = study.chances(maximize="cs_throughput - threads / 128")
    >>> found.threads.values.tolist(), found.chance.values.tolist()
    ([1024, 512, 256], [0.5, 0.25, 0.25])
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.uncertainty import SourceOverDraws, draw_dimension
    from sweeps.query.uncertainty import chances as chances_of
    from sweeps.scan.values import DatasetTable
    from sweeps.sources.table import TableScan

    goals = read_goals(minimize, maximize)
    texts, axes = texts_of(where, "where"), texts_of(per, "per")
    given = {"per": bool(axes), "objectives": len(goals) > 1}

    def compute(data: StudyData | xr.Dataset) -> xr.Dataset:
        if not isinstance(data, StudyData) and RUN in data.dims and DRAW not in data.dims:
            from dse.importers.runs import chances_of_runs

            check_supported("chances", "rows", {"per": bool(axes)})
            asked: dict[str, Any] = {"minimize": minimize, "maximize": maximize}
            return add_identity(chances_of_runs(data, **asked, where=texts, top=top), data)
        (goal,) = goals
        if not isinstance(data, StudyData) and DRAW not in data.dims and "study" in data.attrs:
            from dse.runs.identity import study_of

            data = study_of(data)
        if isinstance(data, StudyData):
            draws = _draws(data, goal, texts)
        else:
            table = DatasetTable(data, texts)
            draws = SourceOverDraws(
                source=TableScan(table=table), draw_axis=draw_dimension(table.axes)
            )
        return add_identity(chances_of(draws, goal, per=axes, top=top), data)

    with show_progress(progress, "looking at every draw"):
        of = load_if_study_file(source)
        if isinstance(of, ComparisonData):
            for study in of.each.values():
                check_supported("chances", source_kind(study), given)
            return join_answers({model: compute(study) for model, study in of.each.items()})
        one = resolve_source(of)
        check_supported("chances", source_kind(one), given)
        return compute(one)


# --- What it would be worth to know inputs
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
    """What it would be worth to know random inputs before choosing, and which to measure next.

    Now that configuration is chosen which is best on average. Who knew some inputs would choose for
    each of their values what is best on average then; by how much that is better on average is the
    worth of knowing them: EVPI of all inputs, EVPPI of some (Raiffa and Schlaifer 1961). Exact
    where all laws are enumerated; else from nested Sobol points, 16 replicates of them, of the
    configurations that are best on average in some cell of the draws.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        A study with random inputs; of a Dataset or store the study that it tells.
    minimize, maximize : str
        A quantity or formula of which the mean should be small or large; a difference in it is
        what knowledge is worth.
    where : str or list of str
        Constraints besides those of the study: a configuration is chosen before a draw is known
        only if it meets them in all draws.
    sets : list of lists of str
        Inputs that become known together, besides each alone: random quantities, or the keys of
        joint laws, which are known together.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        ``evpi`` and, along ``set``, ``evppi``, in the unit of the objective, with ``evpi_error``
        and ``evppi_error``, half the widths of 95 % intervals; it never falls as a set grows.
        ``changes``: the chance that another configuration is chosen then; ``then_<axis>``: the one
        chosen most often. The coordinates tell what is chosen now; the attribute ``next`` what to
        measure next: the input worth most, or ``none`` where none is worth more than its error.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> found = study.information(maximize="cs_throughput - threads / 128")
    >>> round(found.evpi.item(), 3), found.threads.item(), found.attrs["next"]
    (0.18, 512, 'mem_latency')
    """
    from sweeps.grid.goals import read_goals, texts_of
    from sweeps.query.uncertainty import information as information_of

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    goal = goals[0]

    def compute(study: StudyData) -> xr.Dataset:
        about = require_random_inputs(study)
        named = _sets(about, sets)
        inner = 1 << ((about.draws.bit_length() + 1) // 2)
        outer = 4 * about.draws // inner

        def nested_grid(name: str) -> tuple[Grid, int, int]:
            axis = about.nested_axis(named[name], outer, inner)
            return replace_draws(study, axis)._query_grid([goal], texts, per=[DRAW]), outer, inner

        of = {name: [q for key in keys for q in about.inputs[key]] for name, keys in named.items()}
        return add_identity(
            information_of(_draws(study, goal, texts), goal, of, nested_grid), study
        )

    with show_progress(progress, "looking at every draw"):
        return joined_answer("information", source, compute, objectives=len(goals) > 1)


def _sets(about: RandomInputs, sets: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Each input alone, and the sets that are asked, by their names."""
    inputs = about.inputs
    if isinstance(sets, str):
        raise DseError(f"sets = {sets!r}: expected lists of inputs, such as [['a', 'b']]")
    result: dict[str, tuple[str, ...]] = {name: (name,) for name in inputs}
    for one in sets:
        names = (one,) if isinstance(one, str) else tuple(one)
        for name in names:
            said = f"sets names {name!r}, which is no random input"
            check_name(name, inputs, said, "these are")
        if not names:
            raise DseError("sets holds a set of nothing: name inputs that become known together")
        result[", ".join(names)] = tuple(dict.fromkeys(names))
    return result


# --- The law of an output
@verb
def law(source: SourceLike, quantity: str, at: Mapping[str, Any] | None = None) -> OutputLaw:
    """The law of an output at one configuration, where inputs are random.

    It is exact where laws are enumerated, and where one input alone is random in the output, along
    which enclosures prove it to go one way; else it is that of the draws, with errors.

    Parameters
    ----------
    source : Study, Dataset or path
        A study of one model with random inputs; of a Dataset or store the study that it tells.
    quantity : str
        A quantity or formula that has a value in each draw.
    at : mapping, optional
        A value for each axis along which it differs.

    Returns
    -------
    dse.uncertain.output_law.OutputLaw
        ``quantile(q)``, ``cdf(x)``, ``mean``, ``std``; ``error("quantile", q)`` and its like;
        ``way`` says how it was found; ``plot()`` draws it.

    Raises
    ------
    DseError
        An axis that has no value here, or that is none; nothing is random; nothing is feasible.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "normal: 600 cycles, 10 %"})
    >>> study.law("cs_throughput", at={"threads": 256})
    cs_throughput at threads = 256: 4.19672, 90 % within 3.61229 and 5.00676 (monotone)
    """
    from dse.uncertain.output_law import output_law
    from sweeps.grid.goals import Goal, texts_of

    of = load_if_study_file(source)
    if isinstance(of, ComparisonData):
        raise DseError(f"a law is that of one model: ask each of {', '.join(of.each)} by itself")
    texts = texts_of(quantity, "quantity")
    if len(texts) != 1:
        raise DseError(f"quantity = {quantity!r}: expected one quantity or formula")
    goal, place = Goal(text=texts[0], sign=1.0), require_mapping(at)

    def compute(study: StudyData) -> OutputLaw:
        about = require_random_inputs(study)
        grid = study._query_grid([goal], (), per=[DRAW])
        row = grid.model.quantities.get(goal.text)
        return output_law(grid, goal, about, place, row.unit if row is not None else "")

    result = map_studies(of, compute, "law")
    assert not isinstance(result, dict)
    return result


def _draws(study: StudyData, goal: Goal, where: Sequence[str]) -> SourceOverDraws:
    """Return the draws of a study: all there are, or fresh ones beside those it was chosen by."""
    from sweeps.query.uncertainty import SourceOverDraws
    from sweeps.sources.grid_scan import GridScan

    about = require_random_inputs(study)
    source = GridScan(grid=study._query_grid([goal], where, per=[DRAW]))
    if about.is_exact:
        return SourceOverDraws(source=source, exact=True)
    fresh = replace_draws(study, about.fresh_axis())
    return SourceOverDraws(
        source=source, fresh=GridScan(grid=fresh._query_grid([goal], where, per=[DRAW]))
    )
