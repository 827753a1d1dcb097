"""The borders of a Dataset, each once, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.grid.dataset import meanings_of
from sweeps.prove.borders import NONE

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["border_rows", "case_of", "next_rows"]


def case_of(found: xr.Dataset) -> str:
    """The name of the case whose borders a Dataset tells."""
    return next(str(n) for n in found.data_vars if n not in ("border", "beyond", "distance"))


def border_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Along which quantity, at which values of the axes, from which case to which, rising.

    Of whole numbers and tabulated values a border is the first beyond, which is one number seen
    from below and another seen from above: the rows give the one beyond on the way up.

    >>> import dse
    >>> study = dse.Study(model="transit", axes={"threads": [256, 512, 1024], "intensity": [10]},
    ...                   set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> [row] = border_rows(dse.borders(study, "bound", along="threads"))
    >>> row["intensity"], row["border"], row["from"], row["to"]
    (10, 610.0, 'thread', 'memory')
    """
    case = case_of(found)
    meanings = meanings_of(found.beyond.attrs)
    rows: list[dict[str, Any]] = []
    for along in found.along.values.tolist():
        one = found.sel(along=along)
        dims = [str(dim) for dim in found[case].dims]
        others = [dim for dim in dims if dim != along]
        known: dict[tuple[Any, ...], set[float]] = {}
        for side in ("above", "below"):
            told = one.sel(side=side)
            places = np.argwhere(told.beyond.values != NONE)
            here = np.asarray(found[case].values)
            for place in map(tuple, places.tolist()):
                at = tuple(p for p, dim in zip(place, dims, strict=True) if dim != along)
                ends = int(here[place]), int(told.beyond.values[place])
                first, second = ends if side == "above" else ends[::-1]
                border = float(told.border.values[place])
                start = found[along].values[place[dims.index(along)]] if along in dims else border
                same = known.setdefault((at, first, second), set())
                if side == "above" or not any(border <= one <= start for one in same):
                    same.add(border)
        listed = sorted((at, b, *ends) for (at, *ends), borders in known.items() for b in borders)
        for at, border, first, second in listed:
            point = {
                dim: found[dim].values[place].item() for dim, place in zip(others, at, strict=True)
            }
            rows.append(
                {
                    "along": along,
                    "unit": str(one.unit.values),
                    **point,
                    "border": border,
                    "from": meanings[first],
                    "to": meanings[second],
                }
            )
    return rows


def next_rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Of one configuration: the next border along each quantity to either side, what is beyond."""
    meanings = meanings_of(found.beyond.attrs)
    return [
        {
            "along": along,
            "unit": str(found.unit.sel(along=along).values),
            "side": side,
            "border": float(found.border.sel(along=along, side=side)),
            "distance": float(found.distance.sel(along=along, side=side)),
            "beyond": meanings[int(found.beyond.sel(along=along, side=side))],
        }
        for along in found.along.values.tolist()
        for side in found.side.values.tolist()
    ]
