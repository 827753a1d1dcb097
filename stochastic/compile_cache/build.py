"""Compile functions with Numba to machine code that can be called without Numba."""

from __future__ import annotations

import builtins
import ctypes
import gc
import inspect
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    InlineOverloads,
    IRLegalization,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    InlineClosureLikes,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    ReconstructSSA,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    WithLifting,
)
from numba.extending import intrinsic

from stochastic.compile_cache.cache import load, save
from stochastic.compile_cache.flat_arrays import FlatArray, WordTuple
from stochastic.compile_cache.keys import Compilable, LazyImport, notify_listeners, used_globals
from stochastic.compile_cache.native import NativeCodeError, pack_code

#: LLVM IR of the runtime functions of Numba that compiled code calls. A block of memory holds a
#: reference count (word 0), the address of its data (word 3), its size (word 4), and the data.
_RUNTIME_IR = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare double @ldexp(double, i32)
declare double @frexp(double, ptr)
define double @numba_ldexp(double %part, i32 %power) {
  %number = call double @ldexp(double %part, i32 %power)
  ret double %number
}
define double @numba_frexp(double %number, ptr %power) {
  %part = call double @frexp(double %number, ptr %power)
  ret double %part
}
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
_SCALAR_KINDS = {types.float64: "f", types.int64: "i", types.boolean: "b"}
_dispatchers: weakref.WeakKeyDictionary[Compilable, dict[Any, Any]] = weakref.WeakKeyDictionary()
#: For each symbol, a separately compiled function and its argument types.
_separate_functions: dict[str, tuple[Compilable, tuple[Any, ...]]] = {}
_lock = threading.RLock()


def dispatcher(body: Compilable, *, from_python: bool = False, standalone: bool = False) -> Any:
    """Return Numba's dispatcher of a function and of all functions that it calls.

    With ``from_python``, Python can call the dispatcher. With ``standalone``, functions with the
    option ``gives`` are compiled as a part of the dispatcher, not separately.
    """
    with _lock:
        made = _dispatchers.setdefault(body, {})
        if (from_python, standalone) not in made:
            function = body.function
            options = {"no_cfunc_wrapper": True, **body.options}
            for name in ("flat", "gives", "noalias"):
                options.pop(name, None)
            if not from_python:
                options["no_cpython_wrapper"] = True
            if body.options.get("_nrt") is False:
                options["pipeline_class"] = _ShortCompiler
            known = {"__builtins__": builtins, "__name__": function.__module__}
            known |= {name: _resolve(value, standalone) for name, value in used_globals(function)}
            cells = tuple(_resolve_cell(cell, standalone) for cell in function.__closure__ or ())
            defaults, name = function.__defaults__, function.__name__
            twin = FunctionType(function.__code__, known, name, defaults, cells or None)
            twin.__qualname__ = function.__qualname__
            made[from_python, standalone] = numba.njit(**options)(twin)
        return made[from_python, standalone]


def _resolve(value: Any, standalone: bool) -> Any:
    if isinstance(value, LazyImport):
        return value.resolve()
    if not isinstance(value, Compilable):
        return value
    if "gives" in value.options and not standalone:
        return _separate_call(value)
    return dispatcher(value, standalone=standalone)


def _resolve_cell(cell: Any, standalone: bool) -> Any:
    resolved = _resolve(cell.cell_contents, standalone)
    return (lambda: resolved).__closure__[0]  # type: ignore[index]


def _separate_call(body: Compilable) -> Any:
    """Return an intrinsic that calls a separately compiled function by its symbol."""

    def call(_: Any, *args: Any) -> Any:
        form, symbol = _numba_type(body.options["gives"]), _separate_symbol(body, args)
        _separate_functions[symbol] = body, args

        def code(context: Any, builder: Any, _: Any, values: Any) -> Any:
            convention = context.call_conv
            kind = convention.get_function_type(form, args)
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            status, result = convention.call_function(builder, function, form, args, values)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return result

        return form(*args), code

    taken = inspect.signature(body.function)
    context = inspect.Parameter("_context", inspect.Parameter.POSITIONAL_ONLY)
    call.__signature__ = taken.replace(  # type: ignore[attr-defined]
        parameters=[context, *taken.parameters.values()]
    )
    call.__name__ = body.__name__
    return intrinsic(call)


def _separate_symbol(body: Compilable, arg_types: tuple[Any, ...]) -> str:
    return f"apart_{body.__name__}_{body.key(tuple(map(str, arg_types)))}"


