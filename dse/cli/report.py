"""What ``dse run`` tells of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli.text import Answer, answer, order_of, table
from dse.wording import value_text

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study
    from sweeps.space import Axis

__all__ = ["run_data", "run_text", "size_of"]

_NAMED = 8


def size_of(path: Path) -> int:
    """The bytes of a file or of a folder's files."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def run_data(
    study: Study,
    ds: xr.Dataset,
    *,
    seconds: tuple[float, float, float] | None,
    store: Path | None,
    kept: Path | None,
    best: xr.Dataset | None,
) -> dict[str, Any]:
    """The report of a run for JSON.

    ``seconds`` to compile, to compute and in all, None where the store was finished before;
    ``kept`` is where an earlier store lies now.
    """
    grid = study.grid()
    compiling, computing, total = seconds or (None, None, None)
    feasible = round(float(ds["feasible"].mean()) * grid.points) if "feasible" in ds else None
    return {
        "model": study.model,
        "points": grid.points,
        "feasible_points": grid.points if feasible is None else feasible,
        "axes": {axis.name: _axis_data(axis, study) for axis in grid.axes.values()},
        "outputs": list(grid.outputs),
        "conditions": [condition.text for condition in grid.conditions],
        "computed": seconds is not None,
        "seconds": total,
        "compiling_seconds": compiling,
        "computing_seconds": computing,
        "points_per_second": grid.points / computing if computing else None,
        "store": store,
        "store_bytes": size_of(store) if store is not None else None,
        "memory_bytes": None if store is not None else ds.nbytes,
        "kept_aside": kept,
        "best": answer(best, order_of(study)).data() if best is not None else None,
    }


def _axis_data(axis: Axis, study: Study) -> dict[str, Any]:
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
    from dse.plan import bytes_text

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
    else:
        lines.append("nothing to do: the store of this study is finished")
    if data["best"] is not None:
        best = data["best"]
        apart = [name for name in best["over"] if name != "rank"]
        each = f" for each {' and '.join(apart)}" if apart else ""
        told = Answer(
            question=best["question"],
            over=tuple(best["over"]),
            variables=best["variables"],
            rows=tuple(best["rows"]),
        )
        lines += ["", f"best, {best['question']}{each}:", "", str(told), ""]
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
