"""Progress: a line for people on a terminal or in a notebook, lines elsewhere, JSON for logs."""

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
from symbolic.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.runtime.progress import Progress

#: Whether progress is shown on standard error, or who is told of it.
Shown: TypeAlias = "bool | Callable[[Progress], None]"


class Meter:
    """A listener that shows progress, from the first second on.

    On a terminal and in a notebook one line is kept up to date, which is gone at the end; elsewhere
    a line is written to standard error every few seconds, and one at the end. ``looked_for`` is the
    name and unit of the quantity whose best value the progress tells.
    """

    def __init__(self, looked_for: tuple[str, str] | None = None) -> None:
        self.looked_for = looked_for
        self._began = time.monotonic()
        self._shown, self._known = 0.0, ""
        self._closed = False
        self._lock = threading.Lock()
        self._cell = _cell()
        self._kept = self._cell is not None or sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Tell of the computation."""
        text = f"{progress.done / max(progress.total, 1):6.1%}  {progress.done:,} of "
        text += f"{progress.total:,} values"
        if progress.done and progress.rate:
            text += f", {progress.rate / 1e6:,.3g} million a second"
            text += f", about {progress.remaining:,.0f} s left"
        if progress.skipped:
            text += f"; {progress.skipped:,} were stored before"
        if progress.barred:
            text += f"; {progress.barred:,} needed no computing"
        if progress.failed:
            text += f"; {progress.failed:,} failed"
        if progress.best is not None and self.looked_for is not None:
            name, unit = self.looked_for
            text += f"; best {name} {value_text(progress.best, unit)}"
        self._show(text, last=progress.done + progress.failed >= progress.total)

    def known(self, progress: Progress) -> None:
        """Keep how far a question is, for :meth:`working`."""
        told = f", {progress.done / progress.total:.0%}" if progress.total else ""
        if progress.points is not None:
            told = f", {progress.points:,} points so far{told and told + ' of the space settled'}"
        if progress.best is not None:
            told += f", best {progress.best:.6g}"
        if progress.gap is not None:
            told += f", at most {progress.gap:.2%} off"
        self._known = told

    def working(self, what: str, seconds: float) -> None:
        """Tell that work goes on."""
        self._show(f"{what}: {seconds:.0f} s so far{self._known}")

    def _show(self, text: str, last: bool = False) -> None:
        with self._lock:
            if self._closed:  # threads of an interrupted run may still have something to tell
                return
            elapsed = time.monotonic() - self._began
            pause = 0.2 if self._kept else 5.0
            early = elapsed - self._shown < pause if self._shown else elapsed < 1
            if early and not (last and self._shown):
                return
            self._shown = elapsed
            self._write(one_line(text) if self._kept else f"{one_line(text)}\n")

    def _write(self, text: str) -> None:
        if self._cell is not None:
            self._cell(text)
            return
        sys.stderr.write(f"\r\x1b[K{text}" if self._kept else text)
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the line, if one is kept; nothing more is told."""
        with self._lock:
            if self._shown and self._kept and not self._closed:
                self._write("")
            self._closed = True


def _cell() -> Callable[[str], None] | None:
    """What shows a line below the cell of a notebook in place of the one before; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    handles: list[Any] = []

    def put(text: str) -> None:
        if handles:
            handles[0].update({"text/plain": text}, raw=True)
        elif text:
            handles.append(display({"text/plain": text}, raw=True, display_id=True))

    return put


class Lines:
    """A listener that writes a JSON document a line on standard error, for logs.

    The first tile and the last are told, and in between one every second.
    """

    def __init__(self, looked_for: tuple[str, str] | None = None) -> None:
        self.looked_for = looked_for
        self._told = -math.inf

    def __call__(self, progress: Progress) -> None:
        """Tell of the computation."""
        if progress.elapsed - self._told < 1 and progress.done + progress.failed < progress.total:
            return
        self._told = progress.elapsed
        said: dict[str, Any] = {
            "done": progress.done,
            "total": progress.total,
            "skipped": progress.skipped,
            "barred": progress.barred,
            "failed": progress.failed,
            "seconds": round(progress.elapsed, 3),
            "values_per_second": round(progress.rate),
            "seconds_left": round(progress.remaining, 3) if progress.rate else None,
        }
        if self.looked_for is not None:
            said["best"] = {self.looked_for[0]: progress.best}
        sys.stderr.write(json.dumps(said) + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Every line is whole already."""


@contextmanager
def heard(progress: Shown) -> Iterator[Any]:
    """Yield who listens to a run: a meter, which is closed at the end; a caller; or None."""
    if not isinstance(progress, bool) and not callable(progress):
        raise DseError(f"progress = {progress!r}: expected True, False or a function of a Progress")
    with closing(Meter()) if progress is True else nullcontext(progress or None) as listener:
        yield listener


@contextmanager
def shown(progress: Shown, what: str, sign: float = 1.0) -> Iterator[None]:
    """Show, if asked, for how long work goes on and how far it is; or tell a listener.

    ``sign`` turns what is made small into the values that are told.
    """
    from sweeps.runtime.progress import watched

    with heard(progress) as listener:
        if progress is not True:
            with watched(listener, sign) if progress else nullcontext():
                yield
            return
        began, over = time.monotonic(), threading.Event()

        def tick() -> None:
            while not over.wait(0.2):
                listener.working(what, time.monotonic() - began)

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            with watched(listener.known, sign):
                yield
        finally:
            over.set()
            thread.join()
