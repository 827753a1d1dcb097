"""Count the instructions of a CUDA kernel without a GPU.

Source is compiled to a cubin, which is disassembled; PTX text is read into the same record. The
control flow, register values, trip counts and addresses are derived from this record. The counts
that models need are computed from these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dse.progress import ProgressOption, show_progress
from stochastic.aliases import old_names
from symbolic.errors import DseError


@old_names(beside="profile")
def kernel(
    path: Any,
    times: Mapping[str, float] | None = None,
    entry: str = "",
    *,
    arch: str = "sm_80",
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    block: int | str | Sequence[int | str] | Sequence[Sequence[int | str]] = (),
    grid: int | str | Sequence[int | str] = (),
    dynamic_shared: int | str | None = None,
    array_bytes: Mapping[str, float | str] | None = None,
    flops: float | str | None = None,
    set: Mapping[str, float] | None = None,  # noqa: A002
    profile: str | PathLike[str] | None = None,
    row: int | None = None,
    progress: ProgressOption = False,
) -> Any:
    """Return the quantities of a CUDA kernel, counted in its machine code.

    Parameters:
        path (path, bytes or object): CUDA source (``.cu``), a cubin or PTX text, recognised by its
            content. Also the bytes of a cubin or PTX, or a compiled kernel with its machine code in
            ``asm["cubin"]``, such as Triton's. PTX has no ``registers_per_thread``.
        times (mapping, optional): Values that depend on data, by the names in the error message:
            trip counts of loops (``trips_line_24``), fractions of threads that branch
            (``chance_line_31``).
        entry (str): Name of the kernel if the file has several; a template with its arguments,
            ``scale<float>``.
        arch (str): The compute capability to compile for, ``sm_75`` to ``sm_121``.
        define, options: Macros and options of the compiler, such as ``-use_fast_math``. A macro may
            have a list of values: all variants are compiled and counted in parallel, and their
            counts are cached.
        block, grid (int or sequence of int): Sizes in x, y and z, or in x alone: numbers, or
            formulas in macros and arguments (``["BX", "256 / BX"]``). Formulas of the grid may also
            use ``block_x``, ``block_y`` and ``block_z`` (``"ceil(n / block_x)"``). Several blocks
            (``[[16, 16], [32, 8]]``) are counted one by one. Default block: 256 threads, or the
            block that follows from the bounds checks of a kernel without ``blockDim``. Default
            grid: the blocks that pass the kernel's bounds checks; a kernel without checks has one
            block that stands for all.
        dynamic_shared (int or str, optional): Dynamic shared memory of a block [B], or a formula as
            for the grid (``"4 * block_x"``).
        array_bytes (mapping, optional): Sizes of arrays [B] by the names of their arguments, as
            numbers or formulas (``"4 * n"``). They limit the bytes that are counted for
            data-dependent addresses.
        flops (float or str, optional): Operations that the problem needs, a number or a formula
            (``"2 * M * N * K"``). Another count is an error: for example, a trip count was given
            for the wrong loop.
        set (mapping, optional): Arguments that decide loops and branches, by their names in the
            source (``arg0``, ... in a cubin). They stay quantities in the resulting formulas.
        profile, row: A profile or a tuner's results to compare with, and the row of one launch
            (default: all). The result is a Dataset of counted and measured values. Macros, block
            and grid are those of each launch where the profile has them.
        progress (bool): Show the elapsed time after one second.

    Returns:
        mapping or Dataset: Quantities by name, counted for one thread as its warp executes them: a
            :class:`dse.cuda.instruction_counts.KernelCounts`, which also has formulas and
            assumptions and writes a workload file (``toml()``). With lists of macros a Dataset with
            these as axes, and ``status`` with the reason why a variant cannot be counted.

    Raises:
        DseError: If the source does not compile, the file has no kernel or several and ``entry``
            names none, an argument or trip count is missing (each is named), or a jump has a
            computed address.

    >>> count_file = kernel("examples/strided-sum.ptx", set={"steps": 100})
    >>> count_file["coalesced_insts"]
    201.0
    """
    shapes, define = as_shapes(block), dict(define or {})
    settings: dict[str, Any] = {
        "arch": arch,
        "options": tuple(options),
        "block": shapes[0] if shapes else (),
        "grid": as_sizes(grid, "grid"),
        "dynamic_shared": dynamic_shared,
        "array_bytes": dict(array_bytes or {}),
        "flops": flops,
        "entry": entry,
        "set": dict(set or {}),
        "times": dict(times or {}),
    }
    with ExitStack() as stack:
        if isinstance(path, (str, PathLike)):
            file = Path(fspath(path))
        else:
            file = _write_code(path, stack.enter_context(TemporaryDirectory()))
        if not file.is_file():
            raise DseError(f"{file} is no file: expected CUDA source (.cu), a .cubin or PTX (.ptx)")
        stack.enter_context(show_progress(progress, "counting"))
        if profile is not None:
            from dse.cuda.tuning_space import compare_profile

            return compare_profile(file, Path(fspath(profile)), define, row, settings)
        if len(shapes) > 1 or any(isinstance(each, (list, tuple)) for each in define.values()):
            from dse.cuda.tuning_space import BLOCK_AXIS, count_macro_grid

            several = (list, tuple)
            axes = {n: list(v) if isinstance(v, several) else [v] for n, v in define.items()}
            axes |= {BLOCK_AXIS: shapes} if len(shapes) > 1 else {}
            return count_macro_grid(file, axes, settings)
        from dse.cuda.kernel_file import count_file

        return count_file(file, define, settings)


def _write_code(compiled_object: object, folder: str) -> Path:
    """Write the machine code or PTX of a compiled object into a file of its name."""
    data = _machine_code(compiled_object)
    is_text = data[:4] != b"\x7fELF" and b".version" in data[:4096] and b".entry" in data
    name = getattr(compiled_object, "name", "") or getattr(compiled_object, "__name__", "")
    name = name if isinstance(name, str) and name.isidentifier() else "kernel"
    file = Path(folder, f"{name}.{'ptx' if is_text else 'cubin'}")
    file.write_bytes(data)
    return file


def _machine_code(compiled_object: object) -> bytes:
    """Return the cubin or PTX in an object, which may consist of these bytes alone."""
    asm = getattr(compiled_object, "asm", None)
    code = asm.get("cubin") if isinstance(asm, Mapping) else compiled_object
    if isinstance(code, (bytes, bytearray)):
        return bytes(code)
    function = getattr(compiled_object, "py_func", compiled_object)
    if callable(function) and not isinstance(compiled_object, type):
        raise DseError(
            f"{getattr(compiled_object, '__name__', 'this')} is a Python function: compile it "
            "first, and give Triton's compiled kernel, numba's cubin file, or the PTX of "
            "numba.cuda.compile(function, signature, output='ptx')"
        )
    raise DseError(
        f"a {type(compiled_object).__name__} is no kernel: expected a path, the bytes of a cubin "
        "or PTX, or a compiled kernel with its machine code in asm['cubin']"
    )


def as_shapes(block: Any) -> list[tuple[int | str, ...]]:
    """Return the shapes in the argument for one block or a list of blocks."""
    several = (list, tuple)
    if isinstance(block, several) and any(isinstance(each, several) for each in block):
        return [as_sizes(each, "block") for each in block]
    sizes = as_sizes(block, "block")
    return [sizes] if sizes else []


def as_sizes(sizes: Any, name: str) -> tuple[int | str, ...]:
    """Return the argument for a block or grid, one size or several, as a tuple."""
    if isinstance(sizes, (int, str)) or hasattr(sizes, "__index__"):
        sizes = (sizes,)
    is_list = isinstance(sizes, Iterable) and not isinstance(sizes, (bytes, Mapping))
    if not is_list or len(sizes := tuple(sizes)) > 3:
        raise DseError(f"{name} = {sizes!r}: expected one to three whole numbers")
    return tuple(int(each) if isinstance(each, str) and each.isdigit() else each for each in sizes)
