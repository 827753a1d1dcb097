"""Read study files, and find the Python files that a study would run.

A model may be a Python file, which runs when it is loaded. :func:`find_model_code` lists the files
that a study from somebody else would run, and runs none of them.
"""

from __future__ import annotations

import ast
import hashlib
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.toml_text import read_toml
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.file_access import TEXT_LIMIT, FileScope, check_file, is_within, search_folders
from symbolic.library import user_files

_STUDY_KEYS = (
    *("model", "machine", "workload", "axes", "set", "fit", "random", "where", "outputs"),
    *("prefer", "best"),
)


def read_study_file(path: Path) -> dict[str, Any]:
    """Read a study file and check its keys."""
    check_file(path, "study", TEXT_LIMIT)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DseError(f"the study {str(path)!r} cannot be read: {error}") from error
    try:
        tree = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise DseError(f"the study {path} is no TOML: {error}") from error
    if "values" in tree and "model" not in tree:
        raise DseError(
            f"{path} is a machine or a workload, not a study: name it in a study, or use "
            f"dse evaluate MODEL --workload {path}"
        )
    for key in tree:
        if key not in _STUDY_KEYS:
            hint = nearest_hint(key, _STUDY_KEYS)
            raise UnknownNameError(
                f"the study {path} has the unknown key {key!r}{hint}; keys are "
                f"{', '.join(_STUDY_KEYS)}; quantities belong under [set] or [axes]"
            )
    if "model" not in tree:
        raise DseError(f'the study {path} names no model: begin it with model = "mwp_cwp"')
    return tree


def _model_files(tree: Mapping[str, Any], folder: Path) -> list[Path]:
    model = tree["model"]
    specs = model if isinstance(model, list) else [model]
    result = [file for spec in specs if isinstance(spec, str) for file in user_files(spec, folder)]
    return list(dict.fromkeys(result))


def is_trusted(file: Path, folder: Path) -> bool:
    """True if a file may run without a question: its real path is in ``folder`` or ``DSE_PATH``."""
    return is_within(file, [folder, *search_folders()])


def study_arguments(
    path: str | Path, is_allowed: Callable[[Path], bool] | None = None
) -> dict[str, Any]:
    """Return the arguments of :class:`dse.Study` in a study file.

    Raises DseError if a model file may not run; by default :func:`is_trusted` decides.
    """
    path = Path(path)
    tree, folder = read_study_file(path), path.resolve().parent
    for file in _model_files(tree, folder):
        if not (is_trusted(file, folder) if is_allowed is None else is_allowed(file)):
            raise DseError(
                f"the study names the model file {str(file)!r}, which may not be run: move it "
                f"below {str(folder)!r}, or allow its folder, if you know what it does: "
                f"DSE_PATH={shlex.quote(str(file.parent))}"
            )
        check_file(file, "model file", TEXT_LIMIT)
    return {**tree, "folder": FileScope(folder, folder)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCode:
    """A Python file that a study would run, with facts found without running the file.

    The file is read only if it is ``near``: in the folder of the study or in ``DSE_PATH``.
    """

    file: str
    bytes: int
    near: bool
    sha256: str = ""
    equations: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.near:
            allow = f"DSE_PATH={shlex.quote(str(Path(self.file).parent))}"
            return (
                f"{self.file!r} (outside its folder and DSE_PATH, not opened; {self.bytes:,} "
                f"bytes)\n    read it; {allow} allows it"
            )
        return (
            f"{self.file!r} (in its folder or DSE_PATH; {self.bytes:,} bytes, sha256 "
            f"{self.sha256})\n"
            f"    equations: {', '.join(self.equations) or 'none that can be seen'}\n"
            f"    imports: {', '.join(self.imports) or 'nothing'}"
        )


def find_model_code(path: str | Path) -> list[ModelCode]:
    """List the Python files that a study would run, except shipped models; run none of them.

    Raises:
        DseError: The study cannot be read, or names a model that does not exist.
    """
    path = Path(path)
    folder = path.resolve().parent
    return [_describe_code(file, folder) for file in _model_files(read_study_file(path), folder)]


def _describe_code(file: Path, folder: Path) -> ModelCode:
    if not is_trusted(file, folder):
        return ModelCode(file=str(file), bytes=file.stat().st_size, near=False)
    check_file(file, "model file", TEXT_LIMIT)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DseError(f"the model file {str(file)!r} cannot be read: {error.strerror}") from error
    equations, imports = [], set()
    try:
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.FunctionDef):
                if any("equation" in ast.unparse(each) for each in node.decorator_list):
                    equations.append(node.name)
            elif isinstance(node, ast.Import):
                imports |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imports.add("." * node.level + (node.module or ""))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DseError(f"the model file {str(file)!r} is no Python: {error}") from error
    return ModelCode(
        file=str(file),
        bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        near=True,
        equations=tuple(equations),
        imports=tuple(sorted(imports)),
    )
