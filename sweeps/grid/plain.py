"""An answer as bare arrays: xarray takes longer to import than most answers take to find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import assemble

if TYPE_CHECKING:
    import xarray as xr

#: The dimensions of an array, its values and its attributes.
Array = tuple[tuple[str, ...], NDArray[Any], Mapping[Any, Any]]

_bare = ContextVar("bare", default=False)


@contextmanager
def plainly() -> Iterator[None]:
    """Answers in this thread are for :func:`arrays_of` and their attributes alone."""
    before = _bare.set(True)
    try:
        yield
    finally:
        _bare.reset(before)


class _Plain:
    """What a Dataset is made of; for all but its attributes it makes that Dataset."""

    def __init__(self, outputs: Mapping[str, Any], coordinates: Mapping[str, Any], attrs: Any):
        self.outputs, self.coordinates, self.attrs = outputs, coordinates, dict(attrs)

    def assign_attrs(self, *given: Any, **more: Any) -> _Plain:
        attrs = dict(self.attrs)
        attrs.update(*given, **more)
        return _Plain(self.outputs, self.coordinates, attrs)

    def __getattr__(self, name: str) -> Any:
        return getattr(assemble(self.outputs, self.coordinates, self.attrs), name)

    def __getitem__(self, name: Any) -> Any:
        return assemble(self.outputs, self.coordinates, self.attrs)[name]


def answered(
    variables: Mapping[str, Any], coords: Mapping[str, Any], attributes: Mapping[str, Any]
) -> xr.Dataset:
    """As :func:`sweeps.grid.dataset.assemble`; bare arrays where nothing else is asked of them."""
    if _bare.get():
        return _Plain(variables, coords, attributes)  # type: ignore[return-value]
    return assemble(variables, coords, attributes)


def prepared() -> None:
    """Load what answers are made of, so that it is not done once the time of a search is up."""
    if not _bare.get():
        assemble({}, {"none": ("none", np.zeros(0), {})}, {})  # an array: for it xarray loads Dask


def arrays_of(answer: xr.Dataset) -> tuple[dict[str, Array], dict[str, Array]]:
    """The coordinates of an answer, and its outputs, by name."""
    if isinstance(answer, _Plain):
        return _arrays(answer.coordinates), _arrays(answer.outputs)
    parts = (
        {str(n): (one.dims, one.values, one.attrs) for n, one in some.items()}
        for some in (answer.coords, answer.data_vars)
    )
    coordinates, outputs = map(_arrays, parts)
    return coordinates, outputs


def _arrays(given: Mapping[str, Any]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, (dims, values, *attrs) in given.items():
        named = (dims,) if isinstance(dims, str) else tuple(map(str, dims))
        found[name] = named, np.asarray(values), dict(*attrs)
    return found
