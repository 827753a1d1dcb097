"""From a CUDA kernel to its numbers, without a GPU: compiled, disassembled, counted.

Source becomes a cubin and that its instructions; PTX text is read into the same record. Control
flow, values of registers, trip counts and addresses follow, and the counts of models from those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dse.progress import ProgressOption, show_progress
from symbolic.errors import DseError


def kernel(
    path: Any,
    times: Mapping[str, float] | None = None,
    entry: str = "",
    *,
    arch: str = "sm_80",
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    block: int | str | Sequence[int | str] = (),
    grid: int | str | Sequence[int | str] = (),
    set: Mapping[str, float] | None = None,  # noqa: A002
    beside: str | PathLike[str] | None = None,
    row: int | None = None,
    progress: ProgressOption = False,
) -> Any:
    """Return the quantities of a CUDA kernel, counted in its machine code.

    Parameters
    ----------
    path : path, bytes or object
        CUDA source (``.cu``), a cubin or PTX text, by what is in the file. Also the bytes of
        either, and what a compiler at run time returns with its machine code in
        ``asm["cubin"]``, as Triton does. PTX knows no ``registers_per_thread``.
    times : mapping, optional
        What depends on data, by the names that are asked for: passes of loops
        (``trips_line_24``), chances of branches (``chance_line_31``).
    entry : str
        The kernel, of several in the file; of a template with its arguments, ``scale<float>``.
    arch : str
        The compute capability that is compiled for, ``sm_75`` to ``sm_121``.
    define, options
        Macros and options of the compiler, such as ``-use_fast_math``. Where a macro has several
        values (a list), all are compiled and counted, in parallel, and what was counted is kept.
    block, grid : int or sequence of int
        Sizes in x, y and z, or that in x; over several values formulas in the macros, too
        (``["BX", "256 / BX"]``). By default 256 threads; without a grid one block stands for all.
    set : mapping, optional
        The arguments that decide loops and branches, by their names in the source (``arg0``, ...
        of a cubin). They stay quantities in formulas of the answer.
    beside, row
        A profile or a tuner's results, and which launch of it, all by default: the answer is a
        Dataset of counts and of those measured (:func:`dse.cuda.tuning_space.compare_profile`). Macros, block
        and grid are those of each launch, as far as it tells them.
    progress : bool
        Tell, after a second, for how long the work goes on.

    Returns
    -------
    mapping or Dataset
        Quantities by name; counts are of one thread, as its warp executes them: a
        :class:`dse.cuda.instruction_counts.KernelCounts`, which has formulas and assumptions too and writes a
        workload file (``toml()``). Over several values of macros a Dataset with these as
        axes, and ``status`` where a variant cannot be counted.

    Raises
    ------
    DseError
        The compiler's words; no kernel, or several and none named; an argument or a count of
        passes that is needed and not given, each by name; a jump to a computed address.

    >>> count_file = kernel("examples/strided-sum.ptx", set={"steps": 100})
    >>> count_file["coalesced_insts"]
    201.0
    """
    told: dict[str, Any] = {"arch": arch, "options": tuple(options)}
    told |= {"block": _as_sizes(block, "block"), "grid": _as_sizes(grid, "grid")}
    if not isinstance(path, (str, PathLike)):
        with TemporaryDirectory() as folder:
            data = _machine_code(path)
            is_text = data[:4] != b"\x7fELF" and b".version" in data[:4096] and b".entry" in data
            file = Path(folder, f"{_kernel_name(path)}.{'ptx' if is_text else 'cubin'}")
            file.write_bytes(data)
            told |= {"define": define, "set": set, "beside": beside, "row": row}
            return kernel(file, times, entry, **told, progress=progress)
    file, define = Path(fspath(path)), dict(define or {})
    if not file.is_file():
        raise DseError(f"{file} is no file: expected CUDA source (.cu), a .cubin or PTX (.ptx)")
    told |= {"entry": entry, "set": dict(set or {}), "times": dict(times or {})}
    with show_progress(progress, "counting"):
        if beside is not None:
            from dse.cuda.tuning_space import compare_profile as compared

            return compared(file, Path(fspath(beside)), define, row, told)
        told["block"] = told["block"] or (256,)
        if any(isinstance(each, (list, tuple)) for each in define.values()):
            from dse.cuda.tuning_space import count_macro_grid

            several = (list, tuple)
            axes = {n: list(v) if isinstance(v, several) else [v] for n, v in define.items()}
            return count_macro_grid(file, axes, told)
        from dse.cuda.kernel_file import count_file

        return count_file(file, define, told)


def _machine_code(compiled_object: object) -> bytes:
    """Return the cubin or the PTX that an object is or holds."""
    asm = getattr(compiled_object, "asm", None)
    result = asm.get("cubin") if isinstance(asm, Mapping) else compiled_object
    if isinstance(result, (bytes, bytearray)):
        return bytes(result)
    if callable(getattr(compiled_object, "py_func", compiled_object)) and not isinstance(
        compiled_object, type
    ):
        raise DseError(
            f"{getattr(compiled_object, '__name__', 'this')} is a Python function: give what its compiler "
            "makes of it: of Triton the compiled kernel, of numba the file of its cubin, or the "
            "PTX of numba.cuda.compile(function, signature, output='ptx')"
        )
    raise DseError(
        f"a {type(compiled_object).__name__} is no kernel: expected a path, the bytes of a cubin or PTX, or "
        "a compiled kernel with its machine code in asm['cubin']"
    )


def _kernel_name(compiled_object: object) -> str:
    told = getattr(compiled_object, "name", "") or getattr(compiled_object, "__name__", "")
    return told if isinstance(told, str) and told.isidentifier() else "kernel"


def _as_sizes(sizes: Any, name: str) -> tuple[int | str, ...]:
    """Return the sizes of a block or grid; one alone is that in x."""
    if isinstance(sizes, (int, str)) or hasattr(sizes, "__index__"):
        sizes = (sizes,)
    if not isinstance(sizes, Iterable) or isinstance(sizes, (bytes, Mapping)):
        raise DseError(f"{name} = {sizes!r}: expected one to three whole numbers")
    return tuple(sizes)
