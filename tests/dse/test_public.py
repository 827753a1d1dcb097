"""The public names: promised, sorted, importable, shadowed by nothing, cheap to import."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import dse
from dse.verbs.query import verbs
from tests.long import long

PACKAGES = ["dse", "sweeps", "symbolic", "stochastic"]
PROMISED = {
    "DseError",
    "Study",
    "best_config",
    "calibrate",
    "count",
    "disagreement",
    "equation",
    "evaluate",
    "export",
    "fit",
    "histogram",
    "machine",
    "machines",
    "model",
    "models",
    "open",
    "optimum",
    "pareto",
    "quantiles",
    "quantity",
    "workload",
    "workloads",
}


def python(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_all_holds_what_is_promised() -> None:
    assert len(set(dse.__all__)) == len(dse.__all__)
    assert set(dse.__all__) >= PROMISED


def test_every_name_can_be_had() -> None:
    for name in dse.__all__:
        result = getattr(dse, name)
        assert result.__doc__, name
        assert callable(result)
    assert dir(dse) == sorted(dse.__all__)
    with pytest.raises(AttributeError, match="module 'dse' has no attribute 'optimun'"):
        dse.optimun  # noqa: B018


def test_each_name_of_the_stub_is_at_home_where_it_says() -> None:
    for name, home in dse._MODULE_OF.items():
        assert getattr(importlib.import_module(home), name) is getattr(dse, name)


#: Functions that take quantities or axes as keywords.
TAKE_NAMES = {"advise", "evaluate", "explain"}


@pytest.mark.parametrize("name", dse.__all__)
def test_an_editor_can_complete_the_parameters(name: str) -> None:
    parameters = inspect.signature(getattr(dse, name)).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    assert (inspect.Parameter.VAR_KEYWORD in kinds) == (name in TAKE_NAMES)


@pytest.mark.parametrize("kind", [dse.Study, dse.Comparison])
def test_a_method_has_the_parameters_of_its_verb(kind: type) -> None:
    for name in verbs():
        function = inspect.signature(getattr(dse, name))
        assert inspect.signature(getattr(kind, name)) == function
        assert next(iter(function.parameters)) == "source"


def test_star_import() -> None:
    code = "from dse import *; import dse; print(all(n in globals() for n in dse.__all__))"
    assert python(code).strip() == "True"


LATER = """
import importlib, json, pkgutil, sys, types
import dse
for package in {packages}:
    base = importlib.import_module(package)
    for info in pkgutil.walk_packages(base.__path__, package + "."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
wrong = [n for n in dse.__all__ if isinstance(getattr(dse, n), types.ModuleType)]
json.dump(wrong, sys.stdout)
"""


@long
def test_public_names_survive_the_import_of_every_submodule() -> None:
    assert json.loads(python(LATER.format(packages=PACKAGES))) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_submodule_or_folder_bears_a_public_name(package: str) -> None:
    base = importlib.import_module(package)
    public = set(getattr(base, "__all__", ()))
    if package == "dse":
        public |= PROMISED
    names = {info.name for info in pkgutil.iter_modules(base.__path__)}
    for folder in base.__path__:
        names |= {path.name for path in Path(folder).iterdir() if path.is_dir()}
    assert not public & names


HEAVY = ["xarray", "numba", "sympy", "dask", "pandas", "scipy", "pint", "zarr", "h5netcdf", "h5py"]


@pytest.mark.parametrize("code", ["import dse", "import dse; dse.__all__; dir(dse)"])
def test_importing_is_cheap(code: str) -> None:
    loaded = json.loads(
        python(f"{code}; import json, sys; json.dump(sorted(sys.modules), sys.stdout)")
    )
    assert [name for name in HEAVY if name in loaded] == []


def test_reading_a_study_loads_no_compiler() -> None:
    code = (
        "import dse, json, sys\n"
        "study = dse.Study(model='transit', axes={'threads': range(1, 9)}, set={'intensity': 3,"
        " 'ms_peak': 1, 'lanes_width': 8, 'mem_latency': 7})\n"
        "study.plan()\n"
        "study.explain(threads=3)\n"
        "json.dump(sorted(sys.modules), sys.stdout)"
    )
    loaded = json.loads(python(code))
    heavy = ("numba", "dask", "pandas", "zarr", "h5netcdf", "h5py", "sympy", "xarray")
    assert [name for name in heavy if name in loaded] == []


def test_the_catalogues_are_mappings() -> None:
    for catalogue, one in ((dse.machines(), dse.machine), (dse.workloads(), dse.workload)):
        assert len(catalogue) == len(list(catalogue)) > 5
        for name in catalogue:
            assert name == name.lower()
            assert name in catalogue
            assert one(name).name == catalogue[name].name
        assert "nonesuch" not in catalogue
        with pytest.raises(KeyError):
            catalogue["nonesuch"]


def test_models() -> None:
    models = dse.models()
    assert list(models) == sorted(models)
    assert {"divergence", "mwp_cwp", "occupancy", "transit"} <= set(models)
    assert models["transit"] is dse.model("transit")
    with pytest.raises(KeyError):
        models["nonesuch"]
