"""What of this installation works: versions, extras, caches, GPU, where can be written."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dse.cli.command import command, end_with
from symbolic.answer import Answer, Table

#: What an extra is for.
_EXTRAS = {
    "plot": "figures",
    "kernels": "dse kernel, from source",
    "ncu": "dse import of .ncu-rep",
    "gpu": "measuring on a GPU",
    "cluster": "runs on a cluster",
    "s3": "stores on s3://",
    "slurm": "clusters under Slurm",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at: ``ok``, ``absent`` (it can be done without) or ``wrong``."""

    what: str
    state: str
    told: str


@command("dse doctor", "dse doctor --json")
def doctor() -> Any:
    """What of this installation works, and what is absent.

    Versions against those that are required, extras and how to have them, the folder of compiled
    code, the GPU, and whether files can be written here. The exit status is 1 where something that
    is needed is wrong.

    Names are completed by the shell after one of

    \b
      eval "$(_DSE_COMPLETE=bash_source dse)"
      eval "$(_DSE_COMPLETE=zsh_source dse)"
      _DSE_COMPLETE=fish_source dse | source
    """

    found = list(_findings())
    if any(one.state == "wrong" for one in found):
        end_with(1)
    rows = [[one.what, one.state, one.told] for one in found]
    table = Table(columns=("what", "state", "told"), rows=rows)
    data = {"findings": [asdict(one) for one in found]}
    return Answer(kind="Doctor", title="", tables=[table], data=data)


def _findings() -> Iterator[Finding]:
    version = platform.python_version()
    fits = sys.version_info >= (3, 11)
    yield Finding(
        what="python",
        state="ok" if fits else "wrong",
        told=f"{version} at {sys.executable}" + ("" if fits else ", 3.11 or later is needed"),
    )
    yield Finding(
        what="processor",
        state="ok",
        told=f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
    )
    yield from _packages()
    yield _cache()
    yield _writing(Path.cwd())
    yield _gpu()


def _packages() -> Iterator[Finding]:
    """The project, what it requires, and what its extras would add."""
    from importlib.metadata import PackageNotFoundError, requires
    from importlib.metadata import version as installed

    from packaging.requirements import Requirement

    try:
        needs = [Requirement(text) for text in requires("simt-dse") or ()]
    except PackageNotFoundError:
        yield Finding(
            what="simt-dse", state="wrong", told="not installed: pip install . in a clone"
        )
        return
    yield Finding(what="simt-dse", state="ok", told=installed("simt-dse"))

    def lacking(need: Requirement) -> str:
        try:
            has = installed(need.name)
        except PackageNotFoundError:
            return f"{need.name} is not installed"
        fits = need.specifier.contains(has, prereleases=True)
        return "" if fits else f"{need.name} is {has}, {need.specifier} is needed"

    for need in needs:
        if need.marker is None:
            told = lacking(need)
            state = "wrong" if told else "ok"
            yield Finding(what=need.name, state=state, told=told or installed(need.name))
    for extra, use in _EXTRAS.items():
        own = [
            need
            for need in needs
            if need.marker is not None
            and need.name != "simt-dse"
            and need.marker.evaluate({"extra": extra})
            and not need.marker.evaluate({"extra": ""})
        ]
        told = "; ".join(filter(None, map(lacking, own)))
        packages = " ".join(f"'{need.name}{need.specifier}'" for need in own)
        yield Finding(
            what=f"extra {extra}",
            state="absent" if told else "ok",
            told=f"{use}: {told}; pip install {packages}" if told else use,
        )


def _cache() -> Finding:
    from stochastic.kept.folder import place

    folder = place()
    if folder is None:
        return Finding(
            what="compiled code",
            state="absent",
            told="kept nowhere (DSE_CACHE is empty): each process compiles for itself",
        )
    entries = [path.stat().st_size for path in folder.glob("*.code")] if folder.is_dir() else []
    near = next(path for path in (folder, *folder.parents) if path.exists())
    fits = os.access(near, os.W_OK)
    size = f"{len(entries)} entries, {sum(entries) / 2**20:.1f} MiB"
    return Finding(
        what="compiled code",
        state="ok" if fits else "absent",
        told=f"{folder}: {size}"
        if fits
        else f"{folder} cannot be written: each process compiles for itself; name another folder "
        "by the environment variable DSE_CACHE",
    )


def _writing(folder: Path) -> Finding:
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        told = f"{folder}: {error.strerror}; results must be written elsewhere"
        return Finding(what="this folder", state="absent", told=told)
    return Finding(what="this folder", state="ok", told=f"{folder} can be written")


def _gpu() -> Finding:
    """The GPU that numba-cuda sees; nothing but measuring needs one."""
    from stochastic.validation import describe

    try:
        facts = describe()
    except Exception as error:  # whatever a driver does wrong is told, and nothing else fails
        told = f"{error}; only measuring needs one"
        return Finding(what="gpu", state="absent", told=told)
    told = ", ".join(f"{key} {value}" for key, value in facts.items() if key != "date")
    return Finding(what="gpu", state="ok", told=told)
