"""Memory by its address, in compiled code."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.extending import intrinsic

__all__ = ["fetch", "values"]


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(context: Any, address: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return numba.types.CPointer(numba.float64)(numba.int64), build


@numba.njit(forceinline=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def values(address: Any, offset: Any, count: Any) -> Any:
    """The values at an address."""
    return numba.carray(_pointer(address + 8 * offset), count)


@intrinsic  # type: ignore[untyped-decorator]
def fetch(context: Any, address: Any) -> Any:
    """Have the memory at an address brought near; nothing waits for it."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], form)
        builder.call(call, [builder.inttoptr(args[0], byte), *map(number, (0, 2, 1))])
        return context.get_dummy_value()

    return numba.void(numba.int64), build
