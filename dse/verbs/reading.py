"""What is asked for numbers: the grid of a study, or a Dataset, maybe in a finished store."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from dse.given import a_dataset
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.running import run
from dse.verbs.sources import Askable, Table, with_file_read

if TYPE_CHECKING:
    import xarray as xr

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")
#: What was assumed when the file of somebody else was read.
_ASSUMED = "assumptions"


def asked_of(source: Askable, *, zones: bool = True) -> StudyData | Table:
    """A study of one model, or the Dataset that is asked: of models compared, that of their run.

    ``zones`` tells whether the store in which it lies is wanted, which knows more than its values.
    """
    of = with_file_read(source)
    if isinstance(of, StudyData):
        return of
    if isinstance(of, ComparisonData):
        return Table(ds=run(of))
    if isinstance(of, (str, Path)):
        return _opened(of, zones)
    from sweeps.files.written import Written, origin
    from sweeps.store.reader import stored

    if not isinstance(of, Written):
        of = a_dataset(of, "source", "a Study, a Dataset, or the path of one")
    place = origin(of)
    store = None if place is None else stored(place)  # also refuses one that is not finished
    return Table(ds=of, store=store if zones else None)


def _opened(path: str | Path, zones: bool) -> Table:
    from dse.files import open as opened
    from sweeps.files.written import Written
    from sweeps.store.reader import stored

    store = stored(path) if str(path).rstrip("/").endswith(".zarr") else None
    if store is None or not zones:
        return Table(ds=opened(path))
    return Table(ds=Written(path, read=store), store=store)


def identified(answer: xr.Dataset, asked: StudyData | Table) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    if isinstance(asked, StudyData):
        from dse.provenance import version

        told = (asked._parts.model.name, asked.text(), version())
        notes = {"notes": dumps(asked.notes)} if asked.notes else {}
        return answer.assign_attrs({**dict(zip(_IDENTITY, told, strict=True)), **notes})
    said = asked.ds.attrs
    known = _IDENTITY if "model" in said else (*_IDENTITY, _ASSUMED)
    return answer.assign_attrs({key: said[key] for key in known if key in said})
