"""Laws of routing: texts, limits and copies of experts, and the busiest rank, by slow twins."""

from __future__ import annotations

import pickle
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stochastic.skew.shares import spread_evenly
from sweeps.grid.routing_laws import Layer, RoutingLaw
from sweeps.grid.work_laws import contents, read_label
from symbolic.errors import DseError

ROWS = (16.0, 100.0, 1.0)


def read(text: Any, folder: Any = None) -> Any:
    return read_label("routing", text, folder)


def layer(**changes: Any) -> Layer:
    given = {"tokens": 12, "topk": 2, "experts": 6, "ranks": 3}
    rest = {"capacity": 0.0, "dropped": 1.0, "copies": 0}
    return Layer(**{**given, **rest, **changes})


# --- slow twins


def pour(loads: list[int], most: int, dropped: float) -> list[int]:
    over = sum(max(n - most, 0) for n in loads)
    first = [min(n, most) for n in loads]
    result = first.copy()
    for _ in range(over - round(over * dropped)):
        place = min(range(len(result)), key=lambda k: (result[k], first[k], k))
        if result[place] < most:
            result[place] += 1
    return result


def numbers_by_hand(loads: list[int], shape: Layer) -> list[float]:
    loads = pour(loads, shape.tokens, 0)
    if shape.capacity:
        most = ceil(shape.capacity * shape.pairs / shape.experts)
        loads = pour(loads, most, shape.dropped)
    dropped = shape.pairs - sum(loads)
    parts: list[list[list[int]]] = [[] for _ in range(shape.ranks)]  # [rank][place] = [load]
    copies = [1] * shape.experts
    hot = []
    for _ in range(shape.copies):
        hot.append(max(range(len(loads)), key=lambda e: (loads[e] / copies[e], -e)))
        copies[hot[-1]] += 1
    home = [e * shape.ranks // shape.experts for e in range(shape.experts)]
    for e, load in enumerate(loads):
        parts[home[e]].append([load])
    first = {e: parts[home[e]][home[:e].count(home[e])] for e in range(shape.experts)}
    for e in hot:
        part = loads[e] // copies[e]
        first[e][0] -= part
        sums = [sum(p[0] for p in rank) for rank in parts]
        parts[int(np.argmin(sums))].append([part])
    sums = [sum(p[0] for p in rank) for rank in parts]
    here = [p[0] for p in parts[int(np.argmax(sums))]]
    tiles = [sum(ceil(n / rows) for n in here) for rows in ROWS]
    return [sum(here), sum(n > 0 for n in here), dropped, *tiles]


@pytest.mark.parametrize("seed", range(60))
def test_the_busiest_rank_is_that_of_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    experts = int(rng.integers(1, 9))
    shape = layer(
        experts=experts,
        topk=int(rng.integers(1, experts + 1)),
        tokens=int(rng.integers(1, 200)),
        ranks=int(rng.integers(1, experts + 1)),
        capacity=float(rng.choice([0, 0.5, 1, 1.3])),
        dropped=float(rng.choice([0, 0.5, 1])),
        copies=int(rng.integers(0, 5)),
    )
    shares = rng.dirichlet(np.full(experts, 0.3), 20)
    loads = spread_evenly(shape.pairs, shares, rng)
    result = shape.busiest_rank(shape.limit(loads), ROWS).tolist()
    expected = [numbers_by_hand(row, shape) for row in loads.tolist()]
    assert sorted(result) == sorted(expected)
    assert [row[0] for row in result] == sorted(row[0] for row in expected)


def test_the_default_range_of_a_power_law_depends_on_the_tokens() -> None:
    many = read("power: 1.2").draw(layer(tokens=1000, topk=2, experts=8))
    assert (many == read("power: 1.2, 1, 800").draw(layer(tokens=1000, topk=2, experts=8))).all()
    few = read("power: 1.2").draw(layer(tokens=4, topk=2, experts=8))
    assert (few == read("power:1.2,0.01,2").draw(layer(tokens=4, topk=2, experts=8))).all()


# --- texts


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("powr: 1.2", "did you mean 'power'"),
        ("power: x", "power"),
        ("power: 1.2, 2, 1", "above low"),
        ("power: inf", "power"),
        ("power", "expected balanced"),
        ("dirichlet: 0", "from 1e-9 to 1e9"),
        ("dirichlet: 1e400", "dirichlet"),
        ("", "expected balanced"),
        (1.2, "expected balanced"),
        ("absent.csv", "absent.csv"),
    ],
)
def test_a_wrong_text_is_refused_with_an_example(text: Any, pattern: str) -> None:
    with pytest.raises((DseError, OSError), match=pattern) as error:
        read(text)
    assert "routing" in str(error.value) or "absent" in str(error.value)


def test_more_experts_of_a_token_than_experts_are_refused() -> None:
    with pytest.raises(ValueError, match="topk = 9: expected at most experts = 6"):
        layer(topk=9)
    with pytest.raises(ValueError, match="expert_parallel = 7"):
        layer(ranks=7)
    with pytest.raises(ValueError, match=r"tokens \* topk"):
        layer(tokens=2**40)


# --- traces


