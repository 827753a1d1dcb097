"""Memory checks before allocation, and a thread pool.

Linux grants more memory than exists, and kills processes that use it. The checks prevent this.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from stochastic.threads import cpu_count
from symbolic.errors import TooLargeError

#: Requests of up to this size are not checked. [B]
_MIN_CHECKED_BYTES = 1 << 26
#: A request for more than this share of the available memory is an error.
_SHARE = 0.95
#: For cgroup v2, then v1: the folder, the file with the limit, the file with the usage, and the key
#: of the number of reclaimable bytes.
_GROUPS = (
    ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def available_memory(root: Path = Path("/")) -> int:
    """Return the memory that the machine and the control groups leave to this process. [B]"""
    result = [sys.maxsize]
    with suppress(OSError, ValueError, KeyError):
        result.append(1024 * _rows(root / "proc/meminfo")["MemAvailable:"])
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, kinds, place = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            for base, *names in _GROUPS:
                here = root / base / place.strip("/")
                for folder in (here, *here.parents):
                    if folder.is_relative_to(root / base):
                        result += _free_in_group(folder, *names)
    return max(min(result), 0)


def _free_in_group(folder: Path, limit: str, used: str, idle: str) -> list[int]:
    """Return the free memory of a control group in a list [B]; an empty list if it is unlimited."""
    with suppress(OSError, ValueError):
        most = int((folder / limit).read_text())
        now = int((folder / used).read_text())
        return [most - now + _rows(folder / "memory.stat").get(idle, 0)]
    return []


def _rows(path: Path) -> dict[str, int]:
    return {row[0]: int(row[1]) for row in map(str.split, path.read_text().splitlines())}


def check_memory(needed: float, what: str, hint: str) -> None:
    """Raise TooLargeError if ``what`` needs more memory [B] than is available."""
    if needed < _MIN_CHECKED_BYTES:
        return
    there = available_memory()
    if needed > _SHARE * there:
        raise TooLargeError(
            f"{what} need {needed / 2**30:,.3g} GiB of memory, and {there / 2**30:,.3g} GiB are "
            f"available: {hint}"
        )


Result = TypeVar("Result")


def run_in_threads(work: Callable[[int], Result], count: int) -> list[Result]:
    """Return ``work(0)`` to ``work(count - 1)``, called in threads. An error ends further calls."""
    threads = min(cpu_count(), count)
    if threads <= 1:
        return [work(number) for number in range(count)]
    numbers, over = iter(range(count)), threading.Event()
    results: dict[int, Result] = {}

    def run() -> None:
        try:
            while not over.is_set() and (number := next(numbers, None)) is not None:
                results[number] = work(number)
        except BaseException:
            over.set()
            raise

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(contextvars.copy_context().run, run) for _ in range(threads)]
        try:
            for each in running:
                each.result()
        finally:
            over.set()
    return [results[number] for number in range(count)]
