"""What was counted in a kernel's code beside what a profiler counted, one row a launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.kernels.spaces import tuned
from symbolic.errors import DseError, nearest

if TYPE_CHECKING:
    import xarray as xr

#: What is counted, and the quantity of a profile that it should equal.
PAIRS: Mapping[str, str] = {
    **{each: each for each in ("threads_per_block", "blocks", "registers_per_thread")},
    "shared_mem_per_block": "shared_mem_per_block",
    "instructions": "total_insts",
    **{each: each for each in ("global_loads", "global_stores", "transactions_per_request")},
    "floating_insts": "fp_insts",
    **{each: each for each in ("shared_insts", "local_insts", "sync_insts")},
    "flops": "work_flops",
}
_BLOCK, _GRID = "DSE_BLOCK", "DSE_GRID"  # sizes that a profile tells, as macros of no source


def beside(
    file: Path,
    profile: Path,
    *,
    entry: str = "",
    define: Mapping[str, object],
    block: Sequence[int | str] = (),
    grid: Sequence[int | str] = (),
    row: int | None = None,
    **about: Any,
) -> xr.Dataset:
    """The counts of a kernel at each launch of a profile, beside those measured.

    Parameters
    ----------
    file, entry, define
        As for :func:`dse.kernel`; macros that the profile has (of a tuner) are those of each row.
    profile : Path
        What :func:`dse.open` reads: a profile, or the results of a tuner.
    block, grid : sequence of int or str
        Sizes, or formulas in macros; by default those of the profile, along x.
    row : int, optional
        The launch; all by default.
    **about
        ``arch``, ``options``, ``set`` and ``times``, as for :func:`dse.kernel`.

    Returns
    -------
    Dataset
        Along ``configuration`` each count that the profile has, too, as ``NAME`` (counted) and
        ``NAME_measured``; ``status`` says why a launch could not be counted.

    Raises
    ------
    DseError
        The profile has nothing to compare, another kernel, or several and none named.
    """
    import xarray as xr

    from dse.measured import open_measured

    ds = open_measured(profile, shape="rows")
    rows = _rows(ds, entry, row, str(profile))
    names = {mine: theirs for mine, theirs in PAIRS.items() if theirs in ds.data_vars}
    if not set(names) - {"threads_per_block", "blocks"}:
        raise DseError(
            f"{profile} has no counts that could stand beside those of {file}: expected one of "
            f"{', '.join(PAIRS.values())}"
        )
    macros = [str(each) for each in ds.attrs["axes"].split() if each != "configuration"]
    variants = []
    for at in rows:
        variant = {**{name: ds[name].values[at].item() for name in macros}, **define}
        for name, size in ((_BLOCK, "threads_per_block"), (_GRID, "blocks")):
            if size in ds.data_vars and np.isfinite(ds[size].values[at]):
                variant[name] = int(ds[size].values[at])
        variants.append(variant)
    told: dict[str, Any] = {"entry": entry, **about, "options": tuple(about.get("options", ()))}
    for name, sizes, own in (("block", block, _BLOCK), ("grid", grid, _GRID)):
        if not sizes and not all(own in each for each in variants):
            raise DseError(f"{profile} does not tell the {name} of each launch: give --{name}")
        told[name] = tuple(sizes) or (own,)
    found = tuned(file, variants, told)
    data: dict[str, Any] = {
        "status": ("configuration", np.array([each.get("status", "") for each in found], object))
    }
    for mine, theirs in names.items():
        measured = ds[theirs].values[rows].astype(float)
        if theirs == "work_flops":
            measured = measured / (ds.threads_per_block.values * ds.blocks.values)[rows]
        counted = np.array([each.get(mine, np.nan) for each in found], dtype=float)
        about_it = {"long_name": str(ds[theirs].attrs.get("source", theirs))}
        data |= {mine: ("configuration", counted), f"{mine}_measured": (
            "configuration", measured, about_it)}  # fmt: skip
    kept = {name: ("configuration", ds[name].values[rows]) for name in macros}
    return xr.Dataset(
        data,
        coords={"configuration": np.asarray(rows), **kept},
        attrs={"kernel": str(file), "profile": str(profile), "arch": about.get("arch", "")},
    )


def _rows(ds: xr.Dataset, entry: str, row: int | None, profile: str) -> list[int]:
    """The rows that were measured, of one kernel."""
    many = ds.sizes["configuration"]
    if row is not None and not 0 <= row < many:
        raise DseError(f"row {row} of {many:,}: expected 0 to {many - 1}")
    rows = [at for at in ([row] if row is not None else range(many)) if ds.feasible.values[at]]
    if not rows:
        raise DseError(f"{profile} has no launch that was measured")
    if "kernel" in ds:
        names = {at: _plain(str(ds["kernel"].values[at])) for at in rows}
        wanted, several = _plain(entry), sorted(set(names.values()))
        if entry and wanted not in several:
            raise DseError(
                f"{profile} has no launch of {wanted!r}, but of {', '.join(several)}"
                f"{nearest(wanted, several)}"
            )
        if not entry and len(several) > 1:
            raise DseError(
                f"{profile} has launches of {', '.join(several)}: name one by entry (--entry)"
            )
        rows = [at for at in rows if not entry or names[at] == wanted]
    return rows


def _plain(name: str) -> str:
    """The name of a kernel without type, namespace, arguments of its template and arguments."""
    return re.split(r"[<(]", name)[0].split()[-1].rpartition("::")[2] if name.strip() else ""


def shares(ds: xr.Dataset) -> Iterator[dict[str, Any]]:
    """How near each count comes to the measured one: how many launches, the ratios' median."""
    for name in PAIRS:
        if f"{name}_measured" not in ds:
            continue
        ours, theirs = ds[name].values, ds[f"{name}_measured"].values
        both = np.isfinite(ours) & np.isfinite(theirs)
        if not both.any():
            continue
        ours, theirs = ours[both], theirs[both]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(ours == theirs, 1.0, ours / theirs)
        off = np.abs(ratio - 1)
        yield {
            "what": name,
            "counted": float(np.median(ours)),
            "measured": float(np.median(theirs)),
            "ratio": float(np.median(ratio)),
            "furthest": float(ratio[np.argmax(off)]),
            "equal": int((off <= 1e-9).sum()),
            "within 5 %": int((off <= 0.05).sum()),
            "of": len(off),
        }
