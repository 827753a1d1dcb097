"""How the bodies of this folder are compiled."""

from __future__ import annotations

from typing import Any

from stochastic.kept import compiled

__all__ = ["inlined", "jitted", "put"]

#: Without counts of who holds an array: nothing is made or freed in these bodies, and counting took
#: two thirds of their time.
jitted = compiled(_nrt=False)
#: Written into its one caller before that is compiled, so that it is not compiled twice.
inlined = compiled(inline="always", _nrt=False)


@jitted
def put(place: Any, values: Any) -> None:
    """Write some values into a place of their size."""
    for k in range(values.size):
        place[k] = values[k]
