"""Memory in a loop nest: of an array the address of its first item, and room of its own.

An item at an address is one instruction. For an item of an array Numba writes many, which count
places from the end as well, and of which nothing is left but the time that it took.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_REALS = types.CPointer(types.float64)
#: Bytes of a line of the cache.
_LINE = 64


def _address(kind: Any) -> Any:
    """What points to the items of an array; truths are numbers in memory."""
    return types.CPointer(types.int8 if isinstance(kind, types.Boolean) else kind)


@intrinsic  # type: ignore[untyped-decorator]
def first(_: Any, array: Any) -> Any:
    """Where an array begins."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.extract_value(args[0], 4)

    return _address(array.dtype)(array), generate


@intrinsic  # type: ignore[untyped-decorator]
def ahead(_: Any, address: Any, place: Any) -> Any:
    """Where an item is, so many after another."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return address(address, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def room(_: Any, count: Any) -> Any:
    """Memory for so many numbers, wherever a line of the cache begins in it; to be freed."""

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
def aligned(_: Any, memory: Any) -> Any:
    """Where a line of the cache begins in some memory, the first."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        size, kind = ir.IntType(64), args[0].type
        form = ir.FunctionType(kind, [kind, size])
        mask = cgutils.get_or_insert_function(builder.module, form, "llvm.ptrmask.p0.i64")
        last = builder.gep(args[0], [size(_LINE // 8 - 1)])
        return builder.call(mask, [last, size(-_LINE)])

    return _REALS(_REALS), generate


@intrinsic  # type: ignore[untyped-decorator]
def free(_: Any, memory: Any) -> Any:
    """Give memory back."""

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        form = ir.FunctionType(ir.VoidType(), [byte])
        release = cgutils.get_or_insert_function(builder.module, form, "free")
        builder.call(release, [builder.bitcast(args[0], byte)])
        return context.get_dummy_value()

    return types.void(_REALS), generate
