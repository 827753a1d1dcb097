"""Compare several models over the same axes; shared outputs lie along a dimension ``model``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import StudyData


class ComparisonData:
    """Studies that differ only in their model; ``each`` maps models to studies."""

    def __init__(self, each: Mapping[str, StudyData]) -> None:
        self.each = dict(each)
        self.outputs = self._shared_outputs()

    @classmethod
    def from_models(cls, kind: type[StudyData], models: Sequence[Any], **settings: Any) -> Self:
        """Build a comparison of two or more different models, with one study for each model."""
        names = tuple(models)
        if not all(isinstance(n, str) for n in names) or not 2 <= len(names) == len(set(names)):
            raise DseError(f"model = {list(models)!r}: expected two or more models, each once")
        return cls({name: kind(model=name, **settings) for name in names})

    def _shared_outputs(self) -> tuple[str, ...]:
        known = {name: study.grid().outputs for name, study in self.each.items()}
        first = next(iter(known.values()))
        shared = tuple(n for n in first if all(n in outputs for outputs in known.values()))
        if not shared:
            text = "; ".join(f"{name} has {', '.join(outputs)}" for name, outputs in known.items())
            raise DseError(f"the models share no output ({text}): choose some with outputs=")
        return shared


def join_runs(runs: Mapping[str, xr.Dataset], outputs: Sequence[str]) -> xr.Dataset:
    """Concatenate the runs of several models along a dimension ``model``; see :func:`dse.run`."""
    marked = any("feasible" in ds for ds in runs.values())
    names = [*outputs, *(["feasible"] if marked else [])]
    parts = {
        model: (ds.assign(feasible=True) if marked and "feasible" not in ds else ds)[names]
        for model, ds in runs.items()
    }
    joined = _concat_models(parts)
    first = next(iter(runs.values()))
    joined.attrs.update(model=", ".join(runs), axes=f"model {first.attrs['axes']}".strip())
    for key in ("study", "equations", "defaults", "sources", "assumptions", "identity"):
        joined.attrs[key] = json.dumps({m: ds.attrs[key] for m, ds in runs.items()})
    return joined


def join_answers(answers: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Concatenate, along ``model``, the variables that all answers have; pad shorter lists."""
    first = next(iter(answers.values()))
    names = [name for name in first.data_vars if all(name in ds for ds in answers.values())]
    lists = [dim for dim in first.dims if dim not in first.coords]
    longest = {dim: max(ds.sizes.get(dim, 0) for ds in answers.values()) for dim in lists}
    parts = {model: _pad_dims(ds[names], longest) for model, ds in answers.items()}
    joined = _concat_models(parts)
    studies = {model: ds.attrs["study"] for model, ds in answers.items()}
    return joined.assign_attrs(model=", ".join(answers), study=json.dumps(studies))


def _pad_dims(ds: xr.Dataset, sizes: Mapping[Any, int]) -> xr.Dataset:
    short = {dim: size for dim, size in sizes.items() if ds.sizes[dim] < size}
    if not short:
        return ds
    nothing = {"b": False, "i": 0, "u": 0, "U": ""}
    kinds = {name: nothing.get(variable.dtype.kind, np.nan) for name, variable in ds.items()}
    ds = ds.assign_coords({dim: np.arange(ds.sizes[dim]) for dim in short})
    ds = ds.reindex({dim: np.arange(size) for dim, size in short.items()}, fill_value=kinds)
    return ds.drop_vars(list(short))


def _concat_models(parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
    import xarray as xr

    joined = xr.concat(
        list(parts.values()),
        xr.DataArray(np.array(list(parts)), dims="model", name="model"),
        data_vars="all",
        coords="minimal",
        compat="override",
        join="exact",
        combine_attrs="drop_conflicts",
    )
    for name in joined.data_vars:
        if any("flag_values" in ds[name].attrs for ds in parts.values()):
            for key in ("flag_values", "flag_meanings"):
                joined[name].attrs.pop(key, None)
            joined[name].attrs.update(_merge_flags({m: ds[name] for m, ds in parts.items()}))
    return joined


def _merge_flags(each: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """Merge flag attributes. If a value has several words, return one mapping per model."""
    flagged = {model: array.attrs for model, array in each.items() if "flag_values" in array.attrs}
    if not flagged:
        return {}
    values = {m: np.atleast_1d(attrs["flag_values"]).tolist() for m, attrs in flagged.items()}
    words = {m: str(attrs["flag_meanings"]) for m, attrs in flagged.items()}
    together: dict[int, set[str]] = {}
    for model, flags in values.items():
        for flag, meaning in zip(flags, words[model].split(), strict=True):
            together.setdefault(flag, set()).add(meaning)
    if len(flagged) == len(each) and all(len(several) == 1 for several in together.values()):
        known = dict(sorted(together.items()))
        flat = " ".join(meaning for several in known.values() for meaning in several)
        return {"flag_values": np.array(list(known), dtype=np.int8), "flag_meanings": flat}
    return {"flag_values_by_model": json.dumps(values), "flag_meanings_by_model": json.dumps(words)}
