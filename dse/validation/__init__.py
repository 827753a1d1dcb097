"""Validation: what predictions are worth, on rows left out and beside trivial baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.progress import Shown, shown
from dse.validation.result import Validation
from dse.validation.scores import Score

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.columns import Named
    from symbolic.model import Model

__all__ = ["Score", "Validation", "validate"]


def validate(
    model: str | Model,
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    to: str | None = None,
    columns: Named = None,
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    free: Sequence[str] = (),
    own: Mapping[str, Sequence[str]] | None = None,
    start: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    residuals: str = "relative",
    leave_out: str | Sequence[str] = (),
    folds: int = 10,
    per: str | Sequence[str] = (),
    within: str | Sequence[str] = (),
    choose: str | Sequence[str] = (),
    draws: tuple[int, int] | None = None,
    budget: int = 1,
    along: str | None = None,
    baselines: Mapping[str, str] | None = None,
    orders: Mapping[str, str] | None = None,
    interval: float = 0.9,
    prefer: str | None = None,
    progress: Shown = False,
) -> Validation:
    """Predictions of a model against measured rows, beside what one would say without it.

    Each row is predicted as :func:`dse.evaluate` does, from its columns and what is given. What is
    ``free`` is fitted, as :func:`dse.fit` does, to the rows that are known when a row is predicted:
    all but those of its label. No row is dropped: one that cannot be predicted counts as missing.

    Parameters
    ----------
    model, machine, workload, set, prefer :
        As for :func:`dse.evaluate`.
    data : path, DataFrame, Dataset or mapping of arrays
        As for :func:`dse.fit`; other files by :func:`dse.open`. Columns that the model does not
        know may serve as labels and in formulas.
    to : str, optional
        What was measured; by default the one main output of the model that has a column.
    columns : sequence or mapping, optional
        As for :func:`dse.fit`; by default ``to`` and every column that is an input of the model.
    free, start, bounds, residuals
        As for :func:`dse.fit`.
    own : mapping of str to sequence of str, optional
        A column, and the quantities that have a value for each of its labels, which are fitted too:
        ``{"kernel": ["stall_time", "core_cycles"]}``, as ``per`` of :func:`dse.fit`. A label is
        then predicted by its own rows that are known, and is missing where there are none.
    leave_out : str or sequence of str
        Columns: rows of which they say the same are left out together. ``"row"``: each by itself.
    folds : int
        With more labels than this, several are left out together, dealt out at random.
    per : str or sequence of str
        Columns, or axes of a Dataset: scores again for each of their labels, of the model and of
        each baseline. By default for each label that is left out, where these are few.
    within : str or sequence of str
        Columns: among rows of which they say the same a configuration is chosen, that of the least
        prediction. Its slowdown is over the least that was measured there. Where several are
        equally good the first is chosen; what drawing one of them costs is a row of its own.
    choose : str or sequence of str
        Columns that make a configuration, for the baseline that always takes the same one.
    draws : (int, int), optional
        So many random parts of each space, of so many rows, in place of whole spaces.
    budget : int
        Configurations that a random search measures.
    along : str, optional
        A column over which to interpolate linearly, between known rows of the same label of
        ``own``, or else of the same ``within``.
    baselines : mapping of str to str
        Formulas in columns and in what is given, ``{"bytes": "dram_bytes / mem_bandwidth"}``. With
        ``leave_out`` each counts again, times the one factor that is best on the known rows.
    orders : mapping of str to str
        Formulas that predict nothing, by the least of which one would choose:
        ``{"always 1 GHz": "absolute(core_clock - 1 GHz)"}``.
    interval : float
        Of the intervals: how many rows should lie within. They are learnt with ``leave_out``, from
        how far off predictions of the other labels were.
    progress : bool
        Tell, after a second, for how long the work goes on.

    Raises
    ------
    DseError
        As for :func:`dse.fit`; something is free and nothing left out; rows of one label alone.

    >>> rows = {"threads_in_ms": [64, 128, 256, 512, 1024, 2048],
    ...         "attained_bandwidth [GB/s]": [1, 2, 4, 8, 8, 8]}
    >>> found = validate("transit_supply", rows, leave_out="row",
    ...                  free=["ms_peak_bandwidth", "ms_transition"])
    >>> round(found.score.median, 3), found.baselines["the median, learnt elsewhere"].median
    (0.0, 0.75)
    """
    asked: dict[str, Any] = dict(locals())
    from dse.validation.question import Question
    from dse.validation.run import run
    from sweeps.grid.goals import texts_of

    with shown(asked.pop("progress"), "validating"):
        entries = {kind: asked.pop(kind) for kind in ("machine", "workload")}
        given = dict(asked.pop("set") or {})
        asked |= {"free": tuple(free), "baselines": baselines or {}, "orders": orders or {}}
        asked["own"] = {column: tuple(names) for column, names in (own or {}).items()}
        asked |= {n: texts_of(asked[n], n) for n in ("leave_out", "per", "within", "choose")}
        return run(Question(entries=entries, given=given, **asked))
