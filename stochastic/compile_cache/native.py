"""Call machine code without Numba: pack the arguments into 64-bit words and pass them by ctypes.

The entry point takes the address of the result and the address of the words of all arguments; it
returns 0 on success. Code is compiled for the *kinds* of its arguments. The kind of a number is
``"i"``, ``"f"`` or ``"b"``. The kind of a tuple is the name of its class and the kinds of its
items. The kind of an array is its dtype, number of dimensions, and True if it is in C order.
"""

from __future__ import annotations

import ctypes
import json
import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_LONG, _REAL, _BYTE, _POINTER = ctypes.c_int64, ctypes.c_double, ctypes.c_int8, ctypes.c_void_p
_SCALARS: dict[str, Any] = {"i": _LONG, "f": _REAL, "b": _BYTE}
_engines: list[Any] = []
_llvm_started = threading.Event()


class NativeCodeError(Exception):
    """An error: machine code or an argument cannot be used without Numba."""


def kind_of(value: Any) -> Any:
    """Return the kind of an argument; NativeCodeError unless it is a number, array or tuple."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous
    if isinstance(value, float | np.floating):
        return "f"
    if isinstance(value, bool | np.bool_):
        return "b"
    if isinstance(value, int | np.integer):
        return "i"
    if isinstance(value, tuple):
        return type(value).__qualname__, *map(kind_of, value)
    raise NativeCodeError(f"no compiled code takes a {type(value).__name__}")


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, tuple) and isinstance(kind[0], str)


def _word_format(kind: Any) -> str:
    if isinstance(kind, str):
        return "d" if kind == "f" else "q"
    if _is_tuple(kind):
        return "".join(map(_word_format, kind[1:]))
    dimensions: int = kind[1]
    return "q" * (5 + 2 * dimensions)


def _append_words(value: Any, into: list[Any]) -> None:
    if isinstance(value, np.ndarray):
        into += (0, 0, value.size, value.itemsize, value.ctypes.data)
        into += value.shape
        into += value.strides
    elif isinstance(value, tuple):
        for part in value:
            _append_words(part, into)
    else:
        into.append(value)


def pack_code(symbol: str, returned: Any, needed: Sequence[str], code: bytes) -> bytes:
    """Return machine code with a header: symbol, result kind and required library functions."""
    head = json.dumps([symbol, returned, sorted(needed)]).encode()
    return len(head).to_bytes(4, "little") + head + code


def load_function(data: bytes, kinds: Sequence[Any]) -> Callable[..., Any]:
    """Return a Python function that calls packed machine code with arguments of these kinds."""
    size = int.from_bytes(data[:4], "little")
    symbol, returned, needed = json.loads(data[4 : 4 + size])
    library = ctypes.CDLL(None)
    if not all(hasattr(library, name) for name in needed):
        raise NativeCodeError(f"{symbol} needs {', '.join(needed)}")
    address = _link(data[4 + size :], symbol)
    words = struct.Struct("".join(map(_word_format, kinds))).pack
    call = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, ctypes.c_char_p)(address)
    field, read = _result_type(returned)
    buffer: Any = type("Room", (ctypes.Structure,), {"_fields_": [("value", field)]})

    def function(*args: Any) -> Any:
        into: list[Any] = []
        for value in args:
            _append_words(value, into)
        result = buffer()
        if call(ctypes.byref(result), words(*into)):
            raise MemoryError(f"no memory for {symbol}")
        return read(result.value)

    return function


def _link(code: bytes, symbol: str) -> int:
    """Load an object file into memory, and return the address of one of its functions."""
    import llvmlite.binding as llvm

    if not _llvm_started.is_set():
        if hasattr(llvm, "initialize") and llvm.llvm_version_info[0] < 20:
            llvm.initialize()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _llvm_started.set()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)  # keeps the code alive
    address: int = engine.get_function_address(symbol)
    if not address:
        raise NativeCodeError(f"no {symbol} in its machine code")
    return address


# --- result kinds: None, "i", "f", "b", ["tuple", kind, ...] or ["array", dtype, dimensions]
def _result_type(kind: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the ctypes type of a result, and the function that reads it."""
    if kind is None:
        return _POINTER, lambda _: None
    if isinstance(kind, str):
        return _SCALARS[kind], bool if kind == "b" else lambda value: value
    if kind[0] == "tuple":
        parts = [_result_type(part) for part in kind[1:]]
        fields = [(f"f{k}", field) for k, (field, _) in enumerate(parts)]
        names = [(f"f{k}", read) for k, (_, read) in enumerate(parts)]
        form = type("Parts", (ctypes.Structure,), {"_fields_": fields})
        return form, lambda parts: tuple(read(getattr(parts, name)) for name, read in names)
    dtype, dimensions = np.dtype(kind[1]), kind[2]
    pointers = [("memory", _POINTER), ("parent", _POINTER), ("items", _LONG), ("size", _LONG)]
    shape = _LONG * dimensions
    fields = [*pointers, ("data", _POINTER), ("shape", shape), ("strides", shape)]
    form = type("Array", (ctypes.Structure,), {"_fields_": fields})
    return form, lambda descriptor: _array_from_result(descriptor, dtype)


def _array_from_result(descriptor: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    count = descriptor.items * dtype.itemsize
    memory = (ctypes.c_char * count).from_address(descriptor.data or 0)
    values = np.ndarray(tuple(descriptor.shape), dtype, buffer=memory)
    if not descriptor.memory:  # the memory belongs to an argument
        return values.copy()
    weakref.finalize(memory, _release, descriptor.memory).atexit = False
    return values


def _release(memory: int) -> None:
    """Drop one reference to memory that Numba's runtime (NRT) manages."""
    count = ctypes.c_int64.from_address(memory)
    count.value -= 1
    if count.value == 0:
        free = ctypes.CDLL(None).free
        free.argtypes, free.restype = [_POINTER], None
        free(memory)
