"""Define the accessor ``ds.dse`` of Datasets: its study, the labels of cases, and verbs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import dse
from symbolic.errors import DseError, check_name
from symbolic.json_text import read_json

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    import xarray as xr

    from dse.api import Comparison, Study

#: Attributes that are a JSON object with one key per model in the Dataset of a comparison.
_PER_MODEL = ("study", "identity")


class DatasetAccessor:
    """Accessor ``ds.dse`` of any :class:`xarray.Dataset`: study, labels of cases, and verbs.

    >>> import dse
    >>> study = dse.Study(model="transit", axes={"threads": [256, 1024]}, outputs=["bound"],
    ...     set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> best = study.optimum(maximize="threads")
    >>> best.dse.identity
    'transit, study 297154c0'
    >>> best.dse.study.grid().points, best.dse.labels("bound").values.tolist()
    (2, 'memory')
    >>> round(best.dse.explain()["thread_limit"].value, 6)
    1.678689
    """

    def __init__(self, ds: xr.Dataset) -> None:
        self._ds = ds

    def __repr__(self) -> str:
        return f"<DatasetAccessor: {self.identity or 'no study'}>"

    def _repr_html_(self) -> str:
        import xarray as xr

        fold: Any = xr.set_options
        with fold(display_expand_attrs=False):  # study, equations and sources are long
            return str(self._ds._repr_html_())

    @property
    def study(self) -> Study | Comparison:
        """The study that made the Dataset, or the comparison of several models.

        Raises:
            DseError: The Dataset has no study or lacks values of a long axis, or the study has
                changed.
        """
        from dse.api import Comparison

        tree = self._study_tree()
        if "axes" in tree or not tree:
            return _public_study(self._ds)
        texts = {key: read_json(self._ds.attrs[key]) for key in _PER_MODEL if key in self._ds.attrs}
        parts = {model: {key: texts[key][model] for key in texts} for model in tree}
        return Comparison({m: _public_study(self._ds.assign_attrs(p)) for m, p in parts.items()})

    @property
    def identity(self) -> str:
        """One line with model, workload, machine and a hash of the study; ``""`` for no study."""
        import hashlib

        attributes, tree = self._ds.attrs, self._study_tree()
        if not tree:
            return ""
        names = (attributes.get("model"), tree.get("workload"), tree.get("machine"))
        digest = hashlib.sha256(str(attributes["study"]).encode()).hexdigest()
        return ", ".join([*(str(name) for name in names if name), f"study {digest[:8]}"])

    def labels(self, name: str) -> xr.DataArray:
        """Return the labels of a case or of another variable with flags; ``""`` for unknown values.

        Raises:
            UnknownNameError: The Dataset has no such variable.
            DseError: The variable has no labels.

        >>> import xarray as xr
        >>> import dse
        >>> flags = {"flag_values": [1, 2], "flag_meanings": "memory compute"}
        >>> ds = xr.Dataset({"case": ("threads", [2, 1], flags)})
        >>> ds.dse.labels("case").values.tolist()
        ['compute', 'memory']
        """
        import numpy as np

        from sweeps.grid.dataset import read_flag_meanings

        check_name(name, [*map(str, self._ds.variables)], f"{name!r} is no variable of the Dataset")
        array = self._ds[name]
        if array.dtype.kind == "U":
            return array
        meanings: dict[str | None, dict[int, str]] = {None: read_flag_meanings(array.attrs)}
        if "flag_values_by_model" in array.attrs:
            flags = read_json(array.attrs["flag_values_by_model"])
            words = read_json(array.attrs["flag_meanings_by_model"])
            meanings = {
                m: read_flag_meanings({"flag_values": flags[m], "flag_meanings": words[m]})
                for m in flags
            }
        if not any(meanings.values()):
            raise DseError(f"{name} has no labels: expected a case, a bound or a category")
        texts = np.full(array.shape, "", dtype=object)
        for model, known in meanings.items():
            values = (array if model is None else array.where(array["model"] == model)).values
            for flag, word in known.items():
                texts[values == flag] = word
        labels = array.copy(data=texts.astype(np.str_))
        labels.attrs = {k: v for k, v in array.attrs.items() if not k.startswith("flag_")}
        return labels

    def quantify(self) -> xr.Dataset:
        """Return the Dataset with units of pint in place of the attributes ``units``.

        Raises:
            DseError: The package pint-xarray is not installed.
        """
        try:
            import pint_xarray  # noqa: F401
        except ImportError as error:
            text = "units of pint need pint-xarray: pip install 'simt-dse[pint]'"
            raise DseError(text) from error
        return self._ds.pint.quantify()

    def optimum(self, **query: Any) -> xr.Dataset:
        """Return the best configurations of the Dataset; see :func:`dse.optimum`."""
        return dse.optimum(self._ds, **query)

    def pareto(self, **query: Any) -> xr.Dataset:
        """Return the Pareto front of the Dataset; see :func:`dse.pareto`."""
        return dse.pareto(self._ds, **query)

    def explain(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """Return every intermediate quantity of one configuration; see :func:`dse.explain`.

        ``point`` has values of axes, or is an answer. By default, it is the only or the best-ranked
        configuration of this Dataset, if there is one. ``more`` has further values of axes.
        """
        return dse.explain(self.study, **{**self._point(point), **more})

    def advise(self, point: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """Return the bottleneck of a configuration, and what would help; see :func:`dse.advise`.

        The configuration is chosen as in :meth:`explain`. ``more`` also takes ``goal`` and
        ``levers``.
        """
        return dse.advise(self.study, **{**self._point(point), **more})

    def _point(self, point: Mapping[str, Any] | None) -> dict[str, Any]:
        from dse.arguments import require_mapping

        axes = str(self._ds.attrs.get("axes", "")).split() or self._study_tree().get("axes", ())
        given: Any = self._ds if point is None else point
        if hasattr(given, "coords"):
            given = given.isel(rank=0) if "rank" in given.dims else given
            given = {name: array.item() for name, array in given.coords.items() if not array.dims}
            given = {name: value for name, value in given.items() if name in axes}
        return dict(require_mapping(given, "point"))

    def _study_tree(self) -> Mapping[str, Any]:
        try:
            tree = read_json(self._ds.attrs["study"])
        except (KeyError, TypeError, ValueError):
            return {}
        return tree if isinstance(tree, Mapping) else {}


def _public_study(ds: xr.Dataset) -> Study:
    from dataclasses import fields

    from dse.api import Study
    from dse.runs.identity import study_of

    data = study_of(ds, needs_identity=False)
    return Study(**{f.name: getattr(data, f.name) for f in fields(data) if f.init})


def register_accessor() -> None:
    """Register the accessor when xarray is imported, or at once if xarray is already loaded."""
    if hasattr(sys.modules.get("xarray"), "register_dataset_accessor"):
        _register(sys.modules["xarray"])
    else:
        sys.meta_path.insert(0, _XarrayFinder())


def _register(xarray: ModuleType) -> None:
    if not hasattr(xarray.Dataset, "dse"):
        xarray.register_dataset_accessor("dse")(DatasetAccessor)


class _XarrayFinder:
    """Import hook that registers the accessor when xarray, which loads slowly, is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "xarray":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register(module)

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
