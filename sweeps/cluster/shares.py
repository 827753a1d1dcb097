"""A question shared out: each worker of a cluster is asked of parts, and answers come in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from stochastic import sizes
from sweeps.cluster.workers import Workers, differing, versions
from sweeps.grid.grid import At
from symbolic.errors import DseError

#: Parts for each thread of a worker, so that all end about together.
_SHARES = sizes.CLUSTER_SHARES

Answer = TypeVar("Answer")


def parts_of(sizes: Mapping[str, int], dims: Sequence[str], crew: Workers) -> list[At]:
    """Slices of the longest axis, of those along which anything varies."""
    axis = max(dims, key=lambda name: sizes[name], default=None)
    if axis is None:
        return [{}]
    threads = sum(crew.client.nthreads().values())
    count = min(sizes[axis], _SHARES * max(threads, 1))
    ends = [number * sizes[axis] // count for number in range(count + 1)]
    return [{axis: slice(a, b)} for a, b in itertools.pairwise(ends)]


def shared(
    crew: Workers, ask: Callable[[Any, At], Answer], source: Any, parts: Sequence[At]
) -> Iterator[Answer]:
    """What is answered of each part of a source, which the workers are sent once."""
    client = crew.client
    there = client.scatter(source, hash=False)
    asked = [client.submit(_answer, ask, there, part, versions(), pure=False) for part in parts]
    try:
        for future in asked:
            yield future.result()
    finally:
        client.cancel(asked)


def _answer(
    ask: Callable[[Any, At], Answer], source: Any, part: At, wanted: Mapping[str, str]
) -> Answer:
    if other := differing(versions(), wanted):
        raise DseError(f"a worker has {other}: install the same versions there")
    return ask(source, part)
