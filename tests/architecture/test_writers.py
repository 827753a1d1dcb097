"""Product code writes files in one place: aside, then renamed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.test_house import name_of, sources

#: Calls that write a file, whatever they are called on.
WRITES = {
    *("write_text", "write_bytes", "savefig", "print_figure", "touch", "tofile", "savez"),
    *("to_netcdf", "to_zarr", "to_csv", "to_parquet", "to_hdf", "to_excel"),
    *("ParquetWriter", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "symlink_to"),
    *("hardlink_to", "copyfile", "copytree", "copy2"),
}
#: Of the module os: they give a file a name.
NAMES_FILES = {"link", "symlink", "rename", "replace", "truncate"}

_STORE = "a store of a run, which has a writer of its own"
_SCRATCH = "scratch files of a compiler, in a folder that is removed"
#: Where product code writes all the same, by which calls, and why that is right.
ALLOWED = {
    "sweeps/files/atomic_write.py": ({"link", "open", "write_bytes"}, "the one place"),
    "sweeps/files/export.py": ({"to_zarr", "to_netcdf"}, "under the name that `whole` yields"),
    "sweeps/files/tabular.py": (
        {"open", "to_csv", "ParquetWriter"},
        "under the name that `whole` yields",
    ),
    "sweeps/store/backend.py": ({"open", "rename", "replace"}, _STORE),
    "stochastic/compile_cache/cache.py": (
        {"mkstemp", "fdopen", "replace"},
        "the cache: aside, renamed",
    ),
    "dse/cli/plot.py": ({"savefig"}, "into memory"),
    "dse/cli/doctor.py": ({"TemporaryFile"}, "a trial that has no name"),
    "dse/plots/notebook_figure.py": ({"savefig"}, "into memory"),
    "dse/cuda/__init__.py": ({"write_bytes"}, _SCRATCH),
    "dse/cuda/cubin.py": ({"write_bytes"}, _SCRATCH),
}


def opens_for_writing(call: ast.Call) -> bool:
    """True if a call of some ``open`` may write: by its mode, or by the flags of ``os.open``."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {
        node.attr for part in given for node in ast.walk(part) if isinstance(node, ast.Attribute)
    }
    variables = {node.id for part in given for node in ast.walk(part) if isinstance(node, ast.Name)}
    modes = [part.value for part in given if isinstance(part, ast.Constant)]
    written = any(
        isinstance(mode, str)
        and 0 < len(mode) <= 3
        and set(mode) & set("wxa+")
        and set(mode) <= set("rwxabt+")
        for mode in modes
    )
    return written or bool(names & {"O_WRONLY", "O_RDWR", "O_CREAT"}) or "flags" in variables


def writes(tree: ast.AST) -> Iterator[str]:
    """Yield the name of each call that writes a file."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        on_os = isinstance(function, ast.Attribute) and ast.unparse(function.value) == "os"
        seen = name in WRITES or (name in NAMES_FILES and on_os)
        if seen or (name in ("open", "fdopen") and opens_for_writing(node)):
            yield name


def test_product_code_writes_files_in_one_place() -> None:
    """Elsewhere: `sweeps.files.atomic_write.write_atomic`, or `whole` for a library that writes."""
    result: dict[str, set[str]] = defaultdict(set)
    for path in sources():
        for name in writes(ast.parse(path.read_text(encoding="utf-8"))):
            result[name_of(path)].add(name)
    assert result == {place: names for place, (names, _) in ALLOWED.items()}


def test_every_way_to_write_is_seen() -> None:
    for text in (
        "Path(out).write_text(text)",
        "figure.savefig(path, dpi=110)",
        "open(path, 'w')",
        "path.open('x', encoding='utf-8')",
        "gzip.open(path, mode='ab')",
        "path.open('rb+')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "ds.to_netcdf(path)",
        "os.rename(one, other)",
    ):
        assert list(writes(ast.parse(text))), text
    for text in ("open(path)", "path.open('rb')", "text.replace('a', 'w')", "open(name, 'was')"):
        assert not list(writes(ast.parse(text))), text


def test_places_that_may_write_exist() -> None:
    root = Path(__file__).parents[2]
    assert [place for place in ALLOWED if not (root / place).is_file()] == []
