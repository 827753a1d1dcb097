"""Where the files of machines and workloads lie, and what a name that none bears may mean."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from dse.products import alike, capability_of, plain_name
from symbolic.errors import UnknownEntryError, nearest
from symbolic.files import file_text, folders

DATA = Path(__file__).parent / "data"


def absolute(path: Path) -> Path:
    """Without ``..``, so that a circle of bases is seen; links keep their names."""
    return Path(os.path.abspath(path))


def _own(kind: str) -> Iterator[Path]:
    """The files of your own, in the folders of ``DSE_PATH``."""
    mark = re.compile(rf"^\s*kind\s*=\s*[\"']{kind}[\"']", re.MULTILINE)
    for folder in folders():
        yield from (folder / f"{kind}s").glob("*.toml")
        yield from (path for path in folder.glob("*.toml") if mark.search(file_text(path)))


@cache  # the shipped files stay as they are while a process runs
def _named(kind: str, own: frozenset[Path]) -> Mapping[str, list[Path]]:
    files = own.union(map(absolute, (DATA / f"{kind}s").glob("*.toml")))
    found: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda p: (p.stem.lower(), p)):
        found.setdefault(path.stem.lower(), []).append(path)
    return found


def paths_of(kind: str) -> Mapping[str, list[Path]]:
    """The files of every name, in the order of names; none is parsed."""
    return _named(kind, frozenset(map(absolute, _own(kind))))


def file_titles(kind: str) -> dict[str, str]:
    """Titles by name; a file that cannot be read is named, and says so when it is asked for."""
    found = {}
    for name, paths in paths_of(kind).items():
        try:
            found[name] = str(tomllib.loads(paths[0].read_text(encoding="utf-8"))["title"])
        except (OSError, ValueError, KeyError, RecursionError):
            found[name] = f"cannot be read: {paths[0]}"
    return found


def unknown_entry(kind: str, name: str, known: Iterable[str]) -> UnknownEntryError:
    """The error of a name that no machine or workload bears, with what it may mean."""
    known = list(known)
    there = ", ".join(k for k in known if kind != "machine" or not k.startswith("cc"))
    there += ", cc1.0 and the other compute capabilities" if kind == "machine" else ""
    missing = "".join(f"; DSE_PATH lists {f}, no folder" for f in folders() if not f.is_dir())
    for path in (folder / f"{name}.toml" for folder in folders()):
        if path.is_file():
            missing += f'; {path} is not taken for one, as it does not say kind = "{kind}"'
    other = "workload" if kind == "machine" else "machine"
    hint = f" but a {other}" if name.lower() in paths_of(other) else nearest(name.lower(), known)
    if kind == "machine" and (told := _product(name)):
        return UnknownEntryError(told)
    return UnknownEntryError(
        f"{name!r} is no {kind}{hint}; there are: {there} (one of your own "
        f"is given as a path ending in .toml, or lies in a folder of DSE_PATH{missing})"
    )


def _product(name: str) -> str:
    """What a name of a product could mean; empty where it is none."""
    titles = file_titles("machine")
    if len(several := alike(name, titles)) > 1:
        shown = ", ".join(f"{each} ({titles[each]})" for each in several)
        return f"{name!r} is the name of more than one machine: {shown}; say which"
    if capability := capability_of(name):
        return (
            f"{name!r} has no machine file. Its compute capability is {capability}: take "
            f"cc{capability} for its limits alone, or start a file of your own from them "
            f"(dse new machine {plain_name(name)}.toml --from cc{capability})"
        )
    return ""
