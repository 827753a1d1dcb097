"""A question asked for each value of some axes, the answers side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from sweeps.ask.front import merged
from sweeps.grid.dataset import assemble
from sweeps.grid.goals import per_axes
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Parted", "for_each"]


class Parted(Protocol):
    """A source that has parts."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The axes, in order, and how many values each has."""

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""

    def only(self, at: Mapping[str, int]) -> Self:
        """The part at one index of some axes."""


AnySource = TypeVar("AnySource", bound=Parted)


def for_each(
    source: AnySource, per: Sequence[str], ask: Callable[[AnySource], xr.Dataset]
) -> xr.Dataset:
    """What is answered of each part of a source, along the axes ``per``, in their order.

    Where nothing is answered stands NaN.

    Raises
    ------
    InfeasibleError
        There is no answer for any part.
    UnknownNameError
        One of the axes is none.
    """
    if not per:
        return ask(source)
    per = per_axes(per, tuple(source.sizes))
    shape = tuple(source.sizes[axis] for axis in per)
    answers: list[xr.Dataset | None] = []
    for cell in np.ndindex(*shape):
        try:
            answers.append(ask(source.only(dict(zip(per, cell, strict=True)))))
        except InfeasibleError as error:
            if type(error) is not InfeasibleError:  # out of time
                raise
            none = error
            answers.append(None)
    told = [one for one in answers if one is not None]
    if not told:
        raise none
    first = told[0]
    variables: dict[str, Any] = {}
    for name, variable in first.data_vars.items():
        nothing = np.full(variable.shape, np.nan)
        rows = [nothing if one is None else one[name].values for one in answers]
        array = np.stack(rows).reshape(*shape, *variable.shape)
        variables[str(name)] = ((*per, *variable.dims), array, dict(variable.attrs))
    own = {name: c for name, c in source.coordinates.items() if c[0] in per}
    coords: dict[Any, Any] = {**own, **first.coords}
    counts = merged([one.attrs for one in told])
    return assemble(variables, coords, {**first.attrs, **counts})
