"""Running a study: in memory, or into a store that is whole or not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.run import Progress, compute
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study

__all__ = ["finished_store", "meter", "run"]


def meter() -> Callable[[Progress], None]:
    """A listener that writes a line of progress to standard error, from the first second on."""
    shown = 0.0

    def listen(progress: Progress) -> None:
        nonlocal shown
        over = progress.done >= progress.total
        if progress.elapsed < 1 or (progress.elapsed - shown < 0.2 and not over):
            return
        shown = progress.elapsed
        share = progress.done / max(progress.total, 1)
        sys.stderr.write(
            f"\r{share:6.1%}  {progress.done:,} of {progress.total:,} values, "
            f"{progress.rate / 1e6:,.0f} M/s, {progress.remaining:,.0f} s left "
            + ("\n" if over else "")
        )
        sys.stderr.flush()

    return listen


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
    keys = ("simt_dse_version", "model", "study", "equations")
    apart = [key for key in keys if ds.attrs.get(key) != ours[key]]
    shown = "; ".join(f"its {key} is {ds.attrs.get(key)}, not {ours[key]}" for key in apart[:1])
    raise DseError(
        f"{path} is the store of another study ({shown or 'other equations'}): {way_out}"
    )


def _attributes(study: Study, expand: bool) -> dict[str, Any]:
    found = dict(study.attributes())
    if expand:
        found["identity"] += "-expanded"
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

    listener = meter() if progress is True else progress or None
    if store is None:
        arrays = compute(study.grid(), expand=expand, listener=listener)
        return label(study.grid(), arrays, _attributes(study, expand))
    from sweeps.export import open_dataset, whole, write_zarr

    path = Path(store)
    if path.suffix != ".zarr":
        raise DseError(f"store = {str(store)!r}: expected a name that ends in .zarr")
    if fresh and path.exists():
        _set_aside(path)
    found = finished_store(study, path, expand=expand)
    if found is not None:
        return found
    with whole(path) as beside:
        arrays = compute(study.grid(), expand=expand, listener=listener)
        write_zarr(label(study.grid(), arrays, _attributes(study, expand)), beside)
    return open_dataset(path)


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
        number += 1
    path.rename(aside)
