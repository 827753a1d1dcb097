"""What the name of a function tells, into which C++ compilers write its types: see the C++ ABI."""

from __future__ import annotations

import re

__all__ = ["parameters", "plain"]

#: Bytes of the types that one letter stands for (Itanium C++ ABI, 5.1.5.2), on 64-bit systems.
_BUILTIN = dict.fromkeys("bcah", 1) | dict.fromkeys("st", 2) | dict.fromkeys("ijfw", 4)
_BUILTIN |= dict.fromkeys("lmxyd", 8)
_NAMED = re.compile(r"_Z(\d+)")


def parameters(name: str) -> tuple[tuple[int, int], ...]:
    """Offsets and sizes in bytes of the arguments of a kernel; none where its name tells not all.

    Templates, names within namespaces and structures by value are not read.

    >>> parameters("_Z4rowsPKiS0_fd")
    ((0, 8), (8, 8), (16, 4), (24, 8))
    """
    told = _NAMED.match(name)
    if told is None:
        return ()
    rest, known = name[told.end() + int(told[1]) :], list[int]()
    found, offset = [], 0
    while rest and rest != "v":
        size, rest = _type(rest, known)
        if not size:
            return ()
        offset = -(-offset // size) * size
        found.append((offset, size))
        offset += size
    return tuple(found)


def _type(text: str, known: list[int]) -> tuple[int, str]:
    """The size of the type that a text begins with, 0 where it is not known, and what follows."""
    if (builtin := _BUILTIN.get(text[:1])) is not None:
        return builtin, text[1:]
    if text[:1] in ("K", "V", "r"):
        size, rest = _type(text[1:], known)
        known.append(size)
        return size, rest
    if text[:1] in ("P", "R"):
        _, rest = _type(text[1:], known)
        known.append(8)
        return 8, rest
    if (again := re.match(r"S([0-9A-Z]*)_", text)) is not None:
        at = int(again[1], 36) + 1 if again[1] else 0
        return (known[at] if at < len(known) else 0), text[again.end() :]
    if (named := re.match(r"\d+", text)) is not None:
        known.append(0)
        return 0, text[named.end() + int(named[0]) :]
    return 0, ""


def plain(name: str) -> str:
    """The name of a function without what C++ adds to it, nor whose code it lies in.

    >>> plain("$_Z1kPfi$_Z5near1fi"), plain("_Z4rowsPKi"), plain("main")
    ('near1', 'rows', 'main')
    """
    name = name.rpartition("$")[2]
    told = re.match(r"_Z(?:N\d*\w*?)?(\d+)", name)
    if told is None:
        return name
    return name[told.end() : told.end() + int(told[1])]
