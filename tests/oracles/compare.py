"""Comparisons to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray


def ulps(a: Any, b: Any) -> NDArray[np.int64]:
    """Return the distance in floats; 0 for two NaN, huge if one is NaN or the signs differ."""
    a, b = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in (a, b))
    assert a.shape == b.shape, (a.shape, b.shape)
    bits_a, bits_b = a.view(np.int64), b.view(np.int64)
    apart = np.abs(bits_a - bits_b)
    apart = np.where((bits_a < 0) != (bits_b < 0), np.int64(2**62), apart)
    nans = np.isnan(a).astype(int) + np.isnan(b)
    return np.where(nans == 2, 0, np.where(nans == 1, np.int64(2**62), apart))


def same_bits(a: Any, b: Any) -> bool:
    """True if all values have the same bits, NaN for NaN."""
    return bool(np.all(ulps(a, b) == 0))


def same_run(
    ds: xr.Dataset,
    expected: Mapping[str, tuple[tuple[str, ...], Mapping[tuple[int, ...], float]]],
    *,
    within: int = 0,
) -> None:
    """Assert that a Dataset holds what nested loops found, value for value."""
    assert list(map(str, ds.data_vars)) == list(expected)
    for name, (dims, values) in expected.items():
        assert ds[name].dims == dims, (name, ds[name].dims, dims)
        for place, value in values.items():
            result = ds[name].values[place]
            apart = int(ulps(float(result), float(value))[0])
            assert apart <= within, (name, place, result, value)


def identical(a: xr.Dataset, b: xr.Dataset) -> None:
    """Assert the same variables, dimensions, types, values to the bit, and attributes."""
    assert list(map(str, a.variables)) == list(map(str, b.variables))
    assert set(a.coords) == set(b.coords)
    assert dict(a.attrs) == dict(b.attrs)
    for name in a.variables:
        one, other = a[name], b[name]
        assert one.dims == other.dims, name
        assert one.dtype == other.dtype, (name, one.dtype, other.dtype)
        if one.dtype.kind == "f":
            assert same_bits(one.values, other.values), name
        else:
            assert np.array_equal(one.values, other.values), name
        same_attributes(one.attrs, other.attrs)


def same_attributes(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> None:
    """Assert equal attributes, arrays and lists alike."""
    assert set(a) == set(b)
    for key in a:
        assert np.array_equal(np.asarray(a[key]), np.asarray(b[key])), (key, a[key], b[key])
