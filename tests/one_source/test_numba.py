"""The loop nests made from the equations say what the equations say of floats, to the last bit."""

from __future__ import annotations

import itertools
import math
import random
import zlib
from typing import Any

import numpy as np
import pytest

import dse
import sweeps.nest.emit
import sweeps.nest.run
from sweeps.nest.emit import compile_nest, emit
from symbolic.equation import Equation
from symbolic.library import iterate_models
from symbolic.model import Model
from tests.long import mostly_long
from tests.one_source.points import draw
from tests.oracles.compare import same_bits, ulps
from tests.oracles.nested import Loops

MODELS = {model.name: model for model in iterate_models()}
SIZES = {"a": 3, "b": 2, "c": 7}


def recorded_equations(model: Model) -> list[Equation]:
    return [eq for eq in model.equations if not eq.table]


def of_their_own() -> dict[str, list[Equation]]:
    """The equations of each model but those of a smaller one, so that each is compiled once."""
    result: dict[str, list[Equation]] = {}
    for model in sorted(MODELS.values(), key=lambda model: len(model.equations)):
        seen = {id(eq) for equations in result.values() for eq in equations}
        result[model.name] = [eq for eq in recorded_equations(model) if id(eq) not in seen]
    return {name: equations for name, equations in result.items() if equations}


OWN = of_their_own()
#: Models whose nests take longest to compile.
LARGE = ("power", "throughput")


def inputs(model: Model, size: int) -> dict[str, list[float]]:
    """Random values of every input: typical ones, ends of the domain, infinity where it may be."""
    columns = {}
    for name in sorted({name for eq in recorded_equations(model) for name in eq.inputs}):
        # each by itself: another input of the model leaves it as it is
        rng = random.Random(zlib.crc32(f"{model.name} {name}".encode()))
        row = model.quantities[name]
        columns[name] = [float(draw(row, rng, edges=0.15)) for _ in range(size)]
        domain = row.domain
        if math.isinf(domain.high) and not domain.high_open:
            columns[name][rng.randrange(size)] = math.inf
    return columns


def spread(model: Model) -> dict[str, tuple[str, ...]]:
    """For each input some axes, so that steps stand at every depth of the nest."""
    rng = random.Random(zlib.crc32(model.name.encode()) + 1)
    names = sorted({name for eq in recorded_equations(model) for name in eq.inputs})
    choices = [c for k in range(4) for c in itertools.combinations(SIZES, k)]
    return {name: rng.choice(choices) for name in names}


@pytest.mark.parametrize(
    ("name", "outer"),
    mostly_long(
        [*((name, ("a", "b")) for name in OWN), ("transit", ()), ("divergence", ("a",))],
        lambda k, case: case[0] not in LARGE and k % 3 != 1,
    ),
)
def test_every_equation(name: str, outer: tuple[str, ...]) -> None:
    model, equations = MODELS[name], OWN[name]
    row = tuple(axis for axis in SIZES if axis not in outer)
    axes = spread(model)
    columns = inputs(model, math.prod(SIZES.values()))
    shape = tuple(SIZES.values())
    leaves: dict[str, Any] = {}
    for quantity, own in axes.items():
        own_shape = tuple(SIZES[axis] for axis in own)
        values = np.array(columns[quantity][: math.prod(own_shape)]).reshape(own_shape)
        leaves[quantity] = values
    nest = emit(
        outer=outer,
        row=row,
        leaves=axes,
        outputs=[(eq.node, "bool" if eq.node.is_boolean else "float") for eq in equations],
        names={id(eq.node): f"q_{eq.name}_{k}" for k, eq in enumerate(equations)},
    )
    full = {
        quantity: np.broadcast_to(
            values.reshape([SIZES[axis] if axis in axes[quantity] else 1 for axis in SIZES]), shape
        )
        for quantity, values in leaves.items()
    }
    arrays = []
    for quantity in nest.arrays:
        own = [axis for axis in outer if axis in axes[quantity]]
        keep = own + (list(row) if any(axis in row for axis in axes[quantity]) else [])
        index = tuple(slice(None) if axis in keep else 0 for axis in SIZES)
        arrays.append(np.array(full[quantity][index], order="C").reshape(-1))
    scalars = np.array([leaves[quantity].item() for quantity in nest.scalars], dtype=np.float64)
    sizes = np.array([*(SIZES[axis] for axis in outer), math.prod(SIZES[a] for a in row)])
    bounds = np.stack([np.zeros_like(sizes), sizes], axis=1).reshape(-1)
    results = [np.full(math.prod(shape), -7.0) for _ in equations]
    compile_nest(nest)(bounds, sizes, 0, scalars, *arrays, *results)
    for eq, result in zip(equations, results, strict=True):
        expected = [
            float(eq(*(float(full[need][index]) for need in eq.inputs)))
            for index in np.ndindex(*shape)
        ]
        apart = ulps(result, expected)
        worst = int(np.argmax(apart))
        assert apart[worst] == 0, (
            eq.describe(),
            {need: float(full[need].reshape(-1)[worst]) for need in eq.inputs},
            result[worst],
            expected[worst],
        )


