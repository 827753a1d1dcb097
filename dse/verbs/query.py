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
from dse.given import a_dataset
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.sources import Askable, kind_of, with_file_read
from dse.verbs.study import run
from sweeps.ask.matrix import MODIFIERS, refuse
from sweeps.runtime.stopping import handing_back
from symbolic.errors import DseError, InternalError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.goals import Goal
    from sweeps.sources.grids import GridScan
    from sweeps.sources.table import TableScan


#: What a question is asked of.
Source: TypeAlias = "GridScan | TableScan"

_T = TypeVar("_T")

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")
#: What was assumed when the file of somebody else was read.
_ASSUMED = "assumptions"


def resolve_source(source: Askable, *, values: bool = False) -> StudyData | xr.Dataset:
    """Return what answers a question: a study, or a Dataset whose values are scanned.

    The study of a finished store answers for it, and nothing is read but what tells the study;
    where that cannot be told, or its model has changed or is not at hand, the values answer; so
    they do if ``values``. Models compared are run.

    Raises
    ------
    UnfinishedError
        Values are missing in a store.
    """
    from dse.files import open as opened
    from dse.identity import stored_study
    from sweeps.store.records import check_finished

    of = with_file_read(source)
    if isinstance(of, StudyData):
        return of
    if isinstance(of, ComparisonData):
        return run(of)
    is_path = isinstance(of, (str, Path))
    if not is_path:
        a_dataset(of, "source", "a Study, a Dataset, or the path of one")
    check_finished(of)
    study = None if values else stored_study(of)
    return study or (opened(of) if is_path else of)


@handing_back
def run_query_with_identity(
    verb: str, of: StudyData | xr.Dataset, ask: Callable[[Source], xr.Dataset], **about: Any
) -> xr.Dataset:
    """As :func:`run_query`; the answer says of which study it is."""
    return identified(run_query(verb, of, ask, **about), of)


def run_query(
    verb: str,
    of: StudyData | xr.Dataset,
    ask: Callable[[Source], _T],
    *,
    texts: Sequence[str | Goal] = (),
    where: Sequence[str] = (),
    per: Sequence[str] = (),
    given: dict[str, bool] | None = None,
) -> _T:
    """Return what is asked of a source.

    Quantities that a Dataset does not hold are computed by its study, where it tells one.

    ``verb`` names it in refusals; ``ask`` asks a source of ``sweeps.ask``; ``texts``, ``where`` and
    ``per`` are the formulas, conditions and axes in it, ``given`` its further modifiers.
    """
    refuse(verb, kind_of(of), {"where": bool(where), "per": bool(per), **(given or {})})
    if isinstance(of, StudyData):
        from sweeps.sources.grids import GridScan

        source = GridScan(grid=of._question(texts, where, per))
        try:
            return ask(source)
        except InternalError as error:
            raise error.of(of.text()) from error
    try:
        return ask(_scan(of, where, per))
    except UnknownNameError as error:
        more, study = _missing(of, texts, where, error)
    return ask(_scan(_completed(of, more, study), where, per))


def identified(answer: xr.Dataset, asked: StudyData | xr.Dataset) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    if isinstance(asked, StudyData):
        from dse.provenance import version

        told = (asked._parts.model.name, asked.text(), version())
        notes = {"notes": dumps(asked.notes)} if asked.notes else {}
        return answer.assign_attrs({**dict(zip(_IDENTITY, told, strict=True)), **notes})
    said = asked.attrs
    known = _IDENTITY if "model" in said else (*_IDENTITY, _ASSUMED)
    return answer.assign_attrs({key: said[key] for key in known if key in said})


def _scan(ds: xr.Dataset, where: Sequence[str], per: Sequence[str]) -> TableScan:
    from sweeps.scan.values import Table, grouped
    from sweeps.sources.table import TableScan

    return TableScan(table=Table(grouped(ds, per), where))


def _completed(ds: Any, names: Sequence[str], study: StudyData) -> Any:
    """A Dataset with quantities of its study; labels that it does not hold are those of all."""
    from dse.files import derive
    from sweeps.grid.dataset import placed
    from symbolic.quantities import label_of

    quantities = [name for name in names if name == label_of(name)]
    grid = study.grid(names)
    known = {}
    for place in [name for name in names if name not in quantities]:
        leaf = grid.leaves[next(iter(grid.leaves))][place]
        alone = None if leaf.axes or leaf.switched else float(leaf.array)
        known[label_of(place)] = grid.model.quantities[label_of(place)].places, alone
    return placed(derive(ds, quantities) if quantities else ds, known)


def _missing(
    ds: Any, texts: Sequence[str | Goal], where: Sequence[str], error: UnknownNameError
) -> tuple[list[str], StudyData]:
    """The quantities of a question that a Dataset does not hold and its study has, and the study.

    Raises the error that is given where there are none, or no study.
    """
    from dse.identity import study_of
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
        nodes = [study._node(text) for text in texts]
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
_LOADED: dict[str, Callable[..., Any]] = {}
_KEYWORDS = {name: name for name in MODIFIERS if name != "objectives"}
_KEYWORDS |= {"minimize": "objectives", "maximize": "objectives"}


def verb(function: _Verb) -> _Verb:
    """Make a function a verb: it says why it does not take what other verbs take."""
    name = function.__name__

    @wraps(function)
    def asked(*source: Any, **given: Any) -> Any:
        taken = signature(function).parameters
        if others := {m: True for key, m in _KEYWORDS.items() if key in given.keys() - taken}:
            of = with_file_read(source[0] if source else given.get("source"))
            if not isinstance(of, (StudyData, ComparisonData)):
                of = resolve_source(of)
            refuse(name, kind_of(of), others)
        return function(*source, **given)

    _LOADED[name] = asked
    return asked  # type: ignore[return-value]


def verbs() -> dict[str, Callable[..., Any]]:
    """Return every verb by its name, in alphabetical order."""
    for home in set(dse._HOMES.values()):
        if home.startswith("dse.verbs."):
            importlib.import_module(home)
    return dict(sorted(_LOADED.items()))
