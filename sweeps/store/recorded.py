"""The record of a tile as it lies in a store: whole, and that of this tile of this layout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sweeps.store.cuts import cut_of
from sweeps.store.held import Held
from sweeps.store.layout import Layout
from sweeps.store.medium import Medium, got
from sweeps.store.parts import Tile
from sweeps.store.records import RECORDS, read_sealed
from sweeps.store.zones import EACH


def record_of(layout: Layout, medium: Medium, tile: Tile) -> dict[str, Any] | None:
    """The record of a tile; None where it is missing, damaged, or that of another tile or store."""
    data = got(medium, f"{RECORDS}/{tile.name}")
    found = None if data is None else read_sealed(data)
    return found if found is not None and problem_of(layout, tile, found) is None else None


def problem_of(
    layout: Layout, tile: Tile, record: Mapping[str, Any], held: Held | None = None
) -> str | None:
    """Why a whole record is not that of a tile; ``held`` is what its store must hold, if known."""
    part = layout.parts[tile.part]
    zones = -(-EACH * math.prod(cut_of(part.shape, part.chunk).cells) // 3) * 4
    kinds = ("chunks", "outputs", "zones", *(["bytes"] if layout.packed else []))
    right = (record.get("tile"), record.get("points")) == (tile.name, tile.points)
    right = right and all(set(record.get(kind, ())) == set(part.outputs) for kind in kinds)
    right = right and all(len(text) == zones for text in record["zones"].values())
    if right and held is not None:
        sums = {name: held.expected(layout.key(name, tile)) for name in part.outputs}
        right = all(sums[n] in (None, int(text, 16)) for n, text in record["chunks"].items())
    return None if right else "it is that of another tile or version"
