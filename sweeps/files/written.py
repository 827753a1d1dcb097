"""The store in which a Dataset lies, or of which one can be made: the one it was, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.files.export import open_dataset
from sweeps.grid.dataset import opened_from
from sweeps.grid.grid import FEASIBLE
from sweeps.store.reader import Stored, stored
from sweeps.store.versions import Version
from symbolic.errors import OtherProcessError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Written", "check_finished", "origin"]


def origin(ds: xr.Dataset | Written) -> str | None:
    """The store of a run in which a Dataset lies as it was opened; None where it lies in none.

    Raises
    ------
    OtherProcessError
        Another store came to be there since it was opened.
    """
    version: Version | None = ds.version if isinstance(ds, Written) else opened_from(ds)
    if version is None:
        return None
    version.still()
    return version.place


def check_finished(ds: xr.Dataset | Written) -> None:
    """Refuse a Dataset in the store of a run that was stopped: values are missing in it.

    Raises
    ------
    UnfinishedError
        With the way to finish it, and to use what is there all the same.
    """
    place = origin(ds)
    if place is not None:
        stored(place)


class Written:
    """A store of a run as it was when this was made, before xarray opens it.

    ``names`` are the outputs that are meant; all where None. ``read`` is the store, where it was
    read already: what it tells is told, whatever stands at its place by now.
    """

    def __init__(
        self, place: str | Path, names: Sequence[str] | None = None, *, read: Stored | None = None
    ) -> None:
        self.version, self.names, self.read = Version(str(place)), names, read

    def dataset(self) -> xr.Dataset:
        """The Dataset, whose values are read where they are needed.

        Raises
        ------
        OtherProcessError
            Another store came to be there.
        """
        ds = open_dataset(self.version.place, self.version)
        more = [name for name in ds.data_vars if not self._meant(str(name))]
        return ds.drop_vars(more) if more else ds

    def _meant(self, name: str) -> bool:
        return self.names is None or name in (*self.names, FEASIBLE)

    @property
    def _stored(self) -> Stored:
        if self.read is not None:
            return self.read
        self.version.still()
        found = stored(self.version.place)
        if found is None:
            raise OtherProcessError(
                f"another process has replaced or removed {self.version.place} since it was "
                "opened: open it again"
            )
        return found

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes of the Dataset."""
        return self._stored.attrs

    @property
    def data_vars(self) -> Sequence[str]:
        """The names of its outputs."""
        return [name for name in self._stored.outputs if self._meant(name)]

    @property
    def variables(self) -> Sequence[str]:
        """The names of its coordinates and outputs."""
        return [*self._stored.coordinates, *self.data_vars]
