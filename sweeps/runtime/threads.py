"""Work in threads, as many as there are processors."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from stochastic.threads import workers

__all__ = ["in_threads", "workers"]

Result = TypeVar("Result")


def in_threads(work: Callable[[int], Result], count: int) -> list[Result]:
    """Return the results of ``work`` on each number below ``count``, in order.

    After the first error, or an interrupt, no further number is begun.
    """
    threads = min(workers(), count)
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
