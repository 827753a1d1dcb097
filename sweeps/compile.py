"""From the text of a loop nest to machine code. The project's only ``exec`` stands here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sweeps.emit import Nest

__all__ = ["compiled"]

_compiled: dict[str, Callable[..., None]] = {}
_lock = threading.Lock()


def compiled(nest: Nest) -> Callable[..., None]:
    """The machine code of a nest; compiled once a process for each text."""
    function = _compiled.get(nest.key)
    if function is None:
        with _lock:
            function = _compiled.get(nest.key)
            if function is None:
                function = _compiled[nest.key] = _compile(nest)
    return function


def _compile(nest: Nest) -> Callable[..., None]:
    import numba

    whole, real = numba.int64, numba.float64
    results = {
        "float": (real[::1],),
        "flag": (numba.int8[::1],),
        "bool": (numba.boolean[::1],),
        "reduce": (real[::1], whole[::1]),
    }
    signature = numba.void(
        whole[::1],
        whole[::1],
        whole,
        real[::1],
        *(real[::1] for _ in nest.arrays),
        *(kind for name in nest.kinds for kind in results[name]),
    )
    namespace: dict[str, Any] = {"np": np, "log": _logarithm(), **_choices()}
    exec(compile(nest.source, f"<nest {nest.key}>", "exec"), namespace)
    function: Callable[..., None] = numba.njit(
        signature, nogil=True, error_model="numpy", no_cfunc_wrapper=True
    )(namespace["nest"])
    return function


#: ln 2 in two parts; a whole number times the first is exact.
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
#: The bits of 1.0 and of the root of 1/2, and those of a fraction.
_ONE, _ROOT, _FRACTION = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0x000FFFFFFFFFFFFF
_LEAST, _RAISED = 2.0**-1022, 2.0**54


@lru_cache(maxsize=1)
def _logarithm() -> Callable[[float], float]:
    """The natural logarithm without a branch or a call, so that a loop with it is vectorized.

    x = 2^k m with m between the roots of 1/2 and 2; ln m = 2 artanh s of s = (m - 1) / (m + 1), by
    its series, written as f - s (f - r) with f = m - 1, because 2 s = f - s f. Below 1 ulp.
    """
    import numba
    from numba import types
    from numba.extending import intrinsic

    def reinterpreted(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(signature.return_type))

    @intrinsic  # type: ignore[untyped-decorator]
    def bits(_: Any, x: Any) -> Any:
        return types.int64(types.float64), reinterpreted

    @intrinsic  # type: ignore[untyped-decorator]
    def number(_: Any, x: Any) -> Any:
        return types.float64(types.int64), reinterpreted

    def log(x: float) -> float:
        small = x < _LEAST
        shifted = bits(x * (_RAISED if small else 1.0)) + (_ONE - _ROOT)
        k = np.float64((shifted >> 52) - 1023) - (54.0 if small else 0.0)
        f = number((shifted & _FRACTION) + _ROOT) - 1.0
        s = f / (2.0 + f)
        z = s * s
        w = z * z
        u = w * w
        low = (2 / 3 + z * (2 / 5)) + w * (2 / 7 + z * (2 / 9))
        high = (2 / 11 + z * (2 / 13)) + w * (2 / 15 + z * (2 / 17))
        r = z * (low + u * (high + u * (2 / 19 + z * (2 / 21))))
        found = k * _LN2_HIGH + (f - (s * (f - r) - k * _LN2_LOW))
        largest = found if x < np.inf else x
        return largest if x > 0.0 else (-np.inf if x == 0.0 else np.nan)

    function: Callable[[float], float] = numba.njit(error_model="numpy")(log)
    return function


@lru_cache(maxsize=1)
def _choices() -> dict[str, Callable[..., Any]]:
    """``where``, ``minimum`` and ``maximum`` as one instruction each, and not as branches.

    A branch would have to be undone before a loop is vectorized, and takes most of the compiler's
    time.
    """
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
        boolean = isinstance(yes, types.Boolean) and isinstance(no, types.Boolean)
        kind = types.boolean if boolean else types.float64

        def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
            return builder.select(*args)

        return kind(types.boolean, kind, kind), generate

    def smaller(_: Any, builder: Any, __: Any, args: Any) -> Any:
        a, b = args
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    def larger(_: Any, builder: Any, __: Any, args: Any) -> Any:
        a, b = args
        return builder.select(builder.fcmp_ordered("<", b, a), a, b)

    pair = types.float64(types.float64, types.float64)

    @intrinsic  # type: ignore[untyped-decorator]
    def minimum(_: Any, a: Any, b: Any) -> Any:
        return pair, smaller

    @intrinsic  # type: ignore[untyped-decorator]
    def maximum(_: Any, a: Any, b: Any) -> Any:
        return pair, larger

    return {"where": where, "minimum": minimum, "maximum": maximum}
