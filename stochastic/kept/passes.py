"""What Numba does to a body, as little as there need be: LLVM does the rest, all at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types
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


class Short(CompilerBase):  # type: ignore[misc]
    """Numba's passes for bodies that make no arrays: without those that look for what does.

    Nor those that give a name anew wherever it is bound, or say where it ends: LLVM finds that out
    in no time, Numba takes a quarter of its own for it. So a name is of one type in all of a body.
    """

    #: What is left out.
    _idle = (
        *(NopythonRewrites, InlineClosureLikes, DeadBranchPrune),
        *(ReconstructSSA, PreLowerStripPhis, IRLegalization),
        *(WithLifting, RewriteSemanticConstants, RewriteDynamicRaises, MakeFunctionToJitFunction),
        *(FindLiterallyCalls, LiteralUnroll, InlineOverloads, NoPythonSupportedFeatureValidation),
    )

    def define_pipelines(self) -> list[Any]:
        """Numba's own, less what is left out."""
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


_typed: dict[Any, Any] = {}
_search: Any = types.Function.get_call_type


def _remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """What a function gives for such arguments: Numba tries all it may be, for every call anew.

    What is written in Python is found anew: how it is compiled depends on who calls it.
    """
    key = function, context, tuple(args)
    if kws or key not in _typed:
        found = _search(function, context, args, kws)
        written = (getattr(form, "_compiled_overloads", ()) for form in function.templates)
        if kws or any(found.args in known for known in written):
            return found
        _typed[key] = found
    return _typed[key]


@contextmanager
def plainly() -> Iterator[None]:
    """Have Numba keep its hands off machine code: it would make it of each function by itself."""
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()
        codegen._library_class, codegen.set_env = _Plain, lambda *_: None
        setattr(types.Function, "get_call_type", _remembered)  # noqa: B010 - mypy
        collecting = gc.isenabled()
        gc.disable()  # millions of small things live until the end: looking through them is a fifth
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env, types.Function.get_call_type
            if collecting:
                gc.freeze()  # they count as old, as what is looked through seldom
                gc.enable()
                gc.unfreeze()
