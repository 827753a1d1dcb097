"""What is asked for numbers: the grid of a study, or a Dataset, maybe in a finished store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.given import a_dataset
from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.running import run
from dse.verbs.sources import Askable, with_file_read

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.stored.reader import Stored

__all__ = ["Table", "asked_of", "identified"]

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A Dataset, and the finished store in which it lies, as it was opened.

    A store that nobody has opened stands for its Dataset.
    """

    ds: Any
    store: Stored | None = None

    @property
    def rows(self) -> bool:
        """Whether it holds measured rows, along no axis of a study."""
        return "configuration" in getattr(self.ds, "dims", ())


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
    from sweeps.stored.reader import stored
    from sweeps.stored.written import Written, origin

    if not isinstance(of, Written):
        of = a_dataset(of, "source", "a Study, a Dataset, or the path of one")
    place = origin(of) if zones else None
    return Table(ds=of, store=None if place is None else stored(place))


def _opened(path: str | Path, zones: bool) -> Table:
    from dse.files import open as opened
    from sweeps.stored.reader import stored
    from sweeps.stored.written import Written

    store = stored(path) if zones and str(path).rstrip("/").endswith(".zarr") else None
    return Table(ds=opened(path)) if store is None else Table(ds=Written(path), store=store)


def identified(answer: xr.Dataset, asked: StudyData | Table) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    if isinstance(asked, StudyData):
        from dse.provenance import version

        told = (asked._parts.model.name, asked.text(), version())
        return answer.assign_attrs(dict(zip(_IDENTITY, told, strict=True)))
    said = asked.ds.attrs
    return answer.assign_attrs({key: said[key] for key in _IDENTITY if key in said})
