"""The borders of a Dataset, each once, as rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.grid.dataset import meanings_of
from sweeps.grid.flat_index import ravel, unravel
from sweeps.prove.borders import NONE

if TYPE_CHECKING:
    import xarray as xr


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
    meanings = meanings_of(found.beyond.attrs)
    return [row for along in found.along.values.tolist() for row in _rows(found, along, meanings)]


def _rows(found: xr.Dataset, along: str, meanings: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """The rows of one quantity."""
    one, here = found.sel(along=along), found[case_of(found)]
    others = [str(dim) for dim in here.dims if dim != along]
    known: dict[tuple[int, int, int], set[float]] = defaultdict(set)
    for at, first, second, border, _ in _lines(here, one.sel(side="above"), along):
        known[at, first, second].add(border)
    for at, first, second, border, start in _lines(here, one.sel(side="below"), along):
        same = known[at, first, second]
        if not any(border <= other <= start for other in same):
            same.add(border)
    listed = sorted((key[0], b, *key[1:]) for key, seen in known.items() for b in seen)
    lines = np.array([at for at, *_ in listed], dtype=np.int64)
    _, *places = unravel(lines, (1, *(found.sizes[dim] for dim in others)))
    points = {
        dim: found[dim].values[where].tolist() for dim, where in zip(others, places, strict=True)
    }
    unit = str(one.unit.values)
    for k, (_, border, *ends) in enumerate(listed):
        yield {
            "along": along,
            "unit": unit,
            **{dim: values[k] for dim, values in points.items()},
            "border": border,
            "from": meanings[ends[0]],
            "to": meanings[ends[1]],
        }


def _lines(
    here: xr.DataArray, told: xr.Dataset, along: str
) -> Iterator[tuple[int, int, int, float, float]]:
    """What is seen on one side: on which line, from and to which case on the way up, and whence.

    In the order of the points. Of those on a line that see the same border the first is given: they
    see no other before it.
    """
    beyond = told.beyond.values.reshape(-1)
    seen = np.flatnonzero(beyond != NONE)
    index = unravel(seen, (1, *here.shape))
    places = dict(zip(here.dims, index[1:], strict=True))
    others = [dim for dim in here.dims if dim != along]
    sizes = (1, *(here.sizes[dim] for dim in others))
    line = ravel((index[0], *(places[dim] for dim in others)), sizes)
    ends = here.values.reshape(-1)[seen], beyond[seen]
    first, second = ends if told.side == "above" else ends[::-1]
    border = told.border.values.reshape(-1)[seen]
    start = here[along].values[places[along]] if along in places else border
    order = np.lexsort((border, second, first, line))  # stable: the first point comes first
    columns = [column[order] for column in (line, first, second, border)]
    new = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    kept = np.sort(order[np.concatenate([[True], new])]) if len(order) else order
    told_of = (line, first, second, border, start)
    yield from zip(*(column[kept].tolist() for column in told_of), strict=True)


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