def test_the_equations_are_all_there() -> None:
    every = {id(eq) for model in MODELS.values() for eq in recorded_equations(model)}
    assert {id(eq) for equations in OWN.values() for eq in equations} == every
    assert len(every) > 80


# --- whole models: rows, several axes, switches

WHOLE: dict[str, dict[str, Any]] = {
    "transit": {
        "axes": {
            "threads": [1, 40, 700, 9000.5],
            "supply": ["sharp", "smooth"],
            "mem_latency": [0, 300, 611.7],
            "ms_peak": [0.25, 1, 3.3],
        },
        "set": {"intensity": 12.5, "lanes_width": 48},
    },
    "apsp": {
        "axes": {
            "threads_per_core": [0.25, 4, 16, 48],
            "latency_hiding": ["modelled", "assumed"],
            "tile_dim": [8, 24, 64],
            "active_blocks_per_sm": [1, 3, 8],
            "mem_latency": [0, 400, 16384],
        },
        "set": {
            "vertices": 4096,  # its logarithm is exact everywhere
            "chunk": 32,
            "n_sms": 15,
            "cores_per_sm": 32,
            "fits_on_chip": 0,
            "cache_hit_rate": 0.3,
            "cache_miss_slowdown": 7,
        },
    },
    "mwp_cwp": {
        "axes": {
            "comp_insts": [0, 27, 1200.5],
            "printed": [True, False],
            "active_sms": [1, 16, 40],
            "uncoalesced_insts": [0, 6],
            "threads_per_block": [32, 100, 256, 768],
        },
        "set": {
            "nominal_clock": 1e9,
            "issue_cycles": 4,
            "mem_latency_nominal": 420,
            "departure_delay_coalesced": 4,
            "departure_delay_uncoalesced": 10,
            "transactions_per_uncoalesced": 32,
            "n_sms": 30,
            "mem_bandwidth": 80e9,
            "coalesced_insts": 2,
            "independent_insts": 1,
            "sync_insts": 6,
            "elements": 50000,
            "active_blocks_per_sm": 5,
            "waves": "whole",
            "rounding": "whole",
            "max_threads_per_block": 512,
        },
    },
}


@pytest.mark.parametrize("name", list(WHOLE))
def test_whole_models(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nest, NumPy and nested loops of Python floats over the same study."""
    model, spec = MODELS[name], WHOLE[name]
    study = dse.Study(model=name, **spec)
    array = study.run()
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.nest.emit, "ROW_PIECE", 8)
    nest = dse.Study(model=name, **spec).run()
    steps = {}
    for axis, listed in spec["axes"].items():
        label = model.quantities[axis].is_label
        steps[axis] = [{axis: str(v).lower() if label else float(v)} for v in listed]
    expected = Loops(model=model, axes=steps, given=spec["set"]).run(model.outputs)
    for output, (dims, values) in expected.items():
        loops = np.array(list(values.values())).reshape([len(spec["axes"][dim]) for dim in dims])
        assert nest[output].dims == array[output].dims == dims
        assert same_bits(nest[output].values, array[output].values), output
        assert same_bits(nest[output].values, loops), output
