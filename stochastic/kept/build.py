"""From a body to machine code that needs no Numba to be called."""

from __future__ import annotations

import builtins
import ctypes
import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typed_passes import IRLegalization, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import DeadBranchPrune, InlineClosureLikes, ReconstructSSA

from stochastic.kept.identity import Later, Marked, names
from stochastic.kept.native import UnfitError, packed

__all__ = ["built", "dispatcher"]

#: What Numba's code calls to have memory: a count of its holders, three fields that are not used
#: but for the third, where the data are, and two more; then the data.
_MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %step = zext i32 %align to i64
  %head = add i64 %step, 48
  %all = add i64 %size, %head
  %memory = call ptr @malloc(i64 %all)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %end, label %fill
fill:
  %begin = ptrtoint ptr %memory to i64
  %last = add i64 %begin, %head
  %data = urem i64 %last, %step
  %place = sub i64 %last, %data
  %at = inttoptr i64 %place to ptr
  store i64 1, ptr %memory
  %p3 = getelementptr i64, ptr %memory, i64 3
  store ptr %at, ptr %p3
  %p4 = getelementptr i64, ptr %memory, i64 4
  store i64 %size, ptr %p4
  br label %end
end:
  ret ptr %memory
}
define void @NRT_MemInfo_call_dtor(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}
"""
_KINDS = {types.float64: "f", types.int64: "i", types.boolean: "b"}
_dispatchers: weakref.WeakKeyDictionary[Marked, dict[bool, Any]] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def dispatcher(body: Marked, *, wrapped: bool) -> Any:
    """A body as Numba knows it, with all it calls; ``wrapped`` to be called from Python."""
    with _lock:
        made = _dispatchers.setdefault(body, {})
        if wrapped not in made:
            function = body.function
            options = {"no_cfunc_wrapper": True, **body.options}
            if not wrapped:
                options["no_cpython_wrapper"] = True
            if body.options.get("_nrt") is False:
                options["pipeline_class"] = _Short
            known = {"__builtins__": builtins, "__name__": function.__module__}
            known |= {name: _resolved(value) for name, value in names(function)}
            cells = tuple(map(_cell, function.__closure__ or ())) or None
            twin = FunctionType(
                function.__code__, known, function.__name__, function.__defaults__, cells
            )
            twin.__qualname__ = function.__qualname__
            made[wrapped] = numba.njit(**options)(twin)
        return made[wrapped]


def _resolved(value: Any) -> Any:
    if isinstance(value, Later):
        return value.found()
    return dispatcher(value, wrapped=False) if isinstance(value, Marked) else value


def _cell(cell: Any) -> Any:
    resolved = _resolved(cell.cell_contents)
    return (lambda: resolved).__closure__[0]  # type: ignore[index]


def built(body: Marked, args: tuple[Any, ...]) -> bytes:
    """The machine code of a body for such arguments, with what is needed to call it.

    Raises
    ------
    UnfitError
        If it cannot be called without Numba: it gives what is no number, array or tuple of these,
        or it calls Python.
    """
    given = tuple(map(_type, args))
    made = dispatcher(body, wrapped=False)
    with _plainly():
        made.compile(given)
        result = made.overloads[given]
        result.library._ensure_finalized()
    returned = _kind(result.signature.return_type)
    library, symbol = result.library, f"kept_{body.__name__}"
    module = library._final_module = library._final_module.clone()
    module.link_in(
        llvm.parse_assembly(_entry(symbol, module.get_function(result.fndesc.llvm_func_name)))
    )
    module.link_in(llvm.parse_assembly(_MEMORY))
    declared = {function.name for function in module.functions if function.is_declaration}
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"  # what nobody else calls is written into its one caller
    needed = sorted(name for name in declared if not name.startswith("llvm."))
    symbols = ctypes.CDLL(None)
    for name in needed:
        if name.startswith(("Py", "_Py", "NRT", "numba")) or not hasattr(symbols, name):
            raise UnfitError(f"{body.__name__} calls {name}")
    JITCodeLibrary._optimize_final_module(library)
    code = library.codegen._tm.emit_object(library._final_module)
    return packed(symbol, returned, needed, code)


class _Short(CompilerBase):  # type: ignore[misc]
    """Numba's passes for bodies that make no arrays: without those that look for what does.

    Nor those that give a name anew wherever it is bound, or say where it ends: LLVM finds that out
    in no time, Numba takes a quarter of its own for it. So a name is of one type in all of a body.
    """

    #: What is left out.
    _idle = (
        *(NopythonRewrites, InlineClosureLikes, DeadBranchPrune),
        *(ReconstructSSA, PreLowerStripPhis, IRLegalization),
    )

    def define_pipelines(self) -> list[Any]:
        usual, short = DefaultPassBuilder.define_nopython_pipeline(self.state), PassManager("short")
        for step, told in usual.passes:
            if step not in self._idle:
                short.add_pass(step, told)
        short.finalize()
        return [short]


class _Plain(JITCodeLibrary):  # type: ignore[misc]
    """What Numba makes of a function, as it is: only what calls it is optimised, all at once."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # nobody calls it


@contextmanager
def _plainly() -> Iterator[None]:
    """Have Numba keep its hands off machine code: it would make it of each function by itself."""
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()
        codegen._library_class, codegen.set_env = _Plain, lambda *_: None
        collecting = gc.isenabled()
        gc.disable()  # millions of small things live until the end: looking through them is a fifth
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env
            if collecting:
                gc.freeze()  # they count as old, as what is looked through seldom
                gc.enable()
                gc.unfreeze()


def _entry(symbol: str, function: Any) -> str:
    """The way in from Python: arguments in words, which Numba's convention has each by itself."""
    forms = [str(argument.type) for argument in function.arguments]
    lines = [f'declare i32 @"{function.name}"({", ".join(forms)})']
    lines += [f"define i32 @{symbol}(ptr %result, ptr %words) {{", "%error = alloca ptr"]
    passed = ["ptr %result", "ptr %error"]
    for k, form in enumerate(forms[2:]):
        lines += [f"%p{k} = getelementptr i64, ptr %words, i64 {k}"]
        lines += [f"%a{k} = load {form}, ptr %p{k}"]
        passed.append(f"{form} %a{k}")
    lines += [f'%status = call i32 @"{function.name}"({", ".join(passed)})', "ret i32 %status", "}"]
    return "\n".join(lines)


def _type(value: Any) -> Any:
    """The type of an argument, as broad as its kind."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "A"
        return types.Array(numba.from_dtype(value.dtype), value.ndim, layout)
    if isinstance(value, tuple):
        parts = tuple(map(_type, value))
        if hasattr(value, "_fields"):
            alike = len(set(parts)) == 1
            form = types.NamedUniTuple if alike else types.NamedTuple
            return form(parts[0], len(parts), type(value)) if alike else form(parts, type(value))
        return types.Tuple(parts) if len(set(parts)) > 1 else types.UniTuple(parts[0], len(parts))
    if isinstance(value, bool | np.bool_):
        return types.boolean
    return types.float64 if isinstance(value, float | np.floating) else types.int64


def _kind(kind: Any) -> Any:
    """What comes back, for :mod:`stochastic.kept.native`."""
    if kind == types.none:
        return None
    if kind in _KINDS:
        return _KINDS[kind]
    if isinstance(kind, types.BaseAnonymousTuple):
        return ["tuple", *map(_kind, kind)]
    if isinstance(kind, types.Array) and kind.layout == "C":
        return ["array", numba.np.numpy_support.as_dtype(kind.dtype).str, kind.ndim]
    raise UnfitError(f"{kind} comes back")
