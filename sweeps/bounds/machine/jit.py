"""How the bodies of this folder are compiled."""

from __future__ import annotations

from stochastic.kept import compiled

#: Without counts of who holds an array: nothing is made or freed in these bodies, and counting took
#: two thirds of their time.
jitted = compiled(_nrt=False, flat=True)


@jitted
def put(place, values) -> None:
    """Write some values into a place of their size."""
    for k in range(values.size):
        place[k] = values[k]
