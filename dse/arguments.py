"""Check the arguments of public functions; a wrong argument raises DseError with an explanation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.call_checks import short_repr
from dse.inputs.merge import by_quantity_name
from sweeps.grid.grid import Grid
from symbolic.errors import DseError, check_name

if TYPE_CHECKING:
    import xarray as xr


def require_dataset(
    value: Any, what: str = "ds", kind: str = "a Dataset, as dse.open and Study.run give it"
) -> xr.Dataset:
    """Return ``value`` if it is a Dataset; otherwise raise DseError."""
    import xarray as xr

    if isinstance(value, xr.Dataset):
        return value
    is_study = hasattr(value, "grid") and hasattr(value, "model")
    shown = f"a {type(value).__name__}" if is_study else short_repr(value)
    raise DseError(f"{what} = {shown}: expected {kind}")


def require_mapping(at: Any, what: str = "at") -> Mapping[str, Any]:
    """Return ``at`` if it is a mapping, or an empty mapping for None; raise DseError otherwise."""
    if at is not None and not isinstance(at, Mapping):
        raise DseError(
            f"{what} = {at!r}: expected a mapping from axes to values, such as "
            "{'core_clock': '1.3 GHz'}"
        )
    return at or {}


def require_path(value: Any, what: str = "store") -> str | Path:
    """Return ``value`` if it is a URL or a path with a file name; otherwise raise DseError."""
    if isinstance(value, (str, Path)) and ("://" in str(value) or Path(value).name):
        return value
    raise DseError(f"{what} = {short_repr(value)}: expected a path or URL, such as 'out.zarr'")


def require_outputs(outputs: Any) -> tuple[str, ...]:
    """Return the names of outputs as a tuple; raise DseError if there is none."""
    from sweeps.grid.goals import texts_of

    names = texts_of(outputs, "outputs")
    if not names:
        raise DseError(f"outputs = {short_repr(outputs)}: name at least one quantity of the model")
    return names


def axis_conditions(grid: Grid, at: Mapping[str, Any]) -> list[str]:
    """Return constraints that fix axes at values."""
    values = {name: grid.axes[name].coordinate[k] for name, k in axis_indices(grid, at).items()}
    return [f"{name} == {value.item()!r}" for name, value in values.items()]


def axis_indices(
    grid: Grid,
    at: Mapping[str, Any],
    *,
    allowed: Collection[str] | None = None,
    prefix: str = "at: ",
) -> dict[str, int]:
    """Return the index of each value on its axis; error messages begin with ``prefix``."""
    at = by_quantity_name(grid.model.names_by_symbol, at)
    axes = grid.axes if allowed is None else allowed
    for name in at:
        check_name(name, axes, f"{prefix}{name!r} is no axis of the study", "its axes are")
    quantities = grid.model.quantities
    return {name: grid.axes[name].position(value, quantities) for name, value in at.items()}
