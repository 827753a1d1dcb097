"""What ``dse run`` tells of a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers import Answer, answer, order_of
from dse.tables import table
from dse.validity import beyond_validity
from dse.wording import failures_text, value_text

if TYPE_CHECKING:
    import xarray as xr

    from dse.outcome import Outcome
    from dse.study.data import StudyData
    from sweeps.grid.space import Axis

__all__ = ["run_data", "run_text", "size_of"]

_NAMED = 8


def size_of(place: str | Path) -> int:
    """The bytes of a file, a folder or a store."""
    from sweeps.store.backend import backend_of

    if isinstance(place, Path) and place.is_file():
        return place.stat().st_size
    return int(backend_of(place).total())


def run_data(
    study: StudyData,
    done: Outcome,
    *,
    seconds: float,
    store: str | None,
    best: xr.Dataset | None,
) -> dict[str, Any]:
    """The report of a run for JSON; ``seconds`` it took in all."""
    grid, ds = study.grid(), done.open() if store is None else None
    computed = done.tiles is None or done.tiles[0] > 0
    feasible = done.feasible
    if ds is not None and "feasible" in ds:
        feasible = round(float(ds["feasible"].mean()) * grid.points)
    return {
        "model": study.model,
        "points": grid.points,
        "feasible_points": grid.points if feasible is None else feasible,
        "axes": {axis.name: _axis_data(axis, study) for axis in grid.axes.values()},
        "outputs": list(grid.outputs),
        "conditions": [condition.text for condition in grid.conditions],
        "computed": computed,
        "tiles_computed": done.tiles[0] if done.tiles else None,
        "tiles_stored_before": done.tiles[1] if done.tiles else None,
        "seconds": seconds if computed else None,
        "compiling_seconds": done.compiling if computed else None,
        "computing_seconds": done.seconds if computed else None,
        "points_per_second": grid.points * done.share / done.seconds if done.seconds else None,
        "store": store,
        "store_bytes": size_of(store) if store is not None else None,
        "memory_bytes": None if ds is None else ds.nbytes,
        "kept_aside": done.kept,
        "values_barred": done.barred,
        "failed": [asdict(failure) for failure in done.failed],
        "notes": [*beyond_validity(study._parts), *study.notes],
        "best": answer(best, order_of(study)).data() if best is not None else None,
    }


def _axis_data(axis: Axis, study: StudyData) -> dict[str, Any]:
    values = axis.coordinate
    row = study.grid().model.quantities.get(axis.name)
    found: dict[str, Any] = {"size": axis.size}
    if row is not None and row.unit and not axis.columns:
        found["unit"] = row.unit
    if axis.labels or axis.size <= _NAMED:
        return {**found, "values": values.tolist()}
    return {**found, "first": values[0], "last": values[-1]}


def _axis_text(said: dict[str, Any]) -> str:
    unit = said.get("unit", "")
    if "values" in said:
        return ", ".join(value_text(value, unit) for value in said["values"])
    return f"{value_text(said['first'], unit)} to {value_text(said['last'], unit)}"


def run_text(data: dict[str, Any]) -> str:
    """The report of a run for people."""
    from dse.planning import bytes_text
    from sweeps.grid.failing import Failure

    lines = [f"{data['model']}: {data['points']:,} configurations"]
    if data["axes"]:
        rows = [[f"  {n}", str(said["size"]), _axis_text(said)] for n, said in data["axes"].items()]
        lines.append(table(["  axis", "values", ""], rows))
    lines.append(f"outputs: {', '.join(data['outputs'])}")
    if data["conditions"]:
        said = " and ".join(data["conditions"])
        lines.append(f"feasible: {data['feasible_points']:,}, where {said}")
    if data["computed"]:
        rate = f"{data['points_per_second'] / 1e6:,.3g}" if data["points_per_second"] else "-"
        lines.append(
            f"computed in {data['computing_seconds']:.3g} s, {rate} million configurations a "
            f"second; compiled in {data['compiling_seconds']:.3g} s; {data['seconds']:.3g} s in all"
        )
        if data["tiles_stored_before"]:
            there, more = data["tiles_stored_before"], data["tiles_computed"]
            lines.append(f"continued: {there:,} tiles were stored before, {more:,} were computed")
    else:
        lines.append("nothing to do: the store of this study is finished")
    if data["values_barred"]:
        many = f"{data['values_barred']:,}"
        lines.append(f"not computed: {many} values, in tiles where no point keeps the rules")
    lines += failures_text([Failure(**failure) for failure in data["failed"]])
    lines += [f"note: {text}" for text in data["notes"]]
    if data["best"] is not None:
        best = data["best"]
        apart = [name for name in best["over"] if name != "rank"]
        each = f" for each {' and '.join(apart)}" if apart else ""
        lines += ["", f"best, {best['question']}{each}:", "", str(Answer(**best)), ""]
    else:
        lines.append("best: name an objective with --minimize or --maximize, or under [best]")
    if data["kept_aside"] is not None:
        lines.append(f"the earlier store is kept as {data['kept_aside']}")
    if data["store"] is not None:
        lines.append(f"dataset: {data['store']} ({bytes_text(data['store_bytes'])})")
    else:
        size = bytes_text(data["memory_bytes"])
        lines.append(f"dataset: kept in memory only ({size}); --store OUT.zarr keeps it")
    return "\n".join(lines)
