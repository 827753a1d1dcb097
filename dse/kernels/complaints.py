"""What a compiler complains of, with its cause first: a header or a name that is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from symbolic.errors import DseError

__all__ = ["CompileError", "explained"]

#: Complaints that are shown, at most.
_MOST = 5
_UNDEFINED = re.compile(
    r'^(.*?)\((\d+)\): error[^:]*: (?:identifier "([^"]+)" is undefined|(\S+) is not a template|'
    r'incomplete type "([^"]+)")',
    re.M,
)


class CompileError(DseError):
    """A source that does not compile; ``lacking`` are headers that were not found."""

    def __init__(self, log: str, lacking: Sequence[str] = ()) -> None:
        super().__init__(log)
        self.lacking = tuple(lacking)


def explained(log: str, headers: Sequence[str]) -> str:
    """Return a compiler's log, its cause in one sentence before it where that is told.

    Warnings and what the compiler says of the tool's own files are left out. ``headers`` are those
    that were not found.
    """
    head, _, log = log.partition("\n")
    blocks = [each.strip("\n") for each in re.split(r"\n\s*\n", log)]
    kept = [
        each
        for each in blocks
        if "error" in each and not each.startswith("__nv_name_map") and " detected in " not in each
    ]
    kept.sort(key=lambda each: _UNDEFINED.search(each) is None)
    shown = kept[:_MOST]
    if len(kept) > _MOST:
        shown.append(f"and {len(kept) - _MOST} more errors")
    return "\n".join([head, *([cause] if (cause := _cause(log, headers)) else []), *shown])


def _cause(log: str, headers: Sequence[str]) -> str:
    missing = ", ".join(dict.fromkeys(headers))
    names = [(m[1], m[2], m[3] or m[4] or m[5]) for m in _UNDEFINED.finditer(log)]
    names = [each for each in names if each[2] != "void"]
    if not names and not missing:
        return ""
    many = len(dict.fromkeys(headers)) > 1
    away = f"the header{'s' if many else ''} {missing} {'were' if many else 'was'} not found"
    if not names:
        return f"{away}: give the folder (--include FOLDER)."
    file, line, name = names[0]
    what = f"{name} is not defined ({Path(file).name}, line {line})"
    if missing:
        return (
            f"{what}, and {away}: give the folder (--include FOLDER), or what {name} stands for "
            f"(--define {name}=...)."
        )
    return (
        f"{what}: give the folder of the header that defines it (--include FOLDER) in a file that "
        f"includes it, or what it stands for (--define {name}=...)."
    )
