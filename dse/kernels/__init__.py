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

from dse.progress import Shown, shown
from symbolic.errors import DseError

__all__ = ["kernel"]


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
    progress: Shown = False,
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
        Dataset of counts and of those measured (:func:`dse.kernels.beside.beside`). Macros, block
        and grid are those of each launch, as far as it tells them.
    progress : bool
        Tell, after a second, for how long the work goes on.

    Returns
    -------
    mapping or Dataset
        Quantities by name; counts are of one thread, as its warp executes them: a
        :class:`dse.kernels.counted.Counted`, which has formulas and assumptions too and writes a
        workload file (``toml()``). Over several values of macros a Dataset with these as
        axes, and ``status`` where a variant cannot be counted.

    Raises
    ------
    DseError
        The compiler's words; no kernel, or several and none named; an argument or a count of
        passes that is needed and not given, each by name; a jump to a computed address.

    >>> counted = kernel("examples/strided-sum.ptx", set={"steps": 100})
    >>> counted["coalesced_insts"]
    201.0
    """
    block, grid = _sizes(block, "block"), _sizes(grid, "grid")
    given: dict[str, Any] = {"arch": arch, "define": define, "options": options, "set": set}
    given |= {"block": block, "grid": grid}
    if not isinstance(path, (str, PathLike)):
        with TemporaryDirectory() as folder:
            data = _machine_code(path)
            is_text = data[:4] != b"\x7fELF" and b".version" in data[:4096] and b".entry" in data
            file = Path(folder, f"{_name(path)}.{'ptx' if is_text else 'cubin'}")
            file.write_bytes(data)
            more: dict[str, Any] = {"beside": beside, "row": row, "progress": progress}
            return kernel(file, times, entry, **given, **more)
    about: dict[str, Any]
    file = Path(fspath(path))
    if not file.is_file():
        raise DseError(f"{file} is no file: expected CUDA source (.cu), a .cubin or PTX (.ptx)")
    several = {
        name: each for name, each in (define or {}).items() if isinstance(each, (list, tuple))
    }
    if beside is not None:
        from dse.kernels.beside import beside as compared

        about = {"arch": arch, "options": options, "set": dict(set or {}), "times": times or {}}
        about |= {"block": block, "grid": grid, "row": row}
        with shown(progress, "counting"):
            return compared(file, Path(fspath(beside)), entry=entry, define=define or {}, **about)
    if several:
        from dse.kernels.spaces import kernel_space

        every = {name: several.get(name, [each]) for name, each in (define or {}).items()}
        about = {"entry": entry, "arch": arch, "options": options, "block": block or (256,)}
        with shown(progress, "counting"):
            return kernel_space(file, every, grid=grid, set=set, times=times, **about)
    from dse.kernels.launches import counted

    with shown(progress, "counting"):
        return counted(
            file,
            entry=entry,
            arch=arch,
            define=dict(define or {}),
            options=tuple(options),
            block=_numbers(block or (256,), "block"),
            grid=_numbers(grid, "grid"),
            given=dict(set or {}),
            asked=dict(times or {}),
        )


def _machine_code(given: object) -> bytes:
    """Return the cubin or the PTX that an object is or holds."""
    asm = getattr(given, "asm", None)
    found = asm.get("cubin") if isinstance(asm, Mapping) else given
    if isinstance(found, (bytes, bytearray)):
        return bytes(found)
    if callable(getattr(given, "py_func", given)) and not isinstance(given, type):
        raise DseError(
            f"{getattr(given, '__name__', 'this')} is a Python function: give what its compiler "
            "makes of it: of Triton the compiled kernel, of numba the file of its cubin, or the "
            "PTX of numba.cuda.compile(function, signature, output='ptx')"
        )
    raise DseError(
        f"a {type(given).__name__} is no kernel: expected a path, the bytes of a cubin or PTX, or "
        "a compiled kernel with its machine code in asm['cubin']"
    )


def _name(given: object) -> str:
    told = getattr(given, "name", "") or getattr(given, "__name__", "")
    return told if isinstance(told, str) and told.isidentifier() else "kernel"


def _sizes(given: Any, name: str) -> tuple[int | str, ...]:
    """Return the sizes of a block or grid; one alone is that in x."""
    if isinstance(given, (int, str)) or hasattr(given, "__index__"):
        given = (given,)
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise DseError(f"{name} = {given!r}: expected one to three whole numbers")
    return tuple(given)


def _numbers(sizes: Sequence[int | str], name: str) -> tuple[int, ...]:
    try:
        return tuple(int(each) for each in sizes)
    except (TypeError, ValueError, OverflowError):
        raise DseError(f"{name} = {tuple(sizes)}: expected one to three whole numbers") from None
