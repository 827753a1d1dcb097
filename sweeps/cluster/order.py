"""What is sent to a worker once: the nests of a store's tiles as text, their data, and the place.

Equations are not sent, nor the study: a worker needs no model file and evaluates no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from stochastic import sizes
from sweeps.nest.run import Prepared
from sweeps.store.job import Job
from sweeps.store.medium import Medium, is_url
from sweeps.store.parts import Tile
from sweeps.store.tiles import Recipe, source_of
from symbolic.errors import DseError


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that tiles are computed from; a part of the store, and the labels of its switches."""

    place: str
    recipes: Mapping[int, Recipe]
    nests: Mapping[tuple[int, tuple[int, ...]], Prepared]
    versions: Mapping[str, str]


def versions() -> dict[str, str]:
    """Return the versions and the setting of sizes on which the bytes of a tile depend."""
    known = {name: metadata.version(name) for name in ("simt-dse", "numpy", "numba")}
    return {**known, "DSE_SIZES": sizes.SETTING}


def differing(here: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """Which versions are others here than those that are wanted."""
    return ", ".join(
        f"{name} {v}, not {wanted[name]}" for name, v in here.items() if v != wanted[name]
    )


def order_of(job: Job, tiles: Sequence[Tile]) -> Order:
    """What is needed for some tiles that are computed by nests."""
    parts = job.layout.parts
    sources = {number: source_of(job.layout, parts[number]) for number in {t.part for t in tiles}}
    nests: dict[tuple[int, tuple[int, ...]], Prepared] = {}
    for tile in tiles:
        source = sources[tile.part]
        which = (tile.part, source.recipe.at(tile))
        if which not in nests:
            ready = source.ready(tile)
            assert ready is not None, "small parts are not sent"
            nests[which] = ready
    return Order(
        place=seen_by_all(job.medium),
        recipes={number: source.recipe for number, source in sources.items()},
        nests=nests,
        versions=versions(),
    )


def seen_by_all(medium: Medium) -> str:
    """The place of a store as workers are told it."""
    if not is_url(medium.name):
        return str(Path(medium.name).absolute())
    if medium.name.startswith("memory:"):
        raise DseError(
            f"{medium.name} is in the memory of this process, which no worker sees: choose a "
            "folder that all share, or an object store (s3://)"
        )
    return medium.name