def separate_bitcode(body: Compilable, arg_types: tuple[Any, ...]) -> bytes:
    """Return the LLVM bitcode that callers of a function link, from the cache if possible."""
    symbol = _separate_symbol(body, arg_types)
    key = symbol.rpartition("_")[2]
    code = load(key)
    if code is None and notify_listeners(body.__name__):
        code = load(key)  # while the listener waited, another process may have stored the code
    if code is None:
        made, module = _compile(body, arg_types)
        if made.signature.return_type != _numba_type(body.options["gives"]):
            raise TypeError(f"{body.__name__} gives {made.signature.return_type}")
        module.get_function(made.fndesc.llvm_func_name).name = symbol
        code = module.as_bitcode()
        save(key, code)
    return code


def build_code(body: Compilable, args: tuple[Any, ...]) -> bytes:
    """Return the packed machine code of a function; NativeCodeError if it runs only with Numba."""
    forms, flat = argument_types(body, args), body.options.get("flat")
    made, module = _compile(body, forms)
    returned, symbol = _result_kind(made.signature.return_type), f"kept_{body.__name__}"
    function = module.get_function(made.fndesc.llvm_func_name)
    module.link_in(llvm.parse_assembly(_entry_point(symbol, function, forms, body.options)))
    module.link_in(llvm.parse_assembly(_RUNTIME_IR))
    while parts := _declared_functions(module) & _separate_functions.keys():
        for name in sorted(parts):
            module.link_in(llvm.parse_bitcode(separate_bitcode(*_separate_functions[name])))
    needed = sorted(name for name in _declared_functions(module) if not name.startswith("llvm."))
    symbols = ctypes.CDLL(None)
    for name in needed:
        if name.startswith(("Py", "_Py", "NRT", "numba")) or not hasattr(symbols, name):
            raise NativeCodeError(f"{body.__name__} calls {name}")
    for defined in module.functions:
        if not defined.is_declaration and defined.name != symbol:
            defined.linkage = "internal"  # so that LLVM can inline functions that have one caller
    library, codegen = copy(made.library), made.library.codegen
    library._final_module = module
    if body.options.get("_nrt") is False:
        passes, builder = _passes_without_loops(codegen) if flat else codegen._module_pass_manager()
        passes.run(module, builder)
    else:  # this optimises twice, which cancels reference counts
        JITCodeLibrary._optimize_final_module(library)
    return pack_code(symbol, returned, needed, codegen._tm.emit_object(module))


def _passes_without_loops(codegen: Any) -> tuple[Any, Any]:
    """Return LLVM's passes without loop transformations, which would double code with branches."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(codegen._tm, tuning)
    return builder.getModulePassManager(), builder


def _compile(body: Compilable, arg_types: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return Numba's compile result, and the unoptimised module of the function and its callees."""
    made = dispatcher(body)
    with without_optimization():
        made.compile(arg_types)
        result = made.overloads[arg_types]
        result.library._ensure_finalized()
    return result, result.library._final_module.clone()


def _declared_functions(module: Any) -> set[str]:
    return {function.name for function in module.functions if function.is_declaration}


def _entry_point(symbol: str, function: Any, arg_types: tuple[Any, ...], options: Any) -> str:
    """Return the LLVM IR of the entry point, which reads Numba's arguments from the words."""
    apart = "noalias " if options.get("noalias") else ""
    forms = [str(argument.type) for argument in function.arguments]
    lines = [f'declare i32 @"{function.name}"({", ".join(forms)})']
    lines += [f"define i32 @{symbol}(ptr %result, ptr %words) {{", "%error = alloca ptr"]
    passed = ["ptr %result", "ptr %error"]
    places = [(k, False) for k in range(len(forms) - 2)]
    if options.get("flat"):
        places = _word_places(arg_types)
    for k, (form, (place, itself)) in enumerate(zip(forms[2:], places, strict=True)):
        lines += [f"%{'a' if itself else 'p'}{k} = getelementptr i64, ptr %words, i64 {place}"]
        lines += [] if itself else [f"%a{k} = load {form}, ptr %p{k}"]
        passed.append(f"{form} {apart if form == 'ptr' else ''}%a{k}")
    lines += [f'%status = call i32 @"{function.name}"({", ".join(passed)})', "ret i32 %status", "}"]
    return "\n".join(lines)


