"""Running a study: in memory, or into a store that is whole or not there."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.progress import Progress
from sweeps.run import compute
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study

_EXPANDED = "-expanded"

__all__ = ["Meter", "aside", "finished_store", "run", "ticking"]


class Meter:
    """A listener that shows progress on standard error, from the first second on.

    On a terminal one line is kept up to date; elsewhere a line is written every few seconds.
    """

    def __init__(self) -> None:
        self.computing = self.compiling = 0.0
        self._began = time.monotonic()
        self._shown = 0.0
        self._writing = 0.0
        self._open = self._closed = False
        self._lock = threading.Lock()
        self._terminal = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Tell of the computation."""
        self.compiling = progress.compiling
        self.computing = progress.elapsed - progress.compiling
        text = f"{progress.done / max(progress.total, 1):6.1%}  {progress.done:,} of "
        text += f"{progress.total:,} values"
        if progress.done and progress.rate:
            text += f", {progress.rate / 1e6:,.3g} million a second"
            text += f", about {progress.remaining:,.0f} s left"
        self._show(text)

    def writing(self, size: int) -> None:
        """Tell of the bytes written to a store so far, once that takes longer than a second."""
        now = time.monotonic()
        self._writing = self._writing or now
        if now - self._writing >= 1:
            self._show(f"writing the store: {size / 2**20:,.1f} MiB so far")

    def working(self, what: str, seconds: float) -> None:
        """Tell that work goes on."""
        self._show(f"{what}: {seconds:.0f} s so far")

    def _show(self, text: str) -> None:
        with self._lock:
            if self._closed:  # threads of an interrupted run may still have something to tell
                return
            elapsed = time.monotonic() - self._began
            pause = 0.2 if self._terminal else 5.0
            if elapsed < 1 or (self._shown and elapsed - self._shown < pause):
                return
            self._shown = elapsed
            self._open = self._terminal
            sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else f"{text}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line, if one is shown; nothing more is told."""
        with self._lock:
            if self._open:
                sys.stderr.write("\n")
                sys.stderr.flush()
            self._open, self._closed = False, True


@contextmanager
def ticking(what: str) -> Iterator[None]:
    """Shows for how long work goes on that does not tell how far it is."""
    meter, began = Meter(), time.monotonic()
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.2):
            meter.working(what, time.monotonic() - began)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        meter.close()


def finished_store(study: Study, path: Path, *, expand: bool) -> xr.Dataset | None:
    """The finished store of this study at a path; None where nothing is there.

    Raises
    ------
    DseError
        Something else is there; the message names the difference.
    """
    from sweeps.export import open_dataset

    if not path.exists():
        return None
    way_out = "choose another path, or give fresh=True (--fresh) to keep it aside and start over"
    try:
        ds = open_dataset(path)
    except DseError:
        raise DseError(f"{path} exists and is no store of a study: {way_out}") from None
    ours = _attributes(study, expand)
    if "identity" not in ds.attrs:
        raise DseError(f"{path} exists and is no store of a study: {way_out}")
    if ds.attrs["identity"] == ours["identity"]:
        return ds
    difference = _difference(ds.attrs, ours)
    raise DseError(f"{path} is the store of another study ({difference}): {way_out}")


def _difference(theirs: Any, ours: dict[str, Any]) -> str:
    """What tells a store from the one a study would write, in a few words."""
    import json

    for key, name in (("simt_dse_version", "version of simt-dse"), ("model", "model")):
        if theirs.get(key) != ours[key]:
            return f"its {name} is {theirs.get(key)}, not {ours[key]}"
    try:
        there = json.loads(theirs.get("study", ""))
    except (TypeError, ValueError):
        return "it does not tell its study"
    here = json.loads(ours["study"])
    for key in dict.fromkeys([*here, *there]):
        a, b = there.get(key), here.get(key)
        if a != b and isinstance(a, dict) and isinstance(b, dict):
            for name in dict.fromkeys([*b, *a]):
                if a.get(name) != b.get(name):
                    what = "the axis " if key == "axes" else "the value of "
                    there_is, wanted = _short(a.get(name)), _short(b.get(name))
                    return f"{what}{name} is {there_is} there, not {wanted}"
            return f"the {key} stand in another order"
        if a != b:
            return f"its {key} is {_short(a)}, not {_short(b)}"
    if str(theirs["identity"]).removesuffix(_EXPANDED) == ours["identity"].removesuffix(_EXPANDED):
        expanded = theirs["identity"].endswith(_EXPANDED)
        return f"its outputs are {'' if expanded else 'not '}expanded over all axes"
    return "its equations or the values of its machine or workload are other ones"


def _short(value: Any) -> str:
    import json

    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-20:]}"


def _attributes(study: Study, expand: bool) -> dict[str, Any]:
    found = dict(study.attributes())
    if expand:
        found["identity"] += _EXPANDED
    return found


def run(
    study: Study,
    *,
    store: str | Path | None,
    expand: bool,
    progress: bool | Callable[[Progress], None],
    fresh: bool,
) -> xr.Dataset:
    """See :meth:`dse.Study.run`."""
    from sweeps.dataset import label

    listener = Meter() if progress is True else progress or None
    meter = listener if isinstance(listener, Meter) else None
    try:
        if store is None:
            arrays = compute(study.grid(), expand=expand, listener=listener)
            return label(study.grid(), arrays, _attributes(study, expand))
        from sweeps.copies import write_zarr
        from sweeps.export import open_dataset, whole

        path = Path(store)
        if path.suffix != ".zarr":
            raise DseError(f"store = {str(store)!r}: expected a name that ends in .zarr")
        with _kept_aside(path, fresh):
            found = finished_store(study, path, expand=expand)
            if found is not None:
                return found
            with whole(path) as beside:
                arrays = compute(study.grid(), expand=expand, listener=listener)
                ds = label(study.grid(), arrays, _attributes(study, expand))
                write_zarr(ds, beside, told=meter.writing if meter else None)
        return open_dataset(path)
    finally:
        if meter is not None:
            meter.close()


def aside(path: Path) -> Path:
    """The free name to which a fresh run moves what is at a path."""
    number = 1
    while (found := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
        number += 1
    return found


@contextmanager
def _kept_aside(path: Path, fresh: bool) -> Iterator[None]:
    """What is at a path out of the way; back again if the work fails."""
    if not fresh or not path.exists():
        yield
        return
    kept = aside(path)
    try:
        path.rename(kept)
    except OSError as error:
        raise DseError(f"cannot write in {path.parent}: {error.strerror}") from error
    try:
        yield
    except BaseException:
        if not path.exists():
            kept.rename(path)
        raise
