"""Expressions at a launch: sized or not, they say the same of every thread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.cuda.compile import _run_nvrtc, _supports_minimal, compile_source
from dse.cuda.integer_expressions import (
    ONE,
    Condition,
    IntExpr,
    atom_expr,
    combine,
    constant,
    negate,
)
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.memory_accesses import compute_requests, sectors, warp_requests
from tests.dse.test_kernel_source import compiling

PLACES = ("tid.x", "tid.y", "ctaid.x", "ctaid.z", "ntid.x", "nctaid.z")
ASKED = {"chance": 0.25, "trips": 3.0}
leaves = st.one_of(
    st.integers(-40, 40).map(constant),
    st.sampled_from(PLACES).map(lambda name: atom_expr("special", name)),
    st.sampled_from((0, 8)).map(lambda at: atom_expr("argument", at)),
    st.sampled_from(tuple(ASKED)).map(lambda name: atom_expr("input", name)),
)


def _more(inside: st.SearchStrategy[IntExpr]) -> st.SearchStrategy[IntExpr]:
    two = st.tuples(inside, inside)
    return st.one_of(
        two.map(lambda both: both[0] + both[1]),
        two.map(lambda both: both[0] - both[1]),
        st.tuples(inside, st.integers(-4, 4)).map(lambda of: of[0].scale(of[1])),
        two.map(lambda both: atom_expr("over", *both)),
        two.map(lambda both: atom_expr("least", *both)),
        st.tuples(inside, _conditions(inside)).map(lambda of: of[0] * atom_expr("if", of[1])),
    )


def _conditions(inside: st.SearchStrategy[IntExpr]) -> st.SearchStrategy[Condition]:
    one = st.tuples(st.sampled_from((">=", "==")), inside)
    return st.one_of(
        one,
        one.map(negate),
        st.tuples(one, one).map(lambda of: combine(*of)),
        st.tuples(one, one).map(lambda of: combine(*of, operator="or")),
    )


values = st.recursive(leaves, _more, max_leaves=8)
sizes = st.tuples(st.sampled_from((1, 3)), st.just(1), st.sampled_from((1, 5)))
blocks = st.tuples(st.sampled_from((1, 7, 40)), st.sampled_from((1, 2)), st.just(1))


@given(value=values, grid=sizes, block=blocks, number=st.sampled_from((0, 1, -3, 64)))
def test_a_sized_expression_is_the_same_at_every_thread(
    value: IntExpr, grid: tuple[int, ...], block: tuple[int, ...], number: int
) -> None:
    # quotients are of whole numbers: a chance only multiplies counts
    inputs = {**ASKED, "chance": 1.0} if "over" in repr(value) else ASKED
    launch = KernelLaunch(grid, block, {0: number, 8: 1000}, inputs, {}, pointers=frozenset({8}))
    sized = launch.substitute(value)
    arrays = np.broadcast_arrays(launch.value(value), launch.value(sized))
    np.testing.assert_array_equal(*arrays)
    left = {one.args[0] for one in sized.atoms() if one.kind in ("argument", "input")}
    assert left <= {8, "chance"}


CONDITIONS = {
    "of blocks": (">=", atom_expr("special", "ctaid.z").scale(-1) + constant(1)),
    "of rows": (">=", atom_expr("special", "ctaid.x") - ONE),
    "of lanes": (">=", constant(20) - atom_expr("special", "tid.x")),
    "of both": (
        ">=",
        constant(30) - atom_expr("special", "tid.x") - atom_expr("special", "ctaid.x"),
    ),
}


@given(
    word=st.sampled_from((">=", "==")),
    steps=st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-1, 1)),
    number=st.integers(-14, 14),
)
def test_a_condition_is_decided_where_it_is_the_same_for_all(
    word: str, steps: tuple[int, ...], number: int
) -> None:
    launch = KernelLaunch((3, 1, 5), (2, 1, 1), {}, {}, {})
    names = ("tid.x", "ctaid.x", "ctaid.z")
    value = constant(number)
    for name, step in zip(names, steps, strict=True):
        value += atom_expr("special", name).scale(step)
    value += (atom_expr("special", "tid.x") * atom_expr("special", "ctaid.z")).scale(steps[2])
    arrays = atom_expr("if", (word, value))
    every = np.broadcast_to(launch.value(arrays), (3, 1, 5, 1, 32))[..., :2]
    decided = launch.substitute(arrays).constant_value
    assert decided is None or np.all(every == decided)
    if word == ">=" and not steps[2] and every.min() == every.max():  # sums are bounded exactly
        assert decided == every.min()


@given(
    names=st.sets(st.sampled_from(tuple(CONDITIONS)), min_size=1),
    stride=st.sampled_from((0, 4, 12, 33)),
    step=st.sampled_from((0, 4)),
)
def test_conditions_on_blocks_that_nothing_else_rests_on_change_no_request(
    names: set[str], stride: int, step: int
) -> None:
    """``step``: what is not followed as a move, as it is in a minimum, rests on blocks, too."""
    launch = KernelLaunch((3, 1, 5), (48, 1, 1), {}, {}, {})
    where = atom_expr("special", "tid.x").scale(stride)
    where += atom_expr("least", atom_expr("special", "ctaid.z"), constant(2)).scale(step)
    asks = ONE
    for name in sorted(names):
        asks *= atom_expr("if", CONDITIONS[name])
    few, every = warp_requests(launch, where, asks), compute_requests(launch, where, asks)
    means = [each.mean(sectors(each.addresses, each.active, 4)) for each in (few, every)]
    assert means[0] == pytest.approx(means[1], rel=1e-12)
    if names == {"of blocks"} and not step:  # it is left out
        assert few.active.size < every.active.size


def test_passes_that_rest_on_blocks_are_those_of_each_block() -> None:
    """Lanes ask for min(4 pass + lane, 100) words in as many passes as the block has a number."""
    passes = {1: atom_expr("special", "ctaid.x") + ONE}
    launch = KernelLaunch((8, 1, 1), (32, 1, 1), {}, {}, passes)
    now = atom_expr("pass", 1)
    word = atom_expr("least", now.scale(4) + atom_expr("special", "tid.x"), constant(100))
    every = warp_requests(launch, word.scale(4), atom_expr("if", (">=", constant(9) - now)))
    result = every.mean(sectors(every.addresses, every.active, 4))
    by_hand = [4 + (at % 2 > 0) for block in range(8) for at in range(block + 1)]
    assert result == pytest.approx(np.mean(by_hand))


@compiling
def test_a_compiler_that_leaves_out_the_runtime_makes_the_same_code() -> None:
    assert _supports_minimal()
    for more in ("", "__device__ cudaError_t error;\n"):
        text, flags = more + SOURCE, ["-arch=sm_80", "-lineinfo", "-DN=8"]
        bare, _, _ = _run_nvrtc(text, "kernel.cu", flags, "", {})
        assert compile_source(text, 80, define={"N": 8}) == (bare, "", [])


SOURCE = """
extern "C" __global__ void scale(float *to, const float *from, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int each = 0; each < N; each++)
        if (at + each < n) to[at + each] = __expf(from[at]) * min(each, n);
}
"""


def test_products_have_the_order_in_which_their_atoms_were_made() -> None:
    """Names of parts follow it, so that two runs write the same formulas."""
    junk = [[] for _ in range(1000)]
    atoms = []
    for number in range(200):
        atoms.append(atom_expr("argument", f"x{number}"))
        junk.pop(number % len(junk))  # memory is used again in another order
    for one, other in zip(atoms, [*atoms[100:], *atoms[:100]], strict=True):
        (product,) = (one * other).terms
        assert [int(part.args[0][1:]) for part in product] == sorted(
            int(part.args[0][1:]) for value in (one, other) for (part,) in value.terms
        )
