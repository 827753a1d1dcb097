"""Ask a source: refuse what it does not take, answer, and say of which study the answer is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import dse
from dse.arguments import require_dataset
from dse.study.comparison import ComparisonData
from dse.study.study import StudyData
from dse.verbs.sources import SourceLike, load_if_study_file, source_kind
from dse.verbs.study import run
from sweeps.query.support_table import MODIFIERS, check_supported
from sweeps.runtime.interrupts import return_best_on_interrupt
from symbolic.errors import DseError, InternalError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.goals import Goal
    from sweeps.sources.grid_scan import GridScan
    from sweeps.sources.table import TableScan


#: What a question is asked of.
ScanSource: TypeAlias = "GridScan | TableScan"

_T = TypeVar("_T")

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")
#: What was assumed when the file of somebody else was read.
_ASSUMPTIONS_KEY = "assumptions"


def resolve_source(source: SourceLike, *, values: bool = False) -> StudyData | xr.Dataset:
    """Return what answers a question: a study, or a Dataset whose values are scanned.

    The study of a finished store answers for it, and nothing is read but what tells the study;
    where that cannot be told, or its model has changed or is not at hand, the values answer; so
    they do if ``values``. Models compared are run.

    Raises
    ------
    UnfinishedError
        Values are missing in a store.
    """
    from dse.runs.files import open as opened
    from dse.runs.identity import stored_study
    from sweeps.store.records import check_finished

    of = load_if_study_file(source)
    if isinstance(of, StudyData):
        return of
    if isinstance(of, ComparisonData):
        return run(of)
    is_path = isinstance(of, (str, Path))
    if not is_path:
        require_dataset(of, "source", "a Study, a Dataset, or the path of one")
    check_finished(of)
    study = None if values else stored_study(of)
    return study or (opened(of) if is_path else of)


@return_best_on_interrupt
def run_query_with_identity(
    verb: str,
    data: StudyData | xr.Dataset,
    compute: Callable[[ScanSource], xr.Dataset],
    **about: Any,
) -> xr.Dataset:
    """As :func:`run_query`; the answer says of which study it is."""
    return add_identity(run_query(verb, data, compute, **about), data)


def run_query(
    verb: str,
    data: StudyData | xr.Dataset,
    compute: Callable[[ScanSource], _T],
    *,
    texts: Sequence[str | Goal] = (),
    where: Sequence[str] = (),
    per: Sequence[str] = (),
    modifiers: dict[str, bool] | None = None,
) -> _T:
    """Return what is asked of a source.

    Quantities that a Dataset does not hold are computed by its study, where it tells one.

    ``verb`` names it in refusals; ``ask`` asks a source of ``sweeps.query``; ``texts``, ``where`` and
    ``per`` are the formulas, conditions and axes in it, ``given`` its further modifiers.
    """
    check_supported(
        verb, source_kind(data), {"where": bool(where), "per": bool(per), **(modifiers or {})}
    )
    if isinstance(data, StudyData):
        from sweeps.sources.grid_scan import GridScan

        source = GridScan(grid=data._query_grid(texts, where, per))
        try:
            return compute(source)
        except InternalError as error:
            raise error.with_study(data.text()) from error
    try:
        return compute(_scan(data, where, per))
    except UnknownNameError as error:
        more, study = _find_missing(data, texts, where, error)
    return compute(_scan(_add_quantities(data, more, study), where, per))


def add_identity(answer: xr.Dataset, data: StudyData | xr.Dataset) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    if isinstance(data, StudyData):
        from dse.inputs.provenance import version

        told = (data._parts.model.name, data.text(), version())
        notes = {"notes": dumps(data.notes)} if data.notes else {}
        return answer.assign_attrs({**dict(zip(_IDENTITY, told, strict=True)), **notes})
    said = data.attrs
    known = _IDENTITY if "model" in said else (*_IDENTITY, _ASSUMPTIONS_KEY)
    return answer.assign_attrs({key: said[key] for key in known if key in said})


def _scan(ds: xr.Dataset, where: Sequence[str], per: Sequence[str]) -> TableScan:
    from sweeps.scan.values import DatasetTable, columns_as_axes
    from sweeps.sources.table import TableScan

    return TableScan(table=DatasetTable(columns_as_axes(ds, per), where))


def _add_quantities(ds: Any, names: Sequence[str], study: StudyData) -> Any:
    """A Dataset with quantities of its study; labels that it does not hold are those of all."""
    from dse.runs.files import derive
    from sweeps.grid.dataset import add_label_indices
    from symbolic.quantities import indexed_quantity

    quantities = [name for name in names if name == indexed_quantity(name)]
    grid = study.grid(names)
    known = {}
    for place in [name for name in names if name not in quantities]:
        leaf = grid.leaves[next(iter(grid.leaves))][place]
        alone = None if leaf.axes or leaf.switch_axes else float(leaf.array)
        known[indexed_quantity(place)] = (
            grid.model.quantities[indexed_quantity(place)].axis_labels,
            alone,
        )
    return add_label_indices(derive(ds, quantities) if quantities else ds, known)


def _find_missing(
    ds: Any, texts: Sequence[str | Goal], where: Sequence[str], error: UnknownNameError
) -> tuple[list[str], StudyData]:
    """The quantities of a question that a Dataset does not hold and its study has, and the study.

    Raises the error that is given where there are none, or no study.
    """
    from dse.runs.identity import study_of
    from symbolic.expression import parse_condition
    from symbolic.ops import references

    if not {"study", "identity"} <= set(ds.attrs):
        raise error
    try:
        study = study_of(ds)
    except DseError as changed:
        raise DseError(f"{error}; nor can it be computed: {changed}") from None
    quantities = study.grid().model.quantities
    try:
        nodes = [study._parse_formula(text) for text in texts]
        nodes += [parse_condition(text, quantities) for text in where]
        names = [name for name in references(*nodes) if name not in ds.variables]
        study.grid(names)
    except DseError:
        raise error from None
    if not names:
        raise error
    return names, study


# --- The verbs: what is asked of a study, of models compared, of a Dataset or of a path
_Verb = TypeVar("_Verb", bound=Callable[..., Any])

#: The verbs whose modules were loaded, by name.
_VERBS: dict[str, Callable[..., Any]] = {}
_MODIFIER_OF_KEYWORD = {name: name for name in MODIFIERS if name != "objectives"}
_MODIFIER_OF_KEYWORD |= {"minimize": "objectives", "maximize": "objectives"}


def verb(function: _Verb) -> _Verb:
    """Make a function a verb: it says why it does not take what other verbs take."""
    name = function.__name__

    @wraps(function)
    def checked_verb(*source: Any, **options: Any) -> Any:
        taken = signature(function).parameters
        if others := {
            m: True for key, m in _MODIFIER_OF_KEYWORD.items() if key in options.keys() - taken
        }:
            of = load_if_study_file(source[0] if source else options.get("source"))
            if not isinstance(of, (StudyData, ComparisonData)):
                of = resolve_source(of)
            check_supported(name, source_kind(of), others)
        return function(*source, **options)

    _VERBS[name] = checked_verb
    return checked_verb  # type: ignore[return-value]


def verbs() -> dict[str, Callable[..., Any]]:
    """Return every verb by its name, in alphabetical order."""
    for home in set(dse._MODULE_OF.values()):
        if home.startswith("dse.verbs."):
            importlib.import_module(home)
    return dict(sorted(_VERBS.items()))
