"""The promised functions that are not a room of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbolic.library import available_models, load_model
from symbolic.model import Model

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "best_config",
    "disagreement",
    "export",
    "model",
    "models",
    "open",
    "optimum",
    "pareto",
]


def model(name: str, *, prefer: str | None = None) -> Model:
    """A model by its name, the path of its file, or several joined by ``+``.

    >>> model("transit").closed_form("ms_transition")
    mem_latency*ms_peak
    """
    return load_model(name, prefer=prefer)


class _Models(Mapping[str, Model]):
    """The models by name, loaded when asked for."""

    def __getitem__(self, name: str) -> Model:
        if name not in self:
            from symbolic.errors import UnknownEntryError, nearest

            known = list(self)
            raise UnknownEntryError(
                f"{name!r} is no model{nearest(str(name), known)}; there are: {', '.join(known)}"
            )
        return load_model(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(available_models()))

    def __len__(self) -> int:
        return len(available_models())

    def __contains__(self, name: object) -> bool:
        return name in available_models()


def models() -> Mapping[str, Model]:
    """Every model by its name: the shipped, and those in the folders of ``DSE_PATH``.

    >>> "mwp_cwp" in models()
    True
    """
    return _Models()


def open(  # noqa: A001
    path: str | Path,
    *,
    axes: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    shape: str = "auto",
    add: str | Sequence[str] = (),
) -> xr.Dataset:
    """Open a store or file that this library wrote, or measurements of somebody else's.

    Measured are T4 files and caches of Kernel Tuner (``.json``, ``.json.gz``), and CSV or Parquet
    files with named columns. They become Datasets like those of a run: ``feasible`` marks what was
    measured, ``status`` says why the rest was not; where a number is missing stands NaN.

    Parameters
    ----------
    path : path
        zarr, netCDF, CSV or Parquet as :func:`export` or a run writes them; or measurements.
    axes : sequence of str, optional
        Of a measured table, the columns that make a configuration; tuners' files tell theirs.
        Without it every column is a variable.
    units : mapping of str to str, optional
        Of measured columns, ``{"time": "ms"}``. A header may end in one, ``time [ms]``; a quantity
        of this library without a unit is in the stored one. Values are stored in SI.
    shape : {"auto", "grid", "rows"}
        Of measurements: over their axes, with NaN where a combination was not measured, or row by
        row along ``configuration``. By itself a grid is made of what fills at least half of one
        and holds no configuration twice.
    add : str or list of str
        Further quantities of the model of a run, computed when they are read; see :func:`derive`.

    Raises
    ------
    DseError
        Nothing is there, or it is not of a kind that can be read; a unit that does not fit.
    """
    from sweeps.export import open_dataset

    if isinstance(path, (str, Path)):
        from dse.measured import is_measured, open_measured

        if Path(path).exists() and is_measured(Path(path)):
            return open_measured(Path(path), axes=axes, units=units, shape=shape)
    if axes is not None or units is not None or shape != "auto":
        from symbolic.errors import DseError

        raise DseError(
            f"{str(path)!r} is no file of measurements: axes, units, shape serve only it"
        )
    ds = open_dataset(path)
    if not add:
        return ds
    from dse.derived import derive

    return derive(ds, add)


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset as ``.zarr``, ``.nc``, ``.csv`` or ``.parquet``; see :func:`open`."""
    from dse.given import a_dataset, a_place
    from sweeps.export import export as write

    return write(a_dataset(ds), a_place(path, "path"))


def optimum(
    ds: xr.Dataset | str | Path,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int = 1,
    ties: bool = False,
) -> xr.Dataset:
    """The best configurations of a Dataset, or of the store or file at a path.

    The parameters are those of :meth:`Study.optimum`. Points that the Dataset marks as not
    feasible, and NaN, are never an optimum. Of a finished store, given by its path or as
    :func:`open` and :meth:`Study.run` give it, only those values are read that can decide; the
    attributes ``blocks_read`` and ``blocks`` tell how few. A quantity that is not stored is
    computed from the axes, if the model of the store can be found unchanged.

    >>> from dse import Study
    >>> ds = Study(model="transit", axes={"threads": [256, 1024, 512]},
    ...            set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}).run()
    >>> best_config(optimum(ds, maximize="cs_throughput"))["threads"]
    1024
    """
    from dse.questions import ask_optimum
    from sweeps.answers import texts_of
    from sweeps.goals import goals_in_order

    return ask_optimum(
        ds,
        goals_in_order(minimize, maximize),
        where=texts_of(where, "where"),
        per=texts_of(per, "per"),
        top=top,
        ties=ties,
    )


