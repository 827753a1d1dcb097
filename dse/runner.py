"""Running a study: in memory, or into a store that continues where it was left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.given import of_a_store
from sweeps.progress import Progress
from sweeps.run import compute
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study
    from sweeps.failing import Failure
    from sweeps.store.fill import Watch
    from sweeps.store.layout import Layout
    from sweeps.store.medium import Medium
    from sweeps.stored.written import Written

__all__ = ["WAY_OUT", "Outcome", "attributes_of", "belongs", "run", "stored_identity"]

_EXPANDED = "-expanded"
_TOLD = ("identity", "study", "model", "simt_dse_version", "model_files")
#: What is left where a place holds something else.
WAY_OUT = "choose another path, or give fresh=True (--fresh) to keep it aside and start over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run gave: its values, in memory or written, and how they came about.

    ``seconds`` is without ``compiling``; ``share`` is how much of the values was computed now,
    ``tiles`` how many of the store's tiles, and how many an earlier run had stored; ``feasible``
    the feasible points, None where all are; ``kept`` where a fresh run keeps the earlier store;
    ``failed`` the configurations that could not be computed; ``barred`` how many values needed no
    computing, because no point of their tile keeps the rules.
    """

    values: xr.Dataset | Written
    seconds: float
    compiling: float
    share: float = 1.0
    tiles: tuple[int, int] | None = None
    feasible: int | None = None
    kept: str | None = None
    failed: tuple[Failure, ...] = ()
    barred: int = 0

    @property
    def dataset(self) -> xr.Dataset:
        """The Dataset; a store is opened for it."""
        import xarray as xr

        return self.values if isinstance(self.values, xr.Dataset) else self.values.dataset()


def attributes_of(study: Study, *, expand: bool) -> dict[str, Any]:
    """What the Dataset of a run says of itself."""
    found = dict(study.attributes())
    if expand:
        found["identity"] += _EXPANDED
    return found


def stored_identity(study: Study, layout: Layout) -> dict[str, Any]:
    """What tells a study's store from any other, as it stands beside the arrays.

    Raises
    ------
    DseError
        An equation whose text cannot be found, so that a change of it would go unseen.
    """
    from dse.provenance import fingerprints

    ours = attributes_of(study, expand=layout.expand)
    kept = {key: ours[key] for key in _TOLD if key in ours}
    chunks = {name: list(part.chunk) for part in layout.parts for name in part.outputs}
    packed = {"compression": layout.compression} if layout.packed else {}
    return kept | fingerprints(study) | {"chunks": chunks} | packed


def belongs(medium: Medium, ours: dict[str, Any], theirs: Mapping[str, Any] | None = None) -> None:
    """Raise where a place holds something else than the store of a study; name the difference.

    ``theirs`` is what it tells of itself, if that is known.
    """
    from sweeps.store.records import read_sealed
    from sweeps.store.skeleton import IDENTITY

    try:
        theirs = theirs or read_sealed(medium.get(IDENTITY))
    except FileNotFoundError:
        raise DseError(f"{medium.name} exists and is no store of a study: {WAY_OUT}") from None
    if theirs is None:
        raise DseError(
            f"{medium.name} does not tell whose store it is: {IDENTITY} is damaged; repair it with "
            f"dse verify --repair, or {WAY_OUT}"
        )
    if (theirs["identity"], theirs["chunks"]) != (ours["identity"], ours["chunks"]):
        difference = _difference(theirs, ours)
        raise DseError(f"{medium.name} is the store of another study ({difference}): {WAY_OUT}")


def _difference(theirs: Any, ours: dict[str, Any]) -> str:
    """What tells a store from the one a study would write, in a few words."""
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
    if theirs["identity"] == ours["identity"]:
        return "the same one, cut into other tiles"
    if str(theirs["identity"]).removesuffix(_EXPANDED) == ours["identity"].removesuffix(_EXPANDED):
        expanded = theirs["identity"].endswith(_EXPANDED)
        return f"its outputs are {'' if expanded else 'not '}expanded over all axes"
    for key, name in (("equations", "equation of"), ("values", "value of"), ("rules", "rule")):
        a, b = theirs.get(key, {}), ours[key]
        for what in dict.fromkeys([*b, *a]):
            if a.get(what) != b.get(what):
                return f"its {name} {what} is another one"
    return "its equations or the values of its machine or workload are other ones"


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-20:]}"


def _ending(store: str | Path) -> str | Path:
    """The place of a store, whose name must end in .zarr."""
    if not str(store).rstrip("/").endswith(".zarr") or Path(str(store)).name == ".zarr":
        raise DseError(f"store = {str(store)!r}: expected a name that ends in .zarr")
    return store


def run(
    study: Study,
    *,
    store: str | Path | None = None,
    expand: bool = False,
    progress: bool | Callable[[Progress], None] = False,
    fresh: bool = False,
    client: Any = None,
    workers: int | None = None,
    extend: bool = False,
    compression: str | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """See :meth:`dse.Study.run`; ``watch`` is whose best value the progress tells."""
    flags = {"expand": expand, "fresh": fresh, "extend": extend}
    of_a_store(store, client=client, workers=workers, **flags)
    from dse.progress import Meter

    _compressible(compression, store)
    meter = Meter() if progress is True else None
    listener = meter or (progress if callable(progress) else None)
    try:
        if store is None:
            return _in_memory(study, expand, listener)
        from dse.storing import run_into
        from sweeps.cluster.opened import opened

        with opened(client, workers) as crew:
            return run_into(
                _ending(store),
                study,
                listener=listener,
                watch=watch,
                crew=crew,
                compression=compression,
                **flags,
            )
    finally:
        if meter is not None:
            meter.close()


def _compressible(compression: str | None, store: str | Path | None) -> None:
    from sweeps.store.layout import COMPRESSIONS

    if compression is not None and compression not in COMPRESSIONS:
        known = " or ".join(map(repr, COMPRESSIONS))
        raise DseError(f"compression = {compression!r}: expected {known}")
    if compression is not None and store is None:
        raise DseError(
            "only a store is compressed, and none is given: give store='OUT.zarr' (--store)"
        )


def _in_memory(study: Study, expand: bool, listener: Callable[[Progress], None] | None) -> Outcome:
    from sweeps.dataset import label
    from sweeps.failing import failures_of

    last: list[Progress] = []

    def heard(now: Progress) -> None:
        last[:] = [now]
        if listener is not None:
            listener(now)

    arrays = compute(study.grid(), expand=expand, listener=heard)
    ds = label(study.grid(), arrays, attributes_of(study, expand=expand))
    compiling = last[0].compiling if last else 0.0
    seconds = last[0].elapsed - compiling if last else 0.0
    return Outcome(
        values=ds,
        seconds=seconds,
        compiling=compiling,
        failed=failures_of(study.grid(), study.grid().outputs),
        barred=last[0].barred if last else 0,
    )
