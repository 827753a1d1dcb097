"""Fits: free quantities of a model from measured columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fitting.result import Fit
from dse.progress import Shown, shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.columns import Floats, Named
    from dse.fitting.coordinates import Start
    from symbolic.model import Model

__all__ = ["Fit", "fit"]


def fit(
    model: str | Model,
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    free: Sequence[str] = (),
    per: Mapping[str, Sequence[str]] | None = None,
    to: str | Sequence[str] | None = None,
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    where: str | Sequence[str] = (),
    columns: Named = None,
    weights: str | Sequence[float] | Floats | None = None,
    residuals: str = "absolute",
    start: Start | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    left_out: str = "auto",
    prefer: str | None = None,
    progress: Shown = False,
) -> Fit:
    """Fit quantities of a model to measured rows by least squares.

    The columns that are inputs of the model vary from row to row; what the model yields from them
    is compared with the columns of ``to``. All rows are evaluated at once, as
    :func:`dse.evaluate` does. Quantities stay within their domains; the search begins at many
    points about their typical values, and where a machine or workload gives a value, there too.

    Parameters
    ----------
    model : str or Model
        As for :class:`dse.Study`.
    data : path, DataFrame, Dataset or mapping of arrays
        One value a row in each column. A header may end in a unit, ``"mem_bandwidth [GB/s]"``; of
        a Dataset the attribute ``units`` counts; otherwise values are in stored (SI) units. A
        column ``workload`` names the workload of each row.
    free : sequence of str
        The quantities to be fitted. A free quantity that the model yields is not computed.
    per : mapping, optional
        Further ones that have a value of their own for each label of a column:
        ``{"kernel": ["core_cycles", "stall_time"]}``. So many workloads share one machine.
    to : str or sequence of str, optional
        The measured quantities; by default the one main output of the model that has a column.
    machine, workload, prefer :
        As for :func:`dse.evaluate`. Columns, ``set`` and what is free count before their values.
    set : mapping, optional
        Further values, as ``set`` of a study.
    where : str or sequence of str
        Conditions on inputs and on what follows from them: the rows to be fitted.
    columns : sequence or mapping, optional
        The columns to read: their names, or quantities with the header of each, to which a unit
        may be added, ``{"time": "time/ms [ms]"}``. By default all, which must be quantities.
    weights : str or sequence, optional
        Of the squared residuals: a column, or a number for each row of the data.
    residuals : str
        ``"absolute"``, or ``"relative"``: shares of the measured values.
    start, bounds : mapping, optional
        Of some free quantities, where the search begins too, and (low, high); numbers or texts
        with units. A bound may be None.
    left_out : str
        How the error of rows left out is found: ``"refit"``, ``"hat"``, or ``"auto"``, which fits
        anew up to 50 rows; see :class:`Fit`.
    progress : bool
        Tell, after a second, for how long the work goes on.

    Raises
    ------
    DseError
        An unknown column or name, a unit that does not fit, a missing value, fewer rows than free
        quantities, a free quantity on which nothing depends or that the rows do not determine.

    >>> found = fit("transit_supply", {"threads_in_ms": [64, 128, 512, 1024],
    ...             "attained_bandwidth [GB/s]": [1, 2, 8, 8]},
    ...             free=["ms_peak_bandwidth", "ms_transition"])
    >>> round(found["ms_peak_bandwidth"]), round(found["ms_transition"])
    (8000000000, 512)
    """
    asked: dict[str, Any] = dict(locals())
    from dse.fitting.run import Request, run

    with shown(asked.pop("progress"), "fitting"):
        entries = {kind: asked.pop(kind) for kind in ("machine", "workload")}
        given = dict(asked.pop("set") or {})
        return run(Request(entries=entries, given=given, **asked))
