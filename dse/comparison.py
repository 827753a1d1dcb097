"""Several models over the same axes: what they share, along a dimension ``model``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study import Study

__all__ = ["Comparison"]


class Comparison:
    """Studies that differ in their model alone; ``each`` holds them by the model.

    >>> from dse import Study
    >>> given = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    >>> both = Study(model=["transit", "transit + transit_warps"], axes={"threads": [64, 2048]},
    ...              set=given, outputs=["ms_throughput"])
    >>> both.run().ms_throughput.dims
    ('model', 'threads')
    """

    def __init__(self, each: Mapping[str, Study]) -> None:
        self.each = dict(each)
        self.outputs = self._shared()

    @staticmethod
    def names(models: Sequence[Any]) -> tuple[str, ...]:
        """The models to compare: two or more, each once."""
        names = tuple(models)
        if not all(isinstance(n, str) for n in names) or not 2 <= len(names) == len(set(names)):
            raise DseError(
                f"model = {list(models)!r}: a comparison names two or more models, each once"
            )
        return names

    def _shared(self) -> tuple[str, ...]:
        known = {name: study.grid().outputs for name, study in self.each.items()}
        first = next(iter(known.values()))
        shared = tuple(n for n in first if all(n in outputs for outputs in known.values()))
        if not shared:
            told = "; ".join(f"{name} has {', '.join(outputs)}" for name, outputs in known.items())
            raise DseError(f"the models share no output ({told}): choose some with outputs=")
        return shared

    def run(self, *, expand: bool = False, progress: Any = False) -> xr.Dataset:
        """The outputs that all models yield, along the dimension ``model``.

        Where the models mean different things by the values of a case or bound, the meanings stand
        in the attributes ``flag_values_by_model`` and ``flag_meanings_by_model``. The Dataset
        answers :func:`dse.optimum` and :func:`dse.disagreement`; for anything else ask one of
        ``each``.
        """
        import xarray as xr

        runs = {m: s.run(expand=expand, progress=progress) for m, s in self.each.items()}
        marked = any("feasible" in ds for ds in runs.values())
        names = [*self.outputs, *(["feasible"] if marked else [])]
        parts = [
            (ds.assign(feasible=True) if marked and "feasible" not in ds else ds)[names]
            for ds in runs.values()
        ]
        joined = xr.concat(
            parts,
            xr.DataArray(np.array(list(runs)), dims="model", name="model"),
            data_vars="all",
            coords="minimal",
            compat="override",
            join="exact",
            combine_attrs="drop_conflicts",
        )
        for name in self.outputs:
            for key in ("flag_values", "flag_meanings"):
                joined[name].attrs.pop(key, None)
            joined[name].attrs.update(_flags({m: ds[name] for m, ds in runs.items()}))
        first = next(iter(runs.values()))
        joined.attrs.update(model=", ".join(runs), axes=f"model {first.attrs['axes']}".strip())
        for key in ("study", "equations", "defaults", "sources", "assumptions", "identity"):
            joined.attrs[key] = json.dumps({m: ds.attrs[key] for m, ds in runs.items()})
        return joined


def _flags(each: Mapping[str, xr.DataArray]) -> dict[str, Any]:
    """The meanings of a case or bound for all models, or for each where a value has several."""
    said = {model: array.attrs for model, array in each.items() if "flag_values" in array.attrs}
    if not said:
        return {}
    values = {m: np.atleast_1d(attrs["flag_values"]).tolist() for m, attrs in said.items()}
    meanings = {m: str(attrs["flag_meanings"]) for m, attrs in said.items()}
    together: dict[int, set[str]] = {}
    for model, flags in values.items():
        for flag, meaning in zip(flags, meanings[model].split(), strict=True):
            together.setdefault(flag, set()).add(meaning)
    if len(said) == len(each) and all(len(several) == 1 for several in together.values()):
        known = dict(sorted(together.items()))
        flat = " ".join(meaning for several in known.values() for meaning in several)
        return {"flag_values": np.array(list(known), dtype=np.int8), "flag_meanings": flat}
    return {
        "flag_values_by_model": json.dumps(values),
        "flag_meanings_by_model": json.dumps(meanings),
    }
