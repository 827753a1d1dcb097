"""Laws of routing as labels: loads of experts, and of the busiest of the ranks that share them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.errors import DseError
from symbolic.file_access import TABLE_LIMIT, PathBase, allowed_path

Ints = NDArray[np.int64]
_EXAMPLES = (
    "balanced, a law of the experts' weights such as 'power: 1.2' or 'dirichlet: 0.3', "
    "or a .csv file with the loads of all experts in each row"
)
_LEAST_DRAWS = 64
_MOST_PAIRS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer of experts and its remedies against skew.

    ``capacity`` is the most tokens of an expert over the mean of all experts. The share ``dropped``
    of the tokens beyond it is dropped; the others move to the experts with the fewest tokens.
    ``copies`` experts get a further copy, one by one, each the expert with the most tokens for each
    copy. A further copy belongs to the rank that has the fewest tokens.
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
        if self.pairs > _MOST_PAIRS:
            raise ValueError(f"{self.pairs} pairs: expected tokens * topk up to {_MOST_PAIRS}")

    @property
    def pairs(self) -> int:
        """Return the number of pairs of a token and an expert."""
        return self.tokens * self.topk

    def limit(self, loads: Ints) -> Ints:
        """Return the loads of experts within their limits, in rows.

        The experts of a token are distinct, so an expert has at most ``tokens``.
        """
        loads = _limit(loads, self.tokens, 0.0)
        most = self.capacity * self.pairs / self.experts
        return _limit(loads, math.ceil(most), self.dropped) if most < self.tokens else loads


@dataclass(frozen=True, slots=True, kw_only=True)
class BusiestRank:
    """Numbers of the rank with the most tokens; the rows ascend with its tokens.

    The columns are tokens, occupied experts, dropped tokens of all ranks, and tiles for each number
    of rows of a tile.
    """

    rows: NDArray[np.int32]
    mean: tuple[float, ...]

    @classmethod
    def from_loads(cls, loads: Ints, layer: Layer, tile_rows: tuple[float, ...]) -> BusiestRank:
        """Return the numbers for loads of all experts, in rows."""
        draws, ranks = np.arange(len(loads))[:, None], layer.ranks
        loads = layer.limit(loads)
        rank = np.arange(layer.experts) * ranks // layer.experts
        rank = np.broadcast_to(rank, loads.shape)
        pairs = loads.sum(axis=1)
        totals = np.bincount((draws * ranks + rank).ravel(), loads.ravel(), len(loads) * ranks)
        totals = totals.reshape(-1, ranks).astype(np.int64)
        if layer.copies:
            loads, rank, totals = _replicate(loads, rank, totals, layer.copies)
        row, place = np.nonzero((rank == totals.argmax(axis=1, keepdims=True)) & (loads > 0))
        here = loads[row, place]
        values = [here, np.ones_like(here), *(-(-here // int(rows)) for rows in tile_rows)]
        columns = [np.bincount(row, value, len(loads)) for value in values]
        columns.insert(2, layer.pairs - pairs)
        result = np.stack(columns, axis=1).astype(np.int32)
        result = result[np.lexsort((result[:, 3], result[:, 0]))]
        return cls(rows=result, mean=tuple(result.mean(axis=0).tolist()))


def _limit(loads: Ints, most: int, dropped: float) -> Ints:
    over = np.flatnonzero(loads.max(axis=1) > most)
    result = loads.copy() if len(over) else loads
    for row in over:
        excess = int(np.maximum(loads[row] - most, 0).sum())
        result[row] = _fill(np.minimum(loads[row], most), excess - round(excess * dropped), most)
    return result


def _fill(loads: Ints, items: int, most: int) -> Ints:
    """Return loads after items are added one by one, each to the smallest load below ``most``."""
    items = min(items, int((most - loads).sum()))
    order = np.argsort(loads, kind="stable")
    ascending = loads[order]
    cost = ascending * np.arange(1, len(loads) + 1) - np.cumsum(ascending)
    count = int(np.searchsorted(cost, items, side="right"))  # bins that get items
    level, rest = divmod(items + int(ascending[:count].sum()), count)
    ascending[:count] = level
    ascending[:rest] += 1
    result = np.empty_like(loads)
    result[order] = ascending
    return result


def _replicate(loads: Ints, rank: Ints, totals: Ints, copies: int) -> tuple[Ints, Ints, Ints]:
    """Return the loads and ranks of all copies of experts, and the new totals of ranks."""
    draws, count, hot = np.arange(len(loads)), np.ones_like(loads), []
    for _ in range(copies):
        hot.append((loads / count).argmax(axis=1))
        count[draws, hot[-1]] += 1
    part, totals = loads // count, totals.copy()
    loads = loads - part * (count - 1)
    for expert in hot:
        moved = part[draws, expert]
        np.subtract.at(totals, (draws, rank[draws, expert]), moved)
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
        tokens, topk, experts, ranks, capacity, dropped, copies = sizes
        if self.draw is None:
            pairs = max(tokens * topk / ranks, 1.0)
            occupied = min(max(experts / ranks, 1.0), pairs)
            tiles = (occupied * math.ceil(pairs / occupied / rows) for rows in tile_rows)
            return pairs, occupied, 0.0, *tiles
        layer = Layer(
            tokens=int(tokens),
            topk=int(topk),
            experts=int(experts),
            ranks=int(ranks),
            capacity=capacity,
            dropped=dropped,
            copies=int(copies),
        )
        numbers = _busiest_rank(self, self.content, layer, tile_rows)
        if level < 0:
            return numbers.mean
        last = len(numbers.rows) - 1
        return tuple(numbers.rows[min(int(level * (last + 1)), last)].astype(float).tolist())


@lru_cache(maxsize=sizes.ROUTING_LAYERS)
def _busiest_rank(
    law: RoutingLaw, content: str, layer: Layer, tile_rows: tuple[float, ...]
) -> BusiestRank:
    assert law.draw is not None
    return BusiestRank.from_loads(law.draw(layer), layer, tile_rows)


def _draws_of_weights(text: str, layer: Layer) -> Ints:
    from stochastic import loads

    if "," not in text and text.lower().startswith("power"):
        # the range of weights in aiconfigurator's measurements of power laws
        low, high = (1.0, 0.8 * layer.tokens) if layer.pairs > layer.experts else (0.01, 2.0)
        text = f"{text}, {low!r}, {high!r}"
    law = loads(layer.pairs, layer.experts, weights=text, spread="even")
    draws = min(sizes.ROUTING_DRAWS, sizes.ROUTING_LOADS // layer.experts)
    return law.sample(max(draws, _LEAST_DRAWS))


def _draws_of_trace(counts: Ints, layer: Layer) -> Ints:
    from stochastic.skew.loads import spread_evenly

    if counts.shape[1] != layer.experts:
        raise ValueError(
            f"experts = {layer.experts}: the file has the loads of {counts.shape[1]} experts in "
            "each row, expected as many"
        )
    rows = np.repeat(counts, -(-_LEAST_DRAWS // len(counts)), axis=0)
    shares = rows / rows.sum(axis=1, keepdims=True)
    return spread_evenly(layer.pairs, shares, np.random.default_rng(0))


def read_routing(value: Any, folder: PathBase, where: str) -> RoutingLaw:
    """Return the label of a law of routing; relative paths start at ``folder``."""
    from stochastic.errors import LawError
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
    from stochastic.delimited import read_table
    from stochastic.errors import LawError

    columns = read_table(path, header=False).parse_numbers().columns
    cells = [number for column in columns for number in column]
    if not all(isinstance(number, (int, float)) and 0 <= number < _MOST_PAIRS for number in cells):
        raise LawError(f"{path}: expected numbers of tokens from 0 on in all columns")
    counts = np.array(columns, dtype=np.int64).T
    counts = counts.reshape(1, -1) if counts.ndim == 2 and counts.shape[1] == 1 else counts
    if counts.size == 0 or not counts.any(axis=1).all():
        raise LawError(f"{path}: expected rows with at least one token")
    digest = hashlib.sha256(counts.tobytes()).hexdigest()
    return counts, f"{len(counts):,} rows of {counts.shape[1]:,} experts, sha256 {digest}"
