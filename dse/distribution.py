"""How many configurations of a Dataset are feasible, and how a quantity spreads over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study
    from sweeps.streaming.values import Values

__all__ = ["count", "histogram", "identified", "identifying", "quantiles"]

_F = TypeVar("_F", bound="Callable[..., xr.Dataset]")

#: What tells of which study an answer is.
_IDENTITY = ("model", "study", "simt_dse_version")


def identified(answer: xr.Dataset, source: xr.Dataset | Study) -> xr.Dataset:
    """An answer that says of which study it is, as a Dataset of that study says of itself."""
    from dse.study import Study

    if isinstance(source, Study):
        from dse.provenance import study_text, version

        told = (source._parts.model.name, study_text(source), version())
        return answer.assign_attrs(dict(zip(_IDENTITY, told, strict=True)))
    return answer.assign_attrs({key: source.attrs[key] for key in _IDENTITY if key in source.attrs})


def identifying(question: _F) -> _F:
    """A question of a Study, or of a Dataset, whose answer says of which study it is."""

    @wraps(question)
    def asked(source: Any, *args: Any, **options: Any) -> Any:
        from dse.questions import source_of
        from dse.study import Study

        if not isinstance(source, Study):
            known = source if hasattr(source, "attrs") else source_of(source)[0]
            return identified(question(source, *args, **options), known)
        return identified(question(source, *args, **options), source)

    return asked  # type: ignore[return-value]


def _values(ds: xr.Dataset | str | Path, quantity: str, where: Any) -> tuple[xr.Dataset, Values]:
    """The Dataset of a question, and the formula over it: of a finished store by its zones."""
    from dse.questions import source_of
    from sweeps.answers import texts_of
    from sweeps.stored.spread import StoredValues
    from sweeps.streaming.values import TableValues

    found, store = source_of(ds)
    conditions = texts_of(where, "where")
    if store is not None:
        return found, StoredValues(store, quantity, conditions)
    return found, TableValues(found, quantity, conditions)


def count(ds: xr.Dataset | str | Path, *, where: str | Sequence[str] = ()) -> xr.Dataset:
    """How many configurations of a Dataset are feasible, of how many; see :meth:`Study.count`.

    Of a finished store, given by its path or as it was opened, only that is read of which its
    summaries do not tell enough.

    >>> from dse import Study
    >>> ds = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...            set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}).run()
    >>> found = count(ds, where="cs_throughput > 5")
    >>> int(found.feasible_points), int(found.points)
    (2, 3)
    """
    from dse.questions import source_of
    from sweeps.answers import texts_of
    from sweeps.stored.spread import stored_count
    from sweeps.streaming.counting import dataset_count

    found, store = source_of(ds)
    texts = texts_of(where, "where")
    answer = dataset_count(found, texts) if store is None else stored_count(store, texts)
    return identified(answer, found)


def histogram(
    ds: xr.Dataset | str | Path,
    quantity: str,
    *,
    bins: int | Sequence[float | str] = 10,
    where: str | Sequence[str] = (),
) -> xr.Dataset:
    """How many feasible configurations have a value in each bin; see :meth:`Study.histogram`."""
    from sweeps.streaming.spread import histogram as histogram_of

    found, values = _values(ds, quantity, where)
    return identified(histogram_of(values, bins), found)


def quantiles(
    ds: xr.Dataset | str | Path,
    quantity: str,
    q: float | Sequence[float],
    *,
    where: str | Sequence[str] = (),
) -> xr.Dataset:
    """The least values that given shares do not exceed, exactly; see :meth:`Study.quantiles`."""
    from sweeps.streaming.spread import quantiles as quantiles_of

    found, values = _values(ds, quantity, where)
    return identified(quantiles_of(values, q), found)
