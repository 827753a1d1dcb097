"""What is given to the public functions: of the kind they expect, or one clear error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.grid.grid import Grid
from symbolic.errors import DseError, check_known

if TYPE_CHECKING:
    import xarray as xr


def a_dataset(
    given: Any, what: str = "ds", kind: str = "a Dataset, as dse.open and Study.run give it"
) -> xr.Dataset:
    """What was given, which must be a Dataset.

    >>> a_dataset(None)
    Traceback (most recent call last):
    symbolic.errors.DseError: ds = None: expected a Dataset, as dse.open and Study.run give it
    """
    import xarray as xr

    if isinstance(given, xr.Dataset):
        return given
    is_study = hasattr(given, "grid") and hasattr(given, "model")
    shown = f"a {type(given).__name__}" if is_study else _shown(given)
    raise DseError(f"{what} = {shown}: expected {kind}")


def a_mapping(at: Any) -> Mapping[str, Any]:
    """Values of axes, which must be given as a mapping; none where None."""
    if at is not None and not isinstance(at, Mapping):
        raise DseError(
            f"at = {at!r}: expected a mapping from axes to values, such as "
            "{'core_clock': '1.3 GHz'}"
        )
    return at or {}


def a_place(given: Any, what: str = "store") -> str | Path:
    """What was given, which must be a path or URL with a name.

    >>> a_place(".")
    Traceback (most recent call last):
    symbolic.errors.DseError: store = '.': expected a path or URL, such as 'out.zarr'
    """
    if isinstance(given, (str, Path)) and ("://" in str(given) or Path(given).name):
        return given
    raise DseError(f"{what} = {_shown(given)}: expected a path or URL, such as 'out.zarr'")


def of_a_store(store: Any, *, client: Any, workers: Any, **asked: bool) -> None:
    """Raise where a run is asked what only that of a store can do, or neither True nor False."""
    for what, value in asked.items():
        if not isinstance(value, (bool, np.bool_)):
            raise DseError(f"{what} = {_shown(value)}: expected True or False")
    if store is not None:
        return
    if client is not None or workers is not None:
        raise DseError(
            "workers write their tiles into a store, and none is given: give store='OUT.zarr' "
            "(--store)"
        )
    for what in ("fresh", "extend"):
        if asked[what]:
            raise DseError(
                f"{what} (--{what}) is of a store, and none is given: give store='OUT.zarr' "
                "(--store)"
            )


def some_outputs(given: Any) -> tuple[str, ...]:
    """The names that were given, one at least.

    >>> some_outputs("time"), some_outputs(["time", "power"])
    (('time',), ('time', 'power'))
    """
    from sweeps.grid.goals import texts_of

    names = texts_of(given, "outputs")
    if not names:
        raise DseError(f"outputs = {_shown(given)}: name at least one quantity of the model")
    return names


def _shown(given: Any) -> str:
    """A value in few words."""
    text = " ".join(repr(given).split())
    return text if len(text) <= 60 else f"{text[:40]} ... (a {type(given).__name__})"


def places_of(
    grid: Grid, at: Mapping[str, Any], *, among: Collection[str] | None = None, word: str = "at: "
) -> dict[str, int]:
    """The place of each value along its axis, of all of them or ``among`` some.

    Raises
    ------
    UnknownNameError
        A name of no axis; ``word`` stands before it.
    DseError
        A value that its axis does not have.
    """
    axes = grid.axes if among is None else among
    for name in at:
        check_known(name, axes, f"{word}{name!r} is no axis of the study", "its axes are")
    quantities = grid.model.quantities
    return {name: grid.axes[name].position(value, quantities) for name, value in at.items()}
