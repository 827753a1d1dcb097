"""Model files of one's own: where they lie, how one is run, how one that was run is found again.

A model file is Python, and to load it is to run it. Only a person names the file that is run: in a
study, as an argument, by a folder of ``DSE_PATH``. What a dataset names is found among these by the
hash of its bytes (:func:`found_again`), and never run from where the dataset says it lies.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import traceback
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from symbolic.errors import DseError, UnknownNameError, nearest

__all__ = [
    "SHIPPED",
    "file_text",
    "folders",
    "found_again",
    "model_paths",
    "own_files",
    "path_of",
    "run_file",
]

#: Where the shipped models lie.
SHIPPED = Path(__file__).parent / "models"

#: The files that this process was told to run, by the hash of what was run.
_RUN: dict[str, Path] = {}


class _Read(SourceFileLoader):
    """Runs the bytes that were hashed: no bytecode kept beside the file takes their place."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.stem, str(path))
        self.data = path.read_bytes()

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.data, self.path)


def run_file(path: Path) -> tuple[ModuleType, str]:
    """Run a model file; its module, and the hash of its bytes.

    Raises
    ------
    DseError
        It cannot be read, or fails: with the line where it does.
    """
    try:
        loader = _Read(path)
    except OSError as error:
        raise DseError(f"the model file {path} cannot be read: {error.strerror}") from error
    spec = importlib.util.spec_from_loader(path.stem, loader)
    assert spec is not None, "there is a loader"
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except DseError:
        raise
    except Exception as error:
        steps = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == str(path)]
        line = getattr(error, "lineno", None) or (steps[-1].lineno if steps else None)
        where = f"{path}, line {line}" if line else str(path)
        raise DseError(
            f"the model file {where} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    digest = hashlib.sha256(loader.data).hexdigest()
    _RUN[digest] = path
    return module, digest


def folders() -> list[Path]:
    """The folders of ``DSE_PATH``."""
    parts = os.environ.get("DSE_PATH", "").split(os.pathsep)
    return [Path(part).expanduser() for part in parts if part.strip()]


def file_text(path: Path) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # a folder, or not ours to read
        return ""


def model_paths() -> dict[str, list[Path]]:
    """The files that bear each name of a model: the shipped, and those of ``DSE_PATH``."""
    found = {path.stem: [path] for path in _shipped()}
    for folder in dict.fromkeys(folders()):
        for path in sorted(folder.glob("*.py")) if folder.is_dir() and folder != SHIPPED else []:
            if "equation" in file_text(path) and not path.stem.startswith("_"):
                found.setdefault(path.stem, []).append(path)
    return found


@cache
def _shipped() -> tuple[Path, ...]:
    """The files of the shipped models, which stay as they are while a process runs."""
    return tuple(each for each in sorted(SHIPPED.glob("*.py")) if not each.stem.startswith("_"))


def path_of(name: str, base: Path | None) -> Path:
    """The file of a model by its name, or by its path (``.py``); nothing is run."""
    if name.endswith(".py"):
        path = Path(os.path.realpath(base / name if base else name))
        if not path.is_file():
            raise DseError(f"the model file {name!r} does not exist (looked at {path})")
        return path
    found = model_paths()
    if name not in found:
        raise UnknownNameError(
            f"{name!r} is no model{nearest(name, found)}; there are: {', '.join(sorted(found))} "
            "(give a model of your own as a path ending in .py, or put it in a folder of DSE_PATH)"
        )
    if len(found[name]) > 1:
        raise DseError(
            f"{name!r} names {len(found[name])} models: {', '.join(map(str, found[name]))}; rename "
            "one, or give the path of the one you mean"
        )
    path = found[name][0]
    return path if path.parent == SHIPPED else path.resolve()


def own_files(spec: str, base: Path | None = None) -> list[Path]:
    """The files that loading a model, or a union of several, would run besides shipped ones."""
    paths = (path_of(part.strip(), base) for part in spec.split("+"))
    return [path for path in paths if path.parent != SHIPPED]


def found_again(model: str, files: Iterable[Sequence[str]]) -> str:
    """The model that a dataset names, with the user's own files in the place of what it names.

    Parameters
    ----------
    model : str
        Names of models, joined by ``+``.
    files : iterable of (name, sha256)
        Those of them that are no shipped ones, in order, and the hashes of their files.

    Raises
    ------
    DseError
        A file with that hash was not run by this process before, nor lies in a folder of
        ``DSE_PATH``. None is run.
    """
    hashes = {str(name): str(digest) for name, digest in files}
    shipped = {path.stem for path in _shipped()}
    parts = []
    for name in (part.strip() for part in model.split("+")):
        if name in hashes:
            parts.append(str(_found(name, hashes[name])))
        elif name in shipped:
            parts.append(name)
        else:
            raise DseError(
                f"it names the model {name!r} and no hash of its file, and what a dataset names is "
                "not run: build its study anew"
            )
    return " + ".join(parts)


def _found(name: str, digest: str) -> Path:
    # by what lies in the folders: a name with a slash in it would lead out of them
    named = [path for f in folders() if f.is_dir() for path in f.glob("*.py") if path.stem == name]
    others = []
    for path in (*([_RUN[digest]] if digest in _RUN else []), *named):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == digest and "+" not in str(path):
            return path.resolve()
        others.append(str(path))
    there = f" ({others[-1]} is another file)" if others else ""
    raise DseError(
        f"it was computed with a model file {name}.py, sha256 {digest[:16]}..., which is not among "
        f"yours{there}, and what a dataset names is not run: put the folder of that file on "
        "DSE_PATH, or in Python load it first (dse.model('PATH'))"
    )
