"""Flat indices and ``per``, at sizes on both sides of 8,192, where NumPy's buffers end."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from sweeps.grid.grid import ravel, unravel

ROOT = Path(__file__).parents[2]
SIZES = (1, 2, 8_191, 8_192, 8_193, 10_000)
MODEL = """
import dse

a, b, c = (dse.quantity(name, domain="(-inf, inf)") for name in ("aa", "bb", "cc"))

@dse.equation(source="s")
def near(aa):
    return aa - 50 * dse.floor(aa / 50)

@dse.equation(source="s")
def cost(near, bb, cc):
    return (bb - near) * (bb - near) + cc

@dse.equation(source="s")
def gain(aa, bb, cc):
    return dse.where(bb > -2, aa, cc)
"""


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (1, -1), (-1, 1, 1), (1, -1, 1)])
@pytest.mark.parametrize("sizes", [(600,), (20, 30), (30, 1, 20), (1, 600, 1)])
def test_flat_indices_of_any_shape_are_split_and_joined(
    count: int, shape: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    flat = (np.arange(count) * 7) % 600
    split = unravel(flat.reshape(shape), sizes)
    for at, number in zip(range(count), flat.tolist(), strict=True):
        for index, size in zip(reversed(split), reversed(sizes), strict=True):
            number, along = divmod(number, size)
            assert index.reshape(-1)[at] == along
    assert {index.shape for index in split} == {flat.reshape(shape).shape}
    assert (ravel(split, sizes) == flat.reshape(shape)).all()
    assert {index.dtype for index in split} == {ravel(split, sizes).dtype} == {np.dtype(np.int64)}


def test_flat_indices_are_exact_up_to_64_bits() -> None:
    sizes = (2**21, 3, 2**20, 715_827_882 // 2**9)
    numbers = [0, 2**53 + 1, 2**62 + 2**31 + 7, math.prod(sizes) - 1]
    index = unravel(numbers, sizes)
    assert ravel(index, sizes).tolist() == numbers
    for at, number in enumerate(numbers):
        for along, size in zip(reversed(index), reversed(sizes), strict=True):
            number, expected = divmod(number, size)
            assert along[at] == expected
    assert unravel(0, ()) == ()
    assert ravel((), ()) == 0


def test_places_outside_a_grid_are_refused() -> None:
    for flat in (-1, 6, [[5], [7]]):
        with pytest.raises(IndexError, match="outside a grid of 2 x 3"):
            unravel(flat, (2, 3))
    for index in ((0, -1), (2, 0)):
        with pytest.raises(IndexError, match="outside an axis"):
            ravel(index, (2, 3))
    with pytest.raises(OverflowError, match="64 bits"):
        ravel((0, 0), (2**40, 2**40))


def test_no_module_splits_flat_indices_by_numpy() -> None:
    banned = re.compile(r"\.(un)?ravel_(multi_)?index\b")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for package in ("dse", "sweeps", "symbolic", "stochastic")
        for path in (ROOT / package).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if banned.search(line)
    ]
    assert wrong == []


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("many") / "many_cells.py"
    path.write_text(MODEL)
    return str(path)


def sources(study: dse.Study, store: Path) -> dict[str, Any]:
    return {"study": study, "dataset": study.run(), "store": study.run(store=str(store))}


@pytest.mark.parametrize("count", [8_191, 8_192, 8_193, 10_000])
def test_each_cell_of_a_long_axis_has_its_own_best(model: str, tmp_path: Path, count: int) -> None:
    a, b, c = np.arange(count), np.arange(50), np.arange(3)
    axes = {"aa": a.tolist(), "bb": b.tolist(), "cc": c.tolist()}
    study = dse.Study(model=model, axes=axes, outputs=["cost"])
    all_costs = ((b[:, None] - (a % 50)[:, None, None]) ** 2 + c).reshape(count, -1)
    order = np.argsort(all_costs, axis=1, kind="stable")[:, :2]
    for name, source in sources(study, tmp_path / "s.zarr").items():
        for top in (1, 2):
            best = dse.optimum(source, minimize="cost", per="aa", top=top)
            for variable, values in (("bb", b[order // 3]), ("cc", c[order % 3])):
                totals = best[variable].values.reshape(count, top)
                assert (totals == values[:, :top]).all(), (name, top, variable)
            costs = np.take_along_axis(all_costs, order, axis=1)[:, :top]
            assert (best.cost.values.reshape(count, top) == costs).all(), (name, top)


def test_a_store_with_few_cells_and_a_constraint_names_the_best_of_each(
    model: str, tmp_path: Path
) -> None:
    a, b, c = np.arange(1, 17), 2.0 - np.arange(84), np.arange(336) - 161.0
    axes = {"aa": a.tolist(), "bb": b.tolist(), "cc": c.tolist()}
    study = dse.Study(model=model, axes=axes, outputs=["gain"])
    values = np.where(b[:, None] > -2, a[:, None, None], c).astype(float)
    expected = np.where((a > 2)[:, None, None], values, -np.inf).max((0, 1))
    for name, source in sources(study, tmp_path / "s.zarr").items():
        best = dse.optimum(source, maximize="gain", where="aa > 2", per="cc")
        assert (best.gain.values == expected).all(), name


@pytest.mark.parametrize("count", [31, 33, 60, 61, 65])
def test_a_study_has_as_many_axes_as_arrays_can_have(tmp_path: Path, count: int) -> None:
    names = [f"axis_{k}" for k in range(count)]
    quantities = [f'{n} = dse.quantity("{n}", domain="(-inf, inf)")' for n in names]
    equation = '@dse.equation(source="s")\ndef total({}):\n    return {}\n'
    text = [*quantities, equation.format(", ".join(names), " + ".join(names))]
    (tmp_path / "many_axes.py").write_text("\n".join(["import dse", *text]))
    axes = {name: [1.0, 2.0] if k in (0, 9) else [float(k)] for k, name in enumerate(names)}
    if count > 60:
        with pytest.raises(dse.DseError, match=rf"the study has {count} axes, expected at most 60"):
            dse.Study(model="many_axes.py", axes=axes, outputs=["total"], folder=tmp_path)
        return
    study = dse.Study(model="many_axes.py", axes=axes, outputs=["total"], folder=tmp_path)
    best = float(sum(range(count)) - 9 + 4)
    for method in ("scan", "certified"):
        assert study.optimum(maximize="total", method=method).total == best
    totals = study.optimum(maximize="total", per=names, top=2).total
    assert totals.isel(rank=0).max() == best
    assert dict(study.run().total.sizes) == {name: len(axes[name]) for name in names}
