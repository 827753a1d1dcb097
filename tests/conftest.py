"""Drawn tests draw the same cases each time, so that a result depends on the code alone.

``pytest --hypothesis-profile=explore`` draws new ones.

Linear algebra runs on one thread: the matrices are small, and tests beside each other would wait
for each other's threads. Where ``DSE_CACHE`` is empty, the processes of a run share a folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.browser import Browser, browser

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
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


@pytest.fixture(scope="session")
def page() -> Iterator[Browser]:
    """A headless browser, started where a test first asks for it."""
    with browser() as one:
        yield one
