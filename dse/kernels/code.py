"""A kernel of a file: found by its name, and compiled where it is source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from dse.kernels.compiling import capability
from dse.kernels.assembly import Instruction
from dse.kernels.cubin import Function, functions
from dse.kernels.hosted import built, included
from dse.kernels.naming import quantity_names
from dse.kernels.ptx import entries, is_ptx, read_entry
from dse.kernels.signature import plain
from dse.kernels.source import Signature, signatures
from symbolic.errors import DseError, check_known

__all__ = ["Code", "code_of"]


_Kernel = TypeVar("_Kernel")
#: The first instruction, as ``cuobjdump -sass`` and ``nvdisasm -c`` list it.
_LISTING = re.compile(r"^\s*/\*0{4,}\*/\s", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A kernel's machine code, and the names of its arguments.

    ``beside`` are the kernels that were compiled with it. Of PTX the instructions are read already,
    into ``body``, with their ``lines``.
    """

    function: Function
    cubin: bytes
    arguments: Mapping[int, str]
    origin: str
    source: Sequence[str] = ()
    left_out: Sequence[str] = ()
    beside: Sequence[Function] = ()
    body: Sequence[Instruction] = ()
    lines: Mapping[int, int] = field(default_factory=dict)

    @property
    def quantities(self) -> dict[int, str]:
        """The names of quantities that stand for arguments, by their offsets."""
        return dict(zip(self.arguments, quantity_names([*self.arguments.values()]), strict=True))

    @property
    def offsets(self) -> dict[str, int]:
        """The offsets of arguments by their names in the source, and by those of quantities."""
        named = {name: offset for offset, name in self.quantities.items()}
        return named | {name: offset for offset, name in self.arguments.items()}


def code_of(
    file: Path,
    *,
    entry: str,
    arch: str,
    define: Mapping[str, object],
    options: Sequence[str],
    lines: bool = True,
) -> Code:
    """Return the machine code of a kernel of a file.

    Without ``lines`` it does not tell those of its source, which takes less time.
    """
    data = file.read_bytes()
    called = file.name.encode("utf-8", "replace").decode()
    if data[:4] in (b"\x7fELF", b"\x50\xed\x55\xba") or file.suffix == ".cubin":
        _no_source(file, define, options)
        found = functions(data)
        function = _chosen(found, entry, str(file))
        return Code(
            function=function,
            beside=list(found.values()),
            cubin=data,
            arguments=_named(function, ()),
            origin=f"{called}, sm_{function.arch}",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DseError(
            f"{file} is neither text nor machine code: expected CUDA source (.cu), a .cubin "
            "or PTX (.ptx)"
        ) from None
    if file.suffix == ".ptx" or is_ptx(text):
        _no_source(file, define, options)
        heads = entries(text, str(file))
        chosen = _chosen({name: name for name in heads}, entry, str(file))
        read = read_entry(text, chosen, heads[chosen], str(file))
        return Code(
            function=read.function,
            cubin=b"",
            arguments=_named(read.function, read.names),
            origin=f"{called}, PTX",
            source=text.splitlines(),
            body=read.body,
            lines=read.lines,
        )
    if _LISTING.search(text):
        raise DseError(
            f"{file} lists machine code as text: give the cubin itself (cuobjdump -xelf all, "
            "nvcc -cubin), its CUDA source, or PTX"
        )
    number = capability(arch)
    known, own = _kernels(text, file, options)
    name = entry.partition("<")[0].rpartition("::")[2]
    beside = own if own and (not entry or name in own) else known
    if not beside:
        raise DseError(
            f"{file} has no kernel, nor has what it includes of files that were found: a function "
            "marked __global__ was expected (--include FOLDER names where headers lie)"
        )
    wanted = _wanted(entry, beside, str(file))
    plain = wanted.partition("<")[0]
    qualified = "::".join(filter(None, (known[plain].space, wanted)))
    code = built(text, number, file, define=define, options=options, wanted=qualified, lines=lines)
    found = functions(code.cubin)
    function = found.get(code.lowered) or _chosen(found, plain, str(file))
    return Code(
        function=function,
        beside=list(found.values()),
        cubin=code.cubin,
        arguments=_named(function, known[plain].arguments),
        origin=f"{called} ({wanted}), compiled for sm_{function.arch}",
        source=beside[plain].text.splitlines(),
        left_out=code.left_out,
    )


def _kernels(
    text: str, file: Path, options: Sequence[str]
) -> tuple[dict[str, Signature], dict[str, Signature]]:
    """Return the kernels of a source and of what it includes, and those of the source itself."""
    own = dict(signatures(text))
    every: dict[str, Signature] = {}
    for each in included(text, file, options).values():
        every |= signatures(each)
    return every | own, own


def _no_source(file: Path, define: Mapping[str, object], options: Sequence[str]) -> None:
    if define or options:
        raise DseError(
            f"{file} is compiled already: macros and options of a compiler "
            "(--define, --option) are of source"
        )


def _wanted(entry: str, known: Mapping[str, Signature], file: str) -> str:
    name = entry.partition("<")[0].rpartition("::")[2]
    entry = name + entry[len(entry.partition("<")[0]) :]
    if not entry:
        if len(known) > 1:
            raise DseError(
                f"{file} has {len(known)} kernels: {', '.join(known)}; name one by entry (--entry)"
            )
        (name,) = known
        entry = name
    check_known(name, known, f"{file} has no kernel {name!r}")
    if known[name].template and "<" not in entry:
        raise DseError(
            f"{name} is a template ({known[name].template}): name it with its arguments, such as "
            f"--entry '{name}<float>'"
        )
    return entry


def _chosen(found: Mapping[str, _Kernel], entry: str, file: str) -> _Kernel:
    fits = [name for name in found if not entry or entry == name or plain(name) == entry]
    if len(fits) == 1:
        return found[fits[0]]
    if not found:
        raise DseError(f"{file} has no kernel")
    names = ", ".join(map(plain, found))
    raise DseError(f"{file} has the kernels {names}: name one of them by entry (--entry)")


def _named(function: Function, names: Sequence[str]) -> dict[int, str]:
    """The arguments' names by their offsets."""
    return {
        offset: names[number] if number < len(names) else f"arg{number}"
        for number, (offset, _) in enumerate(function.arguments)
    }
