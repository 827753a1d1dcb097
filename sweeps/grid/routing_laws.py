"""Laws of routing as labels: loads of experts, and of the busiest of the ranks that share them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.errors import DseError
from symbolic.file_access import TABLE_LIMIT, PathBase, allowed_path

Ints = NDArray[np.integer[Any]]
_EXAMPLES = (
    "balanced, a law of the experts' weights such as 'power: 1.2' or 'dirichlet: 0.3', "
    "or a .csv file with the loads of all experts in each row"
)
_LEAST, _DRAWS, _LOADS = sizes.ROUTING_LEAST, sizes.ROUTING_DRAWS, sizes.ROUTING_LOADS
_LAYERS, _LOADS_KEPT = sizes.ROUTING_LAYERS, sizes.ROUTING_LOADS_KEPT


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of experts and its remedies against skew.

    ``capacity`` is the most tokens of an expert over the mean of all experts, or 0 for no limit.
    The share ``dropped`` of the tokens beyond it is dropped; the others move to the experts with
    the fewest tokens. ``copies`` experts get a further copy, one by one, each the expert with the
    most tokens for each copy. A further copy belongs to the rank that has the fewest tokens.
    """

    tokens: int
    topk: int
    experts: int
    ranks: int
    capacity: float
    dropped: float
    copies: int

    def __post_init__(self) -> None:
        for name, value in (("topk", self.topk), ("expert_parallel", self.ranks)):
            if value > self.experts:
                raise ValueError(f"{name} = {value}: expected at most experts = {self.experts}")
        if self.pairs > 2**30:  # tiles are counted with 32 bits
            raise ValueError(f"tokens * topk = {self.pairs}: expected at most {2**30}")

    @property
    def pairs(self) -> int:
        """Return the number of pairs of a token and an expert."""
        return self.tokens * self.topk

    def limit(self, loads: Ints) -> Ints:
        """Return the loads of experts within their limits, in rows."""
        loads = _limit(loads, self.tokens, 0.0)  # the experts of a token are distinct
        most = min(self.capacity * self.pairs / self.experts, self.tokens) or self.tokens
        return _limit(loads, math.ceil(most), self.dropped)

    def busiest_rank(self, loads: Ints, tile_rows: tuple[float, ...]) -> NDArray[np.int32]:
        """Return numbers of the rank with the most tokens; the rows ascend with its tokens.

        ``loads`` are within their limits. The columns are tokens, occupied experts, dropped tokens
        of all ranks, and tiles for each number of rows of a tile.
        """
        dropped = self.pairs - loads.sum(axis=1)
        rank: Ints = np.arange(self.experts) * self.ranks // self.experts
        totals = np.add.reduceat(loads, np.flatnonzero(np.diff(rank, prepend=-1)), axis=1)
        if self.copies:
            loads, rank, totals = _replicate(loads, rank, totals, self.copies)
        here = np.where(rank == totals.argmax(axis=1, keepdims=True), loads, 0)
        columns = [here.sum(axis=1), np.count_nonzero(here, axis=1), dropped]
        columns += [((here + int(rows) - 1) // int(rows)).sum(axis=1) for rows in tile_rows]
        result = np.stack(columns, axis=1).astype(np.int32)
        return result[np.lexsort((result[:, 3], result[:, 0]))]


def _limit(loads: Ints, most: int, dropped: float) -> Ints:
    """Return loads up to ``most``; what is not dropped fills the smallest loads of its row."""
    over = loads.max(axis=1) > most
    if not over.any():
        return loads
    least = np.minimum(loads[over], most)
    excess = loads[over].sum(axis=1) - least.sum(axis=1)
    items = np.minimum(excess - np.rint(excess * dropped).astype(np.int64), (most - least).sum(1))
    order = np.argsort(least, axis=1, kind="stable")
    ascending = np.take_along_axis(least, order, axis=1)
    sums, number = np.cumsum(ascending, axis=1), np.arange(1, loads.shape[1] + 1)
    count = (ascending * number - sums <= items[:, None]).sum(axis=1)  # bins that get items
    level, rest = np.divmod(items + sums[np.arange(len(sums)), count - 1], count)
    filled = level[:, None] + (number <= rest[:, None])
    filled = np.where(number <= count[:, None], filled, ascending)
    result = loads.copy()
    np.put_along_axis(least, order, filled.astype(least.dtype), axis=1)
    result[over] = least
    return result


def _replicate(loads: Ints, rank: Ints, totals: Ints, copies: int) -> tuple[Ints, Ints, Ints]:
    """Return the loads and ranks of all copies of experts, and the new totals of ranks."""
    rank = np.broadcast_to(rank, loads.shape)
    draws, count, hot = np.arange(len(loads)), np.ones_like(loads), []
    for _ in range(copies):
        hot.append((loads / count).argmax(axis=1))
        count[draws, hot[-1]] += 1
    part, totals = loads // count, totals.copy()
    loads = loads - part * (count - 1)
    for expert in hot:
        moved = part[draws, expert]
        totals[draws, rank[draws, expert]] -= moved
        least = totals.argmin(axis=1)
        totals[draws, least] += moved
        loads, rank = np.column_stack([loads, moved]), np.column_stack([rank, least])
    return loads, rank, totals


class RoutingLaw(str):
    """A law of the loads of experts, and its name; ``content`` distinguishes files of one name.

    ``draw`` returns loads of the experts of a layer, in rows; None for balanced loads.
    """

    __slots__ = ("content", "draw")

    content: str
    draw: Callable[[Layer], Ints] | None

    def __new__(cls, text: str, draw: Callable[[Layer], Ints] | None, content: str) -> RoutingLaw:
        """Return the text with its function."""
        result = super().__new__(cls, text)
        result.draw, result.content = draw, content
        return result

    def __getnewargs__(self) -> Any:
        return str(self), self.draw, self.content

    def busiest_rank(
        self, tile_rows: tuple[float, ...], level: float, *sizes: float
    ) -> tuple[float, ...]:
        """Return tokens, occupied experts, dropped tokens and tiles of the busiest rank.

        ``sizes`` are the fields of :class:`Layer`. The results are means if ``level`` is negative,
        and otherwise the numbers at this probability level of the tokens of the busiest rank.
        """
        if self.draw is None:
            pairs = max(sizes[0] * sizes[1] / sizes[3], 1.0)
            occupied = min(max(sizes[2] / sizes[3], 1.0), pairs)
            tiles = (occupied * math.ceil(pairs / occupied / rows) for rows in tile_rows)
            return pairs, occupied, 0.0, *tiles
        *whole, capacity, dropped, copies = sizes
        tokens, topk, experts, ranks = map(int, whole)
        layer = Layer(tokens, topk, experts, ranks, capacity, dropped, int(copies))
        mean, rows = _busiest_rank(self, self.content, layer, tile_rows)
        if level < 0:
            return mean
        return tuple(rows[min(int(level * len(rows)), len(rows) - 1)].astype(float).tolist())


@lru_cache(maxsize=_LOADS_KEPT)
def _loads(law: RoutingLaw, content: str, layer: Layer) -> Ints:
    assert law.draw is not None
    return layer.limit(law.draw(layer)).astype(np.int32)


@lru_cache(maxsize=_LAYERS)
def _busiest_rank(
    law: RoutingLaw, content: str, layer: Layer, tile_rows: tuple[float, ...]
) -> tuple[tuple[float, ...], NDArray[np.int32]]:
    """Return the mean numbers of the busiest rank, and the numbers of each draw."""
    loads = _loads(law, content, replace(layer, ranks=1, copies=0))  # the same for all ranks
    rows = layer.busiest_rank(loads, tile_rows)
    return tuple(rows.mean(axis=0).tolist()), rows


def _draws_of_weights(text: str, layer: Layer) -> Ints:
    from stochastic import loads

    if "," not in text and text.lower().startswith("power"):
        # the range of weights in aiconfigurator's measurements of power laws
        low, high = (1.0, 0.8 * layer.tokens) if layer.pairs > layer.experts else (0.01, 2.0)
        text = f"{text}, {low!r}, {high!r}"
    law = loads(layer.pairs, layer.experts, weights=text, spread="even")
    return law.sample(max(min(_DRAWS, _LOADS // layer.experts), _LEAST))


def _draws_of_trace(counts: Ints, layer: Layer) -> Ints:
    from stochastic.skew.shares import spread_evenly

    if counts.shape[1] != layer.experts:
        raise ValueError(f"experts = {layer.experts}: the file has {counts.shape[1]} in each row")
    rows = np.repeat(counts, -(-_LEAST // len(counts)), axis=0)
    shares = rows / rows.sum(axis=1, keepdims=True)
    return spread_evenly(layer.pairs, shares, np.random.default_rng(0))


def read_routing(value: Any, folder: PathBase, where: str) -> RoutingLaw:
    """Return the label of a law of routing; relative paths start at ``folder``."""
    from stochastic.checks import LawError
    from stochastic.skew.weights import read_weights

    if isinstance(value, RoutingLaw):
        return value
    if not isinstance(value, (str, Path)):
        raise DseError(f"{where} {value!r}: expected {_EXAMPLES}")
    text = str(value).strip()
    if text == "balanced":
        return RoutingLaw(text, None, "")
    try:
        if text.lower().endswith((".csv", ".csv.gz")):
            counts, digest = _read_trace(Path(allowed_path(text, folder, "trace", TABLE_LIMIT)))
            return RoutingLaw(text, partial(_draws_of_trace, counts), digest)
        read_weights(f"{text}, 1, 2" if re.fullmatch(r"power\s*:[^,]*", text, re.I) else text)
    except LawError as error:
        raise DseError(f"{where} {text!r}: expected {_EXAMPLES}: {error}") from error
    return RoutingLaw(text, partial(_draws_of_weights, text), "")


def _read_trace(path: Path) -> tuple[Ints, str]:
    """Return the loads of experts, one row of all experts for each draw, and their digest."""
    from stochastic.checks import LawError
    from stochastic.delimited import read_table

    columns = read_table(path, header=False).parse_numbers().columns
    rows = [*zip(*columns, strict=True)] if len(columns) > 1 else columns
    numbers = [number for row in rows for number in row]
    is_valid = all(isinstance(number, int) and 0 <= number <= 2**40 for number in numbers)
    if not is_valid or not rows or not all(map(any, rows)):
        raise LawError(f"{path}: expected whole numbers from 0 on, and one above 0 in each row")
    counts = np.array(rows, dtype=np.int64)
    digest = hashlib.sha256(counts.tobytes()).hexdigest()
    return counts, f"{len(counts):,} rows of {counts.shape[1]:,} experts, sha256 {digest}"
