"""Drawn tests draw the same cases each time, so that a result depends on the code alone.

``pytest --hypothesis-profile=many`` draws five times as many, ``explore`` new ones.

Linear algebra runs on one thread: the matrices are small, and tests beside each other would wait
for each other's threads. Where ``DSE_CACHE`` is empty, the processes of a run share a folder.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from stochastic import sizes
from tests.browser import Browser, browser
from tests.long import MANY, QUICK

HERE = Path(__file__).parent

settings.register_profile("same", derandomize=True, deadline=None, max_examples=QUICK)
settings.register_profile("many", derandomize=True, deadline=None, max_examples=MANY)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=MANY)
settings.load_profile("same")

for threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # read when NumPy and SciPy are loaded
    os.environ.setdefault(threads, "1")


def shared_folder() -> str:
    """A folder that lasts as long as this process."""
    folder = tempfile.mkdtemp(prefix="dse-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


if os.environ.get("DSE_CACHE") == "":  # workers are given what is set here
    os.environ["DSE_CACHE"] = shared_folder()
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = shared_folder()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of shipped sizes where ``DSE_SIZES`` selects others."""
    if sizes.SETTING:
        for item in items:
            if item.get_closest_marker("shipped"):
                item.add_marker(pytest.mark.skip(reason=f"DSE_SIZES = {sizes.SETTING}"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Every other worker reads the tests from the end, to find half of them compiled by others.

    What is read stays until the end, and is not searched for garbage again and again.
    """
    gc.disable()
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 2:
        folders = [session.config.invocation_params.dir / given for given in session.config.args]
        result = {path for folder in folders for path in folder.rglob("test_*.py")}
        for path in sorted((path for path in result if HERE in path.parents), reverse=True):
            name = ".".join(path.relative_to(HERE.parent).with_suffix("").parts)
            with contextlib.suppress(
                Exception, pytest.skip.Exception
            ):  # told where it is collected
                importlib.import_module(name)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector]]:
    """Files of tests hold no doctests, and are not searched for any."""
    result = yield
    tests = file_path.name.startswith("test_")
    return [one for one in result if not (tests and isinstance(one, DoctestModule))]


@pytest.fixture(scope="session")
def page() -> Iterator[Browser]:
    """A headless browser, started where a test first asks for it."""
    with browser() as one:
        yield one