def _word_places(arg_types: tuple[Any, ...]) -> list[tuple[int, bool]]:
    """Return, per LLVM argument, its word's index and True if the word's address is passed."""
    result, place = [], 0
    for kind in arg_types:
        if isinstance(kind, FlatArray):
            result += [(place + 4 + k, False) for k in range(1 + kind.ndim)]
        else:
            result.append((place, isinstance(kind, WordTuple)))
        place += getattr(kind, "word_count", 1)
    return result


def argument_types(body: Compilable, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the Numba types of the arguments of a function."""
    return tuple(_numba_type(value, body.options.get("flat", False)) for value in args)


def _numba_type(value: Any, flat: bool = False) -> Any:
    if isinstance(value, np.ndarray):
        kind, plain = numba.from_dtype(value.dtype), value.flags.c_contiguous
        if flat and not plain:
            raise NativeCodeError("an array that is not in C order")
        return FlatArray(kind, value.ndim) if flat else types.Array(kind, value.ndim, "AC"[plain])
    if isinstance(value, tuple):
        parts = tuple(_numba_type(part, flat) for part in value)
        if flat:
            return WordTuple(parts, getattr(value, "_fields", ()))
        if hasattr(value, "_fields"):
            if len(set(parts)) == 1:
                return types.NamedUniTuple(parts[0], len(parts), type(value))
            return types.NamedTuple(parts, type(value))
        return types.Tuple(parts) if len(set(parts)) > 1 else types.UniTuple(parts[0], len(parts))
    if isinstance(value, bool | np.bool_):
        return types.boolean
    return types.float64 if isinstance(value, float | np.floating) else types.int64


def _result_kind(kind: Any) -> Any:
    if kind == types.none:
        return None
    if kind in _SCALAR_KINDS:
        return _SCALAR_KINDS[kind]
    if isinstance(kind, types.BaseAnonymousTuple):
        return ["tuple", *map(_result_kind, kind)]
    if isinstance(kind, types.Array) and kind.layout == "C":
        return ["array", numba.np.numpy_support.as_dtype(kind.dtype).str, kind.ndim]
    raise NativeCodeError(f"cannot return {kind}")


# --- fewer passes of Numba, because LLVM optimises all functions together
class _ShortCompiler(CompilerBase):  # type: ignore[misc]
    """A compiler with fewer passes, for functions that create no arrays.

    It skips the passes that look for arrays. It also skips the renaming of variables and the
    analysis of lifetimes: LLVM repeats both, and they take a quarter of Numba's time. Because
    variables are not renamed, they must not change their type.
    """

    _skipped_passes = (
        *(NopythonRewrites, InlineClosureLikes, DeadBranchPrune),
        *(ReconstructSSA, PreLowerStripPhis, IRLegalization),
        *(WithLifting, RewriteSemanticConstants, RewriteDynamicRaises, MakeFunctionToJitFunction),
        *(FindLiterallyCalls, LiteralUnroll, InlineOverloads, NoPythonSupportedFeatureValidation),
    )

    def define_pipelines(self) -> list[Any]:
        usual, short = DefaultPassBuilder.define_nopython_pipeline(self.state), PassManager("short")
        for step, description in usual.passes:
            if step not in self._skipped_passes:
                short.add_pass(step, description)
        short.finalize()
        return [short]


class _UnoptimizedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Numba's code library, but without optimisation, because we optimise the linked module."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # never called


_call_types: dict[Any, Any] = {}
_find_call_type: Any = types.Function.get_call_type


def _cached_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the type signature of a call, from a cache unless the callee is a Python function."""
    key = function, context, tuple(args)
    if kws or key not in _call_types:
        result = _find_call_type(function, context, args, kws)
        written = (getattr(form, "_compiled_overloads", ()) for form in function.templates)
        if kws or any(result.args in known for known in written):
            return result
        _call_types[key] = result
    return _call_types[key]


@contextmanager
def without_optimization() -> Iterator[None]:
    """Within a ``with`` block, stop Numba from optimising each function separately."""
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()
        codegen._library_class, codegen.set_env = _UnoptimizedLibrary, lambda *_: None
        setattr(types.Function, "get_call_type", _cached_call_type)  # noqa: B010 - mypy
        collecting = gc.isenabled()
        gc.disable()  # saves 20 % of the time: millions of small objects live until the end
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env, types.Function.get_call_type
            if collecting:
                gc.freeze()  # moves all objects to the oldest generation, which is scanned rarely
                gc.enable()
                gc.unfreeze()
