"""Copies in zarr, written so that they can be interrupted: what was begun has ended when removed.

zarr writes from threads of its own, which an interrupt of the main thread does not stop. They would
write on while the half-written store is removed, and leave pieces of it behind.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbolic.json_text import check_length

if TYPE_CHECKING:
    import xarray as xr

_PATIENCE = 10.0


class _StoppedError(Exception):
    """Nothing more is written."""


def _stoppable(path: Path) -> tuple[Any, Callable[[], None]]:
    """A local store, and a function that ends its writes and waits for those under way."""
    from zarr.storage import LocalStore

    stopped = threading.Event()
    under_way = 0

    @contextmanager
    def counted() -> Iterator[None]:
        # on zarr's single event loop; a write is counted before it looks at `stopped`, so that none
        # can begin once the count was seen to be 0
        nonlocal under_way
        under_way += 1
        try:
            if stopped.is_set():
                raise _StoppedError
            yield
        finally:
            under_way -= 1

    class Stoppable(LocalStore):
        async def set(self, key: str, value: Any) -> None:
            with counted():
                await super().set(key, value)

        async def set_if_not_exists(self, key: str, value: Any) -> None:
            with counted():
                await super().set_if_not_exists(key, value)

    def stop() -> None:
        stopped.set()
        limit = time.monotonic() + _PATIENCE
        while under_way and time.monotonic() < limit:
            time.sleep(0.005)

    return Stoppable(path), stop


def write_zarr(ds: xr.Dataset, path: Path) -> None:
    """Write a zarr (v3) store under exactly this name."""
    store, stop = _stoppable(path)
    try:
        with warnings.catch_warnings():
            # zarr-python warns that v3 has yet to agree on variable-length text (our labels), and
            # on one file with the metadata of all arrays; without that file xarray warns, opening
            warnings.filterwarnings("ignore", message=".*(Zarr format 3|Zarr V3|zarr v3).*")
            _text_as_objects(ds).to_zarr(store, mode="w-", zarr_format=3, consolidated=True)
        check_length((path / "zarr.json").read_bytes(), "the store")
    except BaseException:
        stop()
        raise


def _text_as_objects(ds: xr.Dataset) -> xr.Dataset:
    """Labels as variable-length text, which zarr stores in its standard way."""
    names = [name for name, variable in ds.variables.items() if variable.dtype.kind == "U"]
    return ds.assign_coords({n: ds[n].astype(object) for n in names if n in ds.coords}).assign(
        {n: ds[n].astype(object) for n in names if n not in ds.coords}
    )
