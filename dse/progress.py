"""Show the progress of runs and queries: on a terminal, in a notebook, or as lines of JSON."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from symbolic.answer import value_text
from symbolic.errors import DseError
from symbolic.safe_text import one_line

if TYPE_CHECKING:
    from sweeps.runtime.progress import Progress

#: True shows progress on standard error; a function is called with each Progress.
ProgressOption: TypeAlias = "bool | Callable[[Progress], None]"


class Meter:
    """Progress listener that shows text after the first ``after`` seconds.

    On a terminal or in a notebook it updates one line, which is removed at the end. Otherwise it
    writes a line to standard error every few seconds and at the end. ``objective`` is the name and
    the unit of a quantity whose best value is also shown.
    """

    def __init__(self, objective: tuple[str, str] | None = None, after: float = 1.0) -> None:
        self.objective = objective
        self._after = after
        self._began = time.monotonic()
        self._last_shown, self._state_text = 0.0, ""
        self._closed = False
        self._lock = threading.Lock()
        self._write_cell = _notebook_line()
        self._keeps_line = self._write_cell is not None or sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show the progress of a run."""
        text = f"{progress.done / max(progress.total, 1):6.1%}  {progress.done:,} of "
        text += f"{progress.total:,} values"
        if progress.done and progress.rate:
            fast = f"{progress.rate / 1e6:,.3g} million" if progress.rate >= 1e6 else ""
            text += f", {fast or f'{progress.rate:,.3g}'} values/s"
            text += f", about {progress.remaining:,.0f} s left"
        if progress.skipped:
            text += f"; {progress.skipped:,} were stored before"
        if progress.infeasible:
            text += f"; {progress.infeasible:,} needed no computing"
        if progress.failed:
            text += f"; {progress.failed:,} failed"
        if progress.best is not None and self.objective is not None:
            name, unit = self.objective
            text += f"; best {name} {value_text(progress.best, unit)}"
        self._show(text, last=progress.done + progress.failed >= progress.total)

    def note_progress(self, progress: Progress) -> None:
        """Store the progress of a query, for :meth:`show_working`."""
        text = f", {progress.done / progress.total:.0%}" if progress.total else ""
        if progress.points is not None:
            text = f", {progress.points:,} points so far{text and text + ' of the space searched'}"
        if progress.best is not None:
            text += f", best {progress.best:.6g}"
        if progress.bound is not None:
            text += f", bound {progress.bound:.6g}"
        if progress.gap is not None:
            text += f", gap {progress.gap:.2%}"
        self._state_text = text

    def show_working(self, what: str, seconds: float) -> None:
        """Show how long a query has been running, and the last progress stored."""
        self._show(f"{what}: {seconds:.0f} s so far{self._state_text}")

    def _show(self, text: str, last: bool = False) -> None:
        with self._lock:
            if self._closed:  # threads of an interrupted run may still call this method
                return
            elapsed = time.monotonic() - self._began
            pause = 0.2 if self._keeps_line else 5.0
            soon = elapsed - self._last_shown < pause if self._last_shown else elapsed < self._after
            if soon and not (last and self._last_shown):
                return
            self._last_shown = elapsed
            self._write(one_line(text) if self._keeps_line else f"{one_line(text)}\n")

    def _write(self, text: str) -> None:
        if self._write_cell is not None:
            self._write_cell(text)
            return
        sys.stderr.write(f"\r\x1b[K{text}" if self._keeps_line else text)
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the line, and ignore further calls."""
        with self._lock:
            if self._last_shown and self._keeps_line and not self._closed:
                self._write("")
            self._closed = True


def _notebook_line() -> Callable[[str], None] | None:
    """Return a function that sets the text below a notebook's cell; None outside of notebooks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    handles: list[Any] = []

    def write(text: str) -> None:
        if handles:
            handles[0].update({"text/plain": text}, raw=True)
        elif text:
            handles.append(display({"text/plain": text}, raw=True, display_id=True))

    return write


class JsonLines:
    """Progress listener that writes a line of JSON to standard error each second and at the end."""

    def __init__(self, objective: tuple[str, str] | None = None) -> None:
        self.objective = objective
        self._last_written = -math.inf

    def __call__(self, progress: Progress) -> None:
        """Write the progress of a run, at most once a second."""
        is_last = progress.done + progress.failed >= progress.total
        if progress.elapsed - self._last_written < 1 and not is_last:
            return
        self._last_written = progress.elapsed
        record: dict[str, Any] = {
            "done": progress.done,
            "total": progress.total,
            "skipped": progress.skipped,
            "barred": progress.infeasible,
            "failed": progress.failed,
            "seconds": round(progress.elapsed, 3),
            "values_per_second": round(progress.rate),
            "seconds_left": round(progress.remaining, 3) if progress.rate else None,
        }
        if self.objective is not None:
            record["best"] = {self.objective[0]: progress.best}
        sys.stderr.write(json.dumps(record) + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Do nothing, because every line is complete."""


@contextmanager
def progress_listener(progress: ProgressOption, after: float = 1.0) -> Iterator[Any]:
    """Yield the progress listener for an option: a new meter, the given function, or None."""
    if not isinstance(progress, bool) and not callable(progress):
        raise DseError(f"progress = {progress!r}: expected True, False or a function of a Progress")
    with (
        closing(Meter(after=after))
        if progress is True
        else nullcontext(progress or None) as listener
    ):
        yield listener


@contextmanager
def show_progress(
    progress: ProgressOption, activity: str, sign: float = 1.0, after: float = 1.0
) -> Iterator[None]:
    """Show or report the progress of a query, beginning after ``after`` seconds."""
    with progress_listener(progress, after) as listener:
        if progress is not True:
            from sweeps.runtime.progress import report_progress

            with report_progress(listener, sign) if progress else nullcontext():
                yield
            return
        began, over = time.monotonic(), threading.Event()

        def tick() -> None:
            while not over.wait(min(after, 0.2)):
                listener.show_working(activity, time.monotonic() - began)

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()  # before the import below, which takes a quarter of a second
        try:
            from sweeps.runtime.progress import report_progress

            with report_progress(listener.note_progress, sign):
                yield
        finally:
            over.set()
            thread.join()