def test_a_trace_gives_its_own_loads(tmp_path: Path) -> None:
    (tmp_path / "loads.csv").write_text("6,1,5,0\n3,3,3,3\n")
    law = read("loads.csv", tmp_path)
    assert set(contents([law])) == {"loads.csv"}
    shape = layer(tokens=6, topk=2, experts=4, ranks=2)
    assert {tuple(row) for row in law.draw(shape).tolist()} == {(6, 1, 5, 0), (3, 3, 3, 3)}
    numbers = law.busiest_rank(ROWS, -1.0, 6.0, 2.0, 4.0, 2.0, 0.0, 1.0, 0.0)
    assert numbers[:2] == (6.5, 2.0)
    # other numbers of tokens: the shares stay
    double = law.draw(layer(tokens=12, topk=2, experts=4, ranks=2))
    assert {tuple(row) for row in double.tolist()} == {(12, 2, 10, 0), (6, 6, 6, 6)}
    with pytest.raises(ValueError, match="experts = 6: the file has 4 in each row"):
        law.draw(layer())


def test_a_column_is_one_draw(tmp_path: Path) -> None:
    (tmp_path / "loads.csv").write_text("load\n6\n1\n5\n0\n")
    drawn = read("loads.csv", tmp_path).draw(layer(tokens=6, topk=2, experts=4, ranks=1))
    assert {tuple(row) for row in drawn.tolist()} == {(6, 1, 5, 0)}


@pytest.mark.parametrize("text", ["1,-2\n", "1,x\n", "0,0\n", "1,2\n0,0\n", "", "nan,1\n"])
def test_a_damaged_trace_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "loads.csv").write_text(text)
    with pytest.raises(DseError, match=r"loads\.csv"):
        read("loads.csv", tmp_path)


def test_a_law_survives_pickling_and_files_differ_by_content(tmp_path: Path) -> None:
    law = pickle.loads(pickle.dumps(read("dirichlet: 0.3")))
    assert isinstance(law, RoutingLaw)
    sizes = (-1.0, 64.0, 2.0, 8.0, 4.0, 0.0, 1.0, 0.0)
    assert law.busiest_rank(ROWS, *sizes) == read("dirichlet: 0.3").busiest_rank(ROWS, *sizes)
    results = []
    for line in ("9,1\n", "5,5\n"):
        (tmp_path / "loads.csv").write_text(line)
        law = read("loads.csv", tmp_path)
        results.append(law.busiest_rank(ROWS, -1.0, 10.0, 1.0, 2.0, 2.0, 0.0, 1.0, 0.0)[0])
    assert results == [9, 5]


# --- physical sense


@pytest.mark.parametrize("text", ["power: 1.2", "dirichlet: 0.05", "dirichlet: 1e6"])
@pytest.mark.parametrize("tokens", [1, 2, 3, 16, 512])
def test_one_rank_never_has_more_occupied_experts_than_with_balanced_loads(
    text: str, tokens: int
) -> None:
    sizes = (-1.0, float(tokens), 4.0, 64.0, 1.0, 0.0, 1.0, 0.0)
    skewed, even = (read(t).busiest_rank(ROWS, *sizes) for t in (text, "balanced"))
    assert skewed[0] == even[0]
    assert skewed[1] <= even[1]
    if tokens == 1:
        assert skewed[1] == 4  # the experts of a token are distinct
    for ranks in (4.0, 64.0):
        here = read(text).busiest_rank(ROWS, -1.0, *sizes[1:4], ranks, 0.0, 1.0, 0.0)
        assert here[0] >= tokens * 4 / ranks
        assert here[1] <= here[0]


def test_levels_are_draws_in_ascending_order() -> None:
    law, sizes = read("power: 1.2"), (4096.0, 8.0, 64.0, 8.0, 0.0, 1.0, 0.0)
    levels = np.append(np.arange(0, 1, 1 / 1024), [1.0])
    rows = np.array([law.busiest_rank(ROWS, level, *sizes) for level in levels])
    assert (np.diff(rows[:, 0]) >= 0).all()
    mean = law.busiest_rank(ROWS, -1.0, *sizes)
    assert rows[:-1].mean(axis=0) == pytest.approx(mean, rel=1e-12)


def test_a_capacity_bounds_the_busiest_rank_and_copies_help() -> None:
    law, sizes = read("power: 1.2"), (4096.0, 8.0, 64.0, 8.0)
    free = law.busiest_rank(ROWS, -1.0, *sizes, 0.0, 1.0, 0.0)
    dropped = law.busiest_rank(ROWS, -1.0, *sizes, 1.25, 1.0, 0.0)
    moved = law.busiest_rank(ROWS, -1.0, *sizes, 1.25, 0.0, 0.0)
    copied = law.busiest_rank(ROWS, -1.0, *sizes, 0.0, 1.0, 16.0)
    assert free[2] == moved[2] == copied[2] == 0 < dropped[2]
    assert dropped[0] <= moved[0] <= 1.25 * 4096 < free[0]
    assert 4096 <= copied[0] < free[0]
    assert law.busiest_rank(ROWS, -1.0, *sizes, 64.0, 1.0, 0.0) == free
