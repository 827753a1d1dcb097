"""Asking a source: the grid of a study, a finished store, a Dataset, measured rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dse.study.data import StudyData
from dse.verbs.reading import identified
from dse.verbs.sources import Table, check_asked
from sweeps.runtime.stopping import handing_back
from symbolic.errors import DseError, InternalError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.goals import Goal
    from sweeps.sources.grids import GridScan
    from sweeps.sources.stores import StoreSearch
    from sweeps.sources.table import TableScan

#: What a question is asked of.
Source: TypeAlias = "GridScan | StoreSearch | TableScan"

_T = TypeVar("_T")


@handing_back
def answered(
    verb: str, of: StudyData | Table, ask: Callable[[Source], xr.Dataset], **about: Any
) -> xr.Dataset:
    """As :func:`asked`; the answer says of which study it is."""
    return identified(asked(verb, of, ask, **about), of)


def asked(
    verb: str,
    of: StudyData | Table,
    ask: Callable[[Source], _T],
    *,
    texts: Sequence[str | Goal] = (),
    where: Sequence[str] = (),
    per: Sequence[str] = (),
    given: dict[str, bool] | None = None,
) -> _T:
    """What is asked of a source.

    Quantities that a store or Dataset does not hold are computed by its study, where it tells one.

    Parameters
    ----------
    verb : str
        What is asked, for refusals.
    ask : callable
        Asks a source of ``sweeps.ask``.
    texts, where, per : sequence of str
        The formulas and conditions that are asked of it, and for each value of which axes.
    given : dict of str to bool
        Which further modifiers are given.
    """
    check_asked(verb, of, {"where": bool(where), "per": bool(per), **(given or {})})
    if isinstance(of, StudyData):
        source = _scan(of, texts, where, per)
        try:
            return ask(source)
        except InternalError as error:
            raise error.of(of.text()) from error
    try:
        return ask(_recorded(of, where, per))
    except UnknownNameError as error:
        more, study = _missing(of.ds, texts, where, error)
    if of.store is not None:
        return ask(_scan(study, texts, where, per))
    return ask(_recorded(Table(ds=_completed(of.ds, more, study)), where, per))


def _scan(
    study: StudyData, texts: Sequence[str | Goal], where: Sequence[str], per: Sequence[str]
) -> GridScan:
    from sweeps.sources.grids import GridScan

    return GridScan(grid=study._question(texts, where, per))


def _recorded(of: Table, where: Sequence[str], per: Sequence[str]) -> StoreSearch | TableScan:
    from sweeps.scan.arrays import Table as Arrays
    from sweeps.scan.arrays import grouped
    from sweeps.sources.stores import StoreSearch
    from sweeps.sources.table import TableScan

    if of.store is not None:
        outputs = tuple(str(name) for name in of.ds.data_vars)
        return StoreSearch(stored=of.store, outputs=outputs, where=tuple(where))
    return TableScan(table=Arrays(grouped(of.ds, per), where))


def _completed(ds: Any, names: Sequence[str], study: StudyData) -> Any:
    """A Dataset with quantities of its study; labels that it does not hold are those of all."""
    from dse.derived import derive
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
    from dse.derived import study_of
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
