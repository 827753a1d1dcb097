"""Numba intrinsics for loop nests; each compiles to as few machine instructions as possible."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from symbolic.primitives.elementary import (
    FRACTION,
    LN2_HIGH,
    LN2_LOW,
    ONE,
    ROOT,
    SMALLEST_NORMAL,
    SUBNORMAL_SCALE,
)


def _bitcast(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.bitcast(args[0], context.get_value_type(signature.return_type))


@intrinsic  # type: ignore[untyped-decorator]
def _to_bits(_: Any, x: Any) -> Any:
    return types.int64(types.float64), _bitcast


@intrinsic  # type: ignore[untyped-decorator]
def _from_bits(_: Any, x: Any) -> Any:
    return types.float64(types.int64), _bitcast


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def log(x: Any) -> Any:
    """Return the natural logarithm without a branch or a call, so that loops vectorise.

    Let x = 2^k m, where m lies between the square roots of 1/2 and 2. Let f = m - 1 and
    s = f / (m + 1). Then ln m = 2 artanh s. The series of artanh is summed as f - s (f - r),
    because 2 s = f - s f. The error is below 1 ulp. For arrays,
    :func:`symbolic.primitives.elementary.log` has the same steps.
    """
    small = x < SMALLEST_NORMAL
    shifted = _to_bits(x * (SUBNORMAL_SCALE if small else 1.0)) + (ONE - ROOT)
    k = np.float64((shifted >> 52) - 1023) - (54.0 if small else 0.0)
    f = _from_bits((shifted & FRACTION) + ROOT) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    u = w * w
    low = (2 / 3 + z * (2 / 5)) + w * (2 / 7 + z * (2 / 9))
    high = (2 / 11 + z * (2 / 13)) + w * (2 / 15 + z * (2 / 17))
    r = z * (low + u * (high + u * (2 / 19 + z * (2 / 21))))
    result = k * LN2_HIGH + (f - (s * (f - r) - k * LN2_LOW))
    largest = result if x < np.inf else x
    return largest if x > 0.0 else (-np.inf if x == 0.0 else np.nan)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def next_up(x: Any) -> Any:
    """Return the next larger float after a finite float."""
    return _from_bits(_to_bits(x + 0.0) + (1 if x >= 0.0 else -1))


@intrinsic  # type: ignore[untyped-decorator]
def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two values by a select instruction, because mispredicted branches are slow."""
    boolean = isinstance(yes, types.Boolean) and isinstance(no, types.Boolean)
    kind = types.boolean if boolean else types.float64

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.select(*args)

    return kind(types.boolean, kind, kind), generate


def _smaller(_: Any, builder: Any, __: Any, args: Any) -> Any:
    a, b = args
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _larger(_: Any, builder: Any, __: Any, args: Any) -> Any:
    a, b = args
    return builder.select(builder.fcmp_ordered("<", b, a), a, b)


_PAIR = types.float64(types.float64, types.float64)


@intrinsic  # type: ignore[untyped-decorator]
def minimum(_: Any, a: Any, b: Any) -> Any:
    """Return the smaller of two values. If either is NaN, return the second one."""
    return _PAIR, _smaller


@intrinsic  # type: ignore[untyped-decorator]
def maximum(_: Any, a: Any, b: Any) -> Any:
    """Return the larger of two values. If either is NaN, return the second one."""
    return _PAIR, _larger


def _llvm_intrinsic(name: str) -> Any:
    """Return an LLVM function of one float. Numba takes longer to resolve NumPy's function."""

    def code(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [args[0].type]), args)

    def declare(_: Any, x: Any) -> Any:
        return types.float64(types.float64), code

    declare.__name__ = name
    return intrinsic(declare)


floor, ceil, sqrt = _llvm_intrinsic("floor"), _llvm_intrinsic("ceil"), _llvm_intrinsic("sqrt")
exp, log2, log10 = _llvm_intrinsic("exp"), _llvm_intrinsic("log2"), _llvm_intrinsic("log10")


@intrinsic  # type: ignore[untyped-decorator]
def pow(_: Any, x: Any, y: Any) -> Any:  # noqa: A001 - its name in the text of a nest
    """Return the C library's power. LLVM would replace powers like x ** 2.0, with a small error."""

    def hide_from_optimizer(builder: Any, value: Any) -> Any:
        bits = ir.IntType(64)
        kind = ir.FunctionType(bits, [bits])
        same = builder.asm(kind, "", "=r,0", [builder.bitcast(value, bits)], side_effect=False)
        return builder.bitcast(same, value.type)

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        hidden = [hide_from_optimizer(builder, value) for value in args]
        return builder.call(builder.module.declare_intrinsic("llvm.pow", [args[0].type]), hidden)

    return _PAIR, generate


# --- Access to memory by pointers: array indices may be negative in Numba, and LLVM takes long to
# remove the code for this case.


_REALS = types.CPointer(types.float64)
#: Size of a cache line. [B]
_LINE = 64


@intrinsic  # type: ignore[untyped-decorator]
def data_pointer(_: Any, array: Any) -> Any:
    """Return the address of an array's first item."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.extract_value(args[0], 4)

    is_boolean = isinstance(array.dtype, types.Boolean)  # a boolean takes one byte in memory
    return types.CPointer(types.int8 if is_boolean else array.dtype)(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def offset_pointer(_: Any, address: Any, place: Any) -> Any:
    """Return the address of the item that is ``place`` items after ``address``."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return address(address, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def allocate_floats(_: Any, count: Any) -> Any:
    """Allocate memory for ``count`` floats and for alignment. The caller must free it."""

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        size, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        form = ir.FunctionType(byte, [size])
        allocate = cgutils.get_or_insert_function(builder.module, form, "malloc")
        allocate.return_value.add_attribute("noalias")
        bytes_ = builder.add(builder.mul(args[0], size(8)), size(_LINE))
        memory = builder.call(allocate, [bytes_])
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, memory)):
            context.call_conv.return_user_exc(builder, MemoryError, ())
        return builder.bitcast(memory, context.get_value_type(_REALS))

    return _REALS(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def align_pointer(_: Any, memory: Any) -> Any:
    """Return the first address in allocated memory at which a cache line begins."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        size, kind = ir.IntType(64), args[0].type
        form = ir.FunctionType(kind, [kind, size])
        mask = cgutils.get_or_insert_function(builder.module, form, "llvm.ptrmask.p0.i64")
        last = builder.gep(args[0], [size(_LINE // 8 - 1)])
        return builder.call(mask, [last, size(-_LINE)])

    return _REALS(_REALS), generate


@intrinsic  # type: ignore[untyped-decorator]
def free(_: Any, memory: Any) -> Any:
    """Free memory that :func:`allocate_floats` returned."""

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        form = ir.FunctionType(ir.VoidType(), [byte])
        release = cgutils.get_or_insert_function(builder.module, form, "free")
        builder.call(release, [builder.bitcast(args[0], byte)])
        return context.get_dummy_value()

    return types.void(_REALS), generate
