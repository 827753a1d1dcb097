"""A question asked for each value of some axes, the answers side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.dataset import assemble
from sweeps.grid.goals import Goal, per_axes
from sweeps.runtime.stopping import halt_between
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

#: What is told of all parts together: by default the sum.
_LEAST = ("complete", "settled")


class Parted(Protocol):
    """A space of configurations that has parts."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The axes, in order, and how many values each has."""

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""

    def only(self, at: Mapping[str, int]) -> Self:
        """The part at one index of some axes, of which places are told as of the whole."""


class Checked(Parted, Protocol):
    """A source whose points can be evaluated one by one, to check an answer."""

    @property
    def is_cheap(self) -> bool:
        """True if points that no answer names can be evaluated at little cost."""

    @property
    def asked_where(self) -> Sequence[str]:
        """The conditions, as text."""

    def evaluated(
        self, places: Mapping[str, NDArray[np.int64]], goals: Sequence[Goal]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
        """Return the signed goals at some points, and where these are feasible."""


AnySource = TypeVar("AnySource", bound=Parted)
Answer = TypeVar("Answer")


def of_parts(
    source: AnySource, per: Sequence[str], ask: Callable[[AnySource], Answer]
) -> list[Answer | InfeasibleError]:
    """What is answered of the part at each value of some axes; where nothing is, why not.

    Without axes the whole is asked, and raises why not; that there was no time is raised of a part,
    too.
    """
    found: list[Answer | InfeasibleError] = []
    sizes = [source.sizes[axis] for axis in per]
    for number, cell in enumerate(np.ndindex(*sizes)):
        halt_between(number, math.prod(sizes))
        try:
            found.append(ask(source.only(dict(zip(per, cell, strict=True))) if per else source))
        except InfeasibleError as error:
            if not per or type(error) is not InfeasibleError:
                raise
            found.append(error)
    return found


def some_of(parts: Sequence[Answer | InfeasibleError]) -> list[Answer]:
    """The answers among them; raises the last reason where there are none."""
    found = [one for one in parts if not isinstance(one, InfeasibleError)]
    if not found and isinstance(why := parts[-1], InfeasibleError):
        raise why
    return found


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
    answers = of_parts(source, per, ask)
    told = some_of(answers)
    first, shape = told[0], tuple(source.sizes[axis] for axis in per)
    variables: dict[str, Any] = {}
    for name, variable in first.data_vars.items():
        nothing = np.full(variable.shape, np.nan)
        rows = [nothing if isinstance(a, InfeasibleError) else a[name].values for a in answers]
        array = np.stack(rows).reshape(*shape, *variable.shape)
        variables[str(name)] = ((*per, *variable.dims), array, dict(variable.attrs))
    own = {name: c for name, c in source.coordinates.items() if c[0] in per}
    coords: dict[Any, Any] = {**own, **first.coords}
    counts = merged([one.attrs for one in told])
    return assemble(variables, coords, {**first.attrs, **counts})


def merged(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is told of several parts, as of one."""
    found: dict[str, Any] = {}
    for one in told:
        for key, value in one.items():
            if key not in found or isinstance(value, str):
                found[key] = value
            elif key in _LEAST:
                found[key] = min(found[key], value)
            else:
                found[key] = max(found[key], value) if key == "gap" else found[key] + value
    return found
