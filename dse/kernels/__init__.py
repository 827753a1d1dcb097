"""From a CUDA kernel to its numbers, without a GPU: compiled, disassembled, counted.

``compiling`` and ``cubin`` give machine code, ``disassembly`` and ``assembly`` its instructions,
``flow`` its blocks and loops, ``values`` what registers hold, ``counts`` how often blocks run,
``evaluate`` and ``formula`` that as numbers and as text, ``accesses`` what memory is asked for, and
``counted`` the quantities of models. ``ptx`` counts in PTX text, without the extra ``kernels``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from symbolic.errors import DseError

__all__ = ["kernel"]


def kernel(
    path: str | PathLike[str],
    times: Mapping[str, float] | None = None,
    entry: str = "",
    *,
    arch: str = "sm_80",
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    block: Sequence[int] = (256,),
    grid: Sequence[int] = (),
    set: Mapping[str, float] | None = None,  # noqa: A002
) -> Mapping[str, float | str]:
    """The quantities of a CUDA kernel, counted in its machine code.

    Parameters
    ----------
    path : path
        CUDA source (``.cu``), a ``.cubin``, or PTX text (``.ptx``, whose loops ``times`` tells by
        their labels; it knows neither registers nor addresses).
    times : mapping, optional
        What depends on data, by the names that are asked for: passes of loops
        (``trips_line_24``), chances of branches (``chance_line_31``).
    entry : str
        The kernel, of several in the file; of a template with its arguments, ``scale<float>``.
    arch : str
        The compute capability that is compiled for, ``sm_75`` to ``sm_121``.
    define, options
        Macros and options of the compiler, such as ``-use_fast_math``.
    block, grid : sequence of int
        Sizes in x, y and z. Without a grid one block stands for all.
    set : mapping, optional
        The arguments that decide loops and branches, by their names in the source (``arg0``, ...
        of a cubin). They stay quantities in formulas of the answer.

    Returns
    -------
    mapping
        Quantities by name; counts are of one thread, as its warp executes them. Numbers, or texts
        of formulas where an argument of the whole launch decides. Of machine code its attributes
        ``numbers``, ``sources``, ``assumed`` and ``arguments`` say more.

    Raises
    ------
    DseError
        The compiler's words; no kernel, or several and none named; an argument or a count of
        passes that is needed and not given, each by name; a jump to a computed address.

    >>> counted = kernel("examples/strided-sum.ptx", {"WALK": 100})
    >>> counted["sync_insts"]
    0.0
    """
    file = Path(fspath(path))
    if file.suffix == ".ptx":
        from dse.kernels.ptx import kernel as of_ptx

        return of_ptx(path, times or {}, entry)
    from dse.kernels.launches import counted

    if not file.is_file():
        raise DseError(f"{file} is no file: expected CUDA source (.cu), a .cubin or PTX (.ptx)")
    return counted(
        file,
        entry=entry,
        arch=arch,
        define=dict(define or {}),
        options=tuple(options),
        block=tuple(block),
        grid=tuple(grid),
        given=dict(set or {}),
        asked=dict(times or {}),
    )