def pareto(
    ds: xr.Dataset | str | Path,
    *,
    minimize: str | Sequence[str] | None = None,
    maximize: str | Sequence[str] | None = None,
    where: str | Sequence[str] = (),
) -> xr.Dataset:
    """The configurations that no other beats in every objective; of what :func:`optimum` takes."""
    from dse.questions import ask_pareto
    from sweeps.answers import read_goals, texts_of

    return ask_pareto(ds, read_goals(minimize, maximize), where=texts_of(where, "where"))


def disagreement(
    ds: xr.Dataset,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    per: str | Sequence[str] | None = None,
) -> xr.Dataset:
    """Where the models of a Dataset disagree, and what it costs to follow one if another is right.

    Parameters
    ----------
    ds : xarray.Dataset
        Of several models, along the dimension ``model``: ``dse.Study(model=[...], ...).run()``.
    minimize, maximize : str, optional
        What decides which configuration is best; ``minimize="time"`` where there is a time, else
        only cases and bounds are compared.
    where : str or list of str
        Constraints besides those that the Dataset carries.
    per : str or list of str, optional
        Axes for each value of which the models are compared; all other axes are chosen freely.

    Returns
    -------
    xarray.Dataset
        For each case or bound ``x``: ``x_differs`` over the axes, where not all models say the same
        (by its meaning, whatever its number), and ``x_disagreement`` (model, under), the share of
        the configurations on which two models differ. ``best_<axis>`` and ``best_<objective>``
        (model), each model's optimum; ``ties``, how many configurations are as good: the first of
        them is taken. ``regret`` (model, under): the objective at the optimum of ``model``, as
        ``under`` has it, over the optimum of ``under``; the other way round where it is maximized,
        so that 1 is no loss; infinite where ``under`` does not allow it. ``optimum_differs``: where
        that is above 1. ``feasible_differs``: what some models allow and others do not.

    Raises
    ------
    DseError
        A Dataset of one model, a quantity that is not in it, an objective below 0.

    >>> from dse import Study
    >>> both = Study(model=["occupancy + mwp_cwp", "occupancy + transit + transit_time"],
    ...              machine="gtx280", workload="mat_tiled", axes={"active_sms": range(1, 31)},
    ...              set={"threads_per_block": 256})
    >>> found = disagreement(both.run())
    >>> found.best_active_sms.values.tolist(), float(found.regret.max())
    ([30, 30], 1.0)
    """
    from dse.given import a_dataset
    from sweeps.answers import one_goal, texts_of
    from sweeps.differences import dataset_disagreement, flag_names

    ds = a_dataset(ds)
    named = minimize is not None or maximize is not None
    if not named and "time" in ds:
        minimize, named = "time", True
    if not named and not flag_names(ds):
        from symbolic.errors import DseError

        raise DseError("nothing to compare: name an objective with minimize= or maximize=")
    goal = one_goal(minimize, maximize) if named else None
    return dataset_disagreement(ds, goal, where=texts_of(where, "where"), per=per)


def best_config(best: xr.Dataset) -> dict[str, Any]:
    """A single winner as a plain dict: its coordinates (the configuration) and outputs.

    A winner of rank 1 is taken where the Dataset ranks several.
    """
    from dse.given import a_dataset

    if "rank" in a_dataset(best, "best").sizes:
        best = best.isel(rank=0)
    if best.sizes:
        from symbolic.errors import DseError

        dims = ", ".join(map(str, best.sizes))
        raise DseError(f"there is a winner for each of {dims}: select one first (best.isel)")
    return {str(name): variable.values.item() for name, variable in best.variables.items()}
