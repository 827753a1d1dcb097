"""Run a query on any source: check that it is supported, compute it, and record the study."""

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
from dse.verbs.sources import SourceLike, load_if_study_file, source_kind, with_quantity_names
from sweeps.query.support_table import MODIFIERS, check_supported
from sweeps.runtime.interrupts import return_best_on_interrupt
from symbolic.errors import DseError, InternalError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.goals import Goal
    from sweeps.sources.grid_scan import GridScan
    from sweeps.sources.table import TableScan


ScanSource: TypeAlias = "GridScan | TableScan"

_T = TypeVar("_T")

_IDENTITY = ("model", "study", "simt_dse_version")


def resolve_source(source: SourceLike, *, values: bool = False) -> StudyData | xr.Dataset:
    """Return the study that a query of the source must evaluate, or the Dataset to scan.

    For a finished store, return its study; but return its Dataset if the study is unknown, if the
    model is missing or has changed, or if ``values`` is True. For a comparison, return its run.
    """
    from dse.runs.files import open as open_dataset
    from dse.runs.identity import stored_study
    from sweeps.store.records import check_finished

    data = load_if_study_file(source)
    if isinstance(data, StudyData):
        return data
    if isinstance(data, ComparisonData):
        return dse.run(data)
    is_path = isinstance(data, (str, Path))
    if not is_path:
        require_dataset(data, "source", "a Study, a Dataset, or the path of one")
    check_finished(data)
    study = None if values else stored_study(data)
    return study or (open_dataset(data) if is_path else data)


@return_best_on_interrupt
def run_query_with_identity(
    verb: str,
    data: StudyData | xr.Dataset,
    compute: Callable[[ScanSource], xr.Dataset],
    **about: Any,
) -> xr.Dataset:
    """Run a query; identify the study in the attributes of the answer."""
    return add_identity(run_query(verb, data, compute, **about), data, about.get("where", ()))


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
    """Apply ``compute`` to a scan of a study or Dataset; error messages name the verb.

    ``texts``, ``where`` and ``per`` are the formulas, conditions and axes of the query. If a
    Dataset lacks quantities and contains its study, the study computes them.
    """
    used = {"where": bool(where), "per": bool(per), **(modifiers or {})}
    check_supported(verb, source_kind(data), used)
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


def add_identity(answer: xr.Dataset, data: StudyData | xr.Dataset, where: Any = ()) -> xr.Dataset:
    """Return an answer with attributes that identify the study of ``data``."""
    if isinstance(data, StudyData):
        from dse.inputs.assumed import assumed_json
        from dse.inputs.provenance import version

        identity = (data._parts.model.name, data.text(), version())
        more = {"notes": dumps(data.notes)} if data.notes else {}
        more |= assumed_json(data.grid(draws=True), data._parts.assumed, where)
        return answer.assign_attrs({**dict(zip(_IDENTITY, identity, strict=True)), **more})
    # measurements have no model, but the assumptions under which they were read
    keys = (*_IDENTITY, "assumed" if "model" in data.attrs else "assumptions")
    return answer.assign_attrs({key: data.attrs[key] for key in keys if key in data.attrs})


def _scan(ds: xr.Dataset, where: Sequence[str], per: Sequence[str]) -> TableScan:
    from sweeps.scan.values import DatasetTable, columns_as_axes
    from sweeps.sources.table import TableScan

    return TableScan(table=DatasetTable(columns_as_axes(ds, per), where))


def _add_quantities(ds: Any, names: Sequence[str], study: StudyData) -> Any:
    """Add quantities of its study to a Dataset, and the numbers that formulas use for labels."""
    from dse.runs.files import derive
    from sweeps.grid.dataset import add_label_indices
    from symbolic.quantities import indexed_quantity

    quantities = [name for name in names if name == indexed_quantity(name)]
    grid = study.grid(names)
    known = {}
    for name in [name for name in names if name not in quantities]:
        leaf, quantity = grid.leaves[next(iter(grid.leaves))][name], indexed_quantity(name)
        scalar = None if leaf.axes or leaf.switch_axes else float(leaf.array)
        known[quantity] = grid.model.quantities[quantity].axis_labels, scalar
    return add_label_indices(derive(ds, quantities) if quantities else ds, known)


def _find_missing(
    ds: Any, texts: Sequence[str | Goal], where: Sequence[str], error: UnknownNameError
) -> tuple[list[str], StudyData]:
    """Return the quantities that a Dataset lacks but its study can compute, and the study."""
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


_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_VERBS: dict[str, Callable[..., Any]] = {}
_MODIFIER_OF_KEYWORD = {name: name for name in MODIFIERS if name != "objectives"}
_MODIFIER_OF_KEYWORD |= {"minimize": "objectives", "maximize": "objectives"}


def verb(function: _Verb) -> _Verb:
    """Register a verb, which takes symbols and explains why it rejects others' keywords."""
    name, form = function.__name__, signature(function)

    @wraps(function)
    def checked_verb(*source: Any, **options: Any) -> Any:
        foreign = options.keys() - form.parameters
        data = load_if_study_file(source[0] if source else options.get("source"))
        if others := {m: True for key, m in _MODIFIER_OF_KEYWORD.items() if key in foreign}:
            if not isinstance(data, (StudyData, ComparisonData)):
                data = resolve_source(data)
            check_supported(name, source_kind(data), others)
        given = form.bind(*source, **options).arguments | {"source": data}
        return function(**with_quantity_names(data, given))

    _VERBS[name] = checked_verb
    return checked_verb  # type: ignore[return-value]


def verbs() -> dict[str, Callable[..., Any]]:
    """Import all verbs, and return a mapping from names to verbs in alphabetical order."""
    for home in set(dse._MODULE_OF.values()):
        if home.startswith("dse.verbs."):
            importlib.import_module(home)
    return dict(sorted(_VERBS.items()))
