"""Floats, arrays of any layout and loop nests compute the same bits of exp, log and powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sweeps.nest.emit import compile_nest, emit
from symbolic.ops import Node, reference
from symbolic.primitives import PRIMITIVES, elementary
from tests.oracles.compare import same_bits

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, 0.5, 5e-324, 1e-310, -3.0]
NAMES = ("exp", "log", "log2", "log10", "pow")


def operands(name: str, count: int = 4000) -> tuple[np.ndarray[Any, Any], ...]:
    rng = np.random.default_rng(len(name))
    size = count + len(SPECIAL)
    x = np.concatenate([np.exp(rng.uniform(-745, 709, count)), SPECIAL])
    if name == "exp":
        return (np.concatenate([rng.uniform(-750, 712, count), SPECIAL]),)
    if name == "pow":
        x = np.where(rng.random(size) < 0.3, rng.choice([2.0, 8.0, 10.0, *SPECIAL], size), x)
        to = rng.uniform(-5, 5, size)
        return x, np.where(rng.random(size) < 0.3, rng.choice([2.0, 0.5, *SPECIAL], size), to)
    return (x,)


def by_floats(name: str, args: tuple[Any, ...]) -> Any:
    rows = zip(*(arg.tolist() for arg in args), strict=True)
    return np.array([PRIMITIVES[name].scalar(*row) for row in rows])


def by_nest(name: str, args: tuple[Any, ...], known: dict[str, float] | None = None) -> Any:
    leaves = {f"x{k}": ("a",) if arg.ndim else () for k, arg in enumerate(args)}
    root = Node(name, tuple(map(reference, leaves)))
    nest = emit(
        outer=(), row=("a",), leaves=leaves, outputs=[(root, "float")], names={}, constants=known
    )
    (size,) = {arg.size for arg in args if arg.ndim}
    result = np.empty(size)
    whole = np.array([size])
    arrays = [args[int(one[1:])] for one in nest.arrays]
    scalars = np.array([float(args[int(one[1:])]) for one in nest.scalars])
    compile_nest(nest)(np.array([0, size]), whole, 0, scalars, *arrays, result)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_floats_arrays_and_nests_compute_the_same_bits(name: str) -> None:
    args = operands(name)
    floats = by_floats(name, args)
    assert same_bits(PRIMITIVES[name].array(*args), floats)
    assert same_bits(by_nest(name, args), floats)


@pytest.mark.parametrize("name", NAMES)
def test_the_layout_of_an_array_does_not_change_a_bit(name: str) -> None:
    args, function = operands(name), PRIMITIVES[name].array
    floats = by_floats(name, args)
    for layout in (lambda a: a[::-1], lambda a: a[::3], lambda a: np.asfortranarray(a[:99])):
        assert same_bits(function(*map(layout, args)), layout(floats))
    for k in range(0, floats.size, 97):
        alone = function(*(arg[k] for arg in args))
        assert same_bits(np.array([alone]), floats[k : k + 1])
    table = [arg[:60].reshape(5, 12).T for arg in args]
    assert same_bits(function(*table), floats[:60].reshape(5, 12).T)


@pytest.mark.parametrize(
    ("base", "exponent"), [(None, 2.0), (None, 0.5), (None, -1.0), (2.0, None)]
)
def test_a_constant_operand_of_a_power_does_not_change_a_bit(base: Any, exponent: Any) -> None:
    x = operands("log")[0]
    pair = [x if given is None else np.asarray(given) for given in (base, exponent)]
    whole = tuple(np.array(part) for part in np.broadcast_arrays(*pair))
    known = {f"x{k}": given for k, given in enumerate((base, exponent)) if given is not None}
    floats = by_floats("pow", whole)
    assert same_bits(by_nest("pow", tuple(pair), known), floats)
    assert same_bits(PRIMITIVES["pow"].array(*pair), floats)


def test_values_are_the_same_where_numpy_has_no_way_to_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = lambda function: lambda *args: np.nextafter(function(*args), math.inf)  # noqa: E731
    monkeypatch.setattr(elementary, "_call_reversed", wrong)
    elementary._c_library_function.cache_clear()
    try:
        for name in ("exp", "log2", "log10", "pow"):
            args = operands(name, 50)
            assert same_bits(PRIMITIVES[name].array(*args), by_floats(name, args)), name
    finally:
        elementary._c_library_function.cache_clear()


def test_the_own_logarithm_is_within_an_ulp() -> None:
    x = operands("log")[0]
    x = x[np.isfinite(x) & (x > 0)]
    off = np.abs(elementary.log(x) - [math.log(v) for v in x]) / np.spacing(np.abs(np.log(x)))
    assert off[np.log(x) != 0].max() <= 1.0
    assert elementary.scalar_log(10**400) == math.log(10**400)
