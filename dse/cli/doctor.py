"""The command `dse doctor`: check the installation."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.cli.command import command, set_exit_status
from symbolic.answer import Answer, Table

_EXTRAS = {
    "plot": "figures",
    "netcdf": "NetCDF files",
    "parquet": "Parquet files",
    "kernels": "dse kernel, from source",
    "ncu": "dse import of .ncu-rep",
    "gpu": "measuring on a GPU",
    "cluster": "runs on a cluster",
    "s3": "stores on s3://",
    "slurm": "clusters under Slurm",
}
#: A checked part, its state (ok, wrong, or absent: missing but not needed), and details.
_Finding = tuple[str, str, str]
_KEYS = ("what", "state", "told")


@command("dse doctor", "dse doctor --json")
def doctor() -> Any:
    """Check the installation: versions, extras, compile cache, GPU, this folder.

    The report says how to install what is missing. The exit status is 1 if something that is
    needed is wrong.

    To complete names in the shell, run one of these lines (bash, zsh, fish):

    \b
      eval "$(_DSE_COMPLETE=bash_source dse)"
      eval "$(_DSE_COMPLETE=zsh_source dse)"
      _DSE_COMPLETE=fish_source dse | source
    """
    result = list(_findings())
    if any(state == "wrong" for _, state, _ in result):
        set_exit_status(1)
    data = {"findings": [dict(zip(_KEYS, row, strict=True)) for row in result]}
    table = Table(columns=("part", "state", "details"), rows=result)
    return Answer(kind="Doctor", title="", tables=[table], data=data)


def _findings() -> Iterator[_Finding]:
    version, fits = platform.python_version(), sys.version_info >= (3, 11)
    needed = "" if fits else ", 3.11 or later is needed"
    yield "python", "ok" if fits else "wrong", f"{version} at {sys.executable}{needed}"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    yield "processor", "ok", machine
    yield from _packages()
    yield "compiled code", *_cache()
    yield "this folder", *_folder_state(Path.cwd())
    yield "gpu", *_gpu()


def _packages() -> Iterator[_Finding]:
    from importlib.metadata import PackageNotFoundError, requires
    from importlib.metadata import version as installed

    from packaging.requirements import Requirement

    try:
        needs = [Requirement(text) for text in requires("simt-dse") or ()]
    except PackageNotFoundError:
        yield "simt-dse", "wrong", "not installed: pip install . in a clone"
        return
    yield "simt-dse", "ok", installed("simt-dse")

    def problem_of(need: Requirement) -> str:
        try:
            has = installed(need.name)
        except PackageNotFoundError:
            return f"{need.name} is not installed"
        fits = need.specifier.contains(has, prereleases=True)
        return "" if fits else f"{need.name} is {has}, {need.specifier} is needed"

    for need in needs:
        if need.marker is None:
            text = problem_of(need)
            yield need.name, "wrong" if text else "ok", text or installed(need.name)
    for extra, use in _EXTRAS.items():
        extras = [
            need
            for need in needs
            if need.marker is not None
            and need.name != "simt-dse"
            and need.marker.evaluate({"extra": extra})
            and not need.marker.evaluate({"extra": ""})
        ]
        text = "; ".join(filter(None, map(problem_of, extras)))
        packages = " ".join(f"'{need.name}{need.specifier}'" for need in extras)
        way = f"{use}: {text}; pip install {packages}" if text else use
        yield f"extra {extra}", "absent" if text else "ok", way


def _cache() -> tuple[str, str]:
    from stochastic.compile_cache.cache import cache_folder

    folder, itself = cache_folder(), "each process compiles for itself"
    if folder is None:
        return "absent", f"no cache (DSE_CACHE is empty): {itself}"
    near = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(near, os.W_OK):
        other = "set the environment variable DSE_CACHE to another folder"
        return "absent", f"{folder} is not writable: {itself}; {other}"
    entries = [path.stat().st_size for path in folder.glob("*.code")] if folder.is_dir() else []
    return "ok", f"{folder}: {len(entries)} entries, {sum(entries) / 2**20:.1f} MiB"


def _folder_state(folder: Path) -> tuple[str, str]:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return "ok", f"{folder} is writable"
    except OSError as error:
        return "absent", f"{folder}: {error.strerror}; results must be written elsewhere"


def _gpu() -> tuple[str, str]:
    from stochastic.validation import describe

    try:
        facts = describe()
    except Exception as error:  # a driver may fail in any way
        return "absent", f"{error}; only measuring needs one"
    return "ok", ", ".join(f"{key} {value}" for key, value in facts.items() if key != "date")
