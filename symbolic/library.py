"""Find and load models: shipped models, models in ``DSE_PATH``, model files, and unions of them."""

import hashlib
import importlib
import importlib.util
import os
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from symbolic.equation import Equation, Family, Guide, Validity
from symbolic.errors import DseError, GraphError, UnknownNameError, check_name, nearest_hint
from symbolic.file_access import search_folders
from symbolic.model import Model
from symbolic.models import _energy
from symbolic.quantities import RULES, TABLE
from symbolic.quantity import Domain, Quantity

# --- Users' model files. A model file is Python code, which runs when it is loaded. A file is run
# only if the user names it: in a study, as an argument, or by a folder of ``DSE_PATH``. If a
# dataset names a model file, the file is looked up among these by its hash (:func:`locate_models`),
# never by its path.


SHIPPED_FOLDER = Path(__file__).parent / "models"

#: Maps the SHA-256 of a model file's bytes to the file, for all files that this process has run.
_LOADED_FILES: dict[str, Path] = {}
_D = TypeVar("_D")
#: Former models, by name, and the models that replace them.
_REPLACED = {"tiled_product": "gemm"}


class _BytesLoader(SourceFileLoader):
    """A loader that runs the bytes in ``data``, never a cached bytecode file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.stem, str(path))
        self.data = path.read_bytes()

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.data, self.path)


def run_file(path: Path) -> tuple[ModuleType, str]:
    """Run a model file and return its module and the SHA-256 of its bytes; errors name the line."""
    try:
        loader = _BytesLoader(path)
    except OSError as error:
        raise DseError(f"the model file {path} cannot be read: {error.strerror}") from error
    spec = importlib.util.spec_from_loader(path.stem, loader)
    assert spec is not None, "there is a loader"
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except DseError:
        raise
    except Exception as error:
        steps = [s for s in traceback.extract_tb(error.__traceback__) if s.filename == str(path)]
        line = getattr(error, "lineno", None) or (steps[-1].lineno if steps else None)
        where = f"{path}, line {line}" if line else str(path)
        raise DseError(
            f"the model file {where} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    digest = hashlib.sha256(loader.data).hexdigest()
    _LOADED_FILES[digest] = path
    return module, digest


def read_text_or_empty(path: Path) -> str:
    """Return the text of a file, or "" if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # a folder, or a file without read permission
        return ""


def _model_paths() -> dict[str, list[Path]]:
    """Return the files of each model name: shipped models, and models in ``DSE_PATH``."""
    result = {path.stem: [path] for path in _shipped_files()}
    for folder in dict.fromkeys(search_folders()):
        is_user_folder = folder.is_dir() and folder != SHIPPED_FOLDER
        for path in sorted(folder.glob("*.py")) if is_user_folder else []:
            if "equation" in read_text_or_empty(path) and not path.stem.startswith("_"):
                result.setdefault(path.stem, []).append(path)
    return result


@cache
def _shipped_files() -> tuple[Path, ...]:
    """Return the files of the shipped models; cached, because they do not change during a run."""
    return tuple(p for p in sorted(SHIPPED_FOLDER.glob("*.py")) if not p.stem.startswith("_"))


def _model_path(name: str, base: Path | None) -> Path:
    if name.endswith(".py"):
        path = Path(os.path.realpath(base / name if base else name))
        if not path.is_file():
            raise DseError(f"the model file {name!r} does not exist (looked at {path})")
        return path
    result = _model_paths()
    if name.endswith(".toml"):
        raise UnknownNameError(f"{name!r} is no model but a study: dse explain {name}, or dse run")
    if name not in result:
        raise UnknownNameError(
            f"{name!r} is no model{model_hint(name, result)}; there are: "
            f"{', '.join(sorted(result))} (give a model of your own as a path ending in .py, or "
            "put it in a folder of DSE_PATH)"
        )
    if len(result[name]) > 1:
        paths = ", ".join(map(str, result[name]))
        raise DseError(
            f"{name!r} names {len(result[name])} models: {paths}; rename one, or give the path of "
            "the one you mean"
        )
    path = result[name][0]
    return path if path.parent == SHIPPED_FOLDER else path.resolve()


def user_files(spec: str, base: Path | None = None) -> list[Path]:
    """Return the user's files that loading a model or union would run."""
    paths = (_model_path(part.strip(), base) for part in spec.split("+"))
    return [path for path in paths if path.parent != SHIPPED_FOLDER]


def locate_models(model: str, files: Iterable[Sequence[str]]) -> str:
    """Return a model name from a dataset, in which names of users' models are replaced by paths.

    ``files`` has a pair (name, hash of the file) for each model that is not shipped. No file is
    run. Raise an error if this process has not run a file, and no folder of ``DSE_PATH`` contains
    it.
    """
    hashes = {str(name): str(digest) for name, digest in files}
    shipped = {path.stem for path in _shipped_files()}
    parts = []
    for name in (part.strip() for part in model.split("+")):
        if name in hashes:
            parts.append(str(_find_file(name, hashes[name])))
        elif name in shipped:
            parts.append(name)
        else:
            raise DseError(
                f"it names the model {name!r} and no hash of its file, and what a dataset names is "
                "not run: rebuild its study"
            )
    return " + ".join(parts)


def _find_file(name: str, digest: str) -> Path:
    # a name with a slash could lead out of the folders
    named = [p for f in search_folders() if f.is_dir() for p in f.glob("*.py") if p.stem == name]
    others = []
    for path in (*([_LOADED_FILES[digest]] if digest in _LOADED_FILES else []), *named):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == digest and "+" not in str(path):
            return path.resolve()
        others.append(str(path))
    there = f" ({others[-1]} is another file)" if others else ""
    raise DseError(
        f"it was computed with a model file {name}.py, sha256 {digest[:16]}..., which is not among "
        f"yours{there}, and what a dataset names is not run: put the folder of that file on "
        "DSE_PATH, or in Python load it first (dse.model('PATH'))"
    )


def _add_energy(equations: Iterable[Equation]) -> list[Equation]:
    """Return the equations, with those of energy added if they yield time and a power.

    The mean power gives the energy only if no equation yields the power or the energy.
    """
    result = [eq for eq in dict.fromkeys(equations) if eq != _energy.mean_energy]
    names = {eq.name for eq in result}
    if "time" in names and not names.isdisjoint({"power", "average_power"}):
        own = _energy.EQUATIONS if "power" in names else _energy.MEAN_EQUATIONS
        result += [eq for eq in own if eq.name not in names]
    return result


def _model_from_module(module: ModuleType, name: str) -> Model:
    equations: list[Equation] = []
    quantities: dict[str, Quantity] = dict(TABLE)
    for value in vars(module).values():
        if isinstance(value, Equation) and value not in equations:
            equations.append(value)
        elif isinstance(value, Quantity):
            if value.name in TABLE and TABLE[value.name] != value:
                raise GraphError(
                    f"{name} declares {value.name} again, which all models share: "
                    f"{_describe_quantity(TABLE[value.name])}; use it as it is, or another name "
                    f"(dse quantities {value.name} shows which models have it)"
                )
            quantities[value.name] = value
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Equation):
            equations.extend(eq for eq in value if eq not in equations)
    equations = _add_energy(equations)
    for eq in equations:
        row = quantities.get(eq.name)
        if row is not None and eq.unit not in ("", row.unit):
            owner = "all models share" if eq.name in TABLE else f"{name} declares"
            raise GraphError(
                f"the equation {eq.describe()} of {name} is in {eq.unit!r}, and {owner} "
                f"{eq.name}: {_describe_quantity(row)}; yield it in that unit, or use another name"
            )
        if eq.name not in quantities:
            quantities[eq.name] = Quantity(
                name=eq.name, unit=eq.unit, domain=Domain.parse(eq.domain), meaning=eq.meaning
            )
    for eq in equations:
        for needed in eq.inputs:
            if needed not in quantities:
                raise UnknownNameError(
                    f"the equation {eq.describe()} needs {needed!r}, which is no known quantity"
                    f"{nearest_hint(needed, quantities)} (a new input is declared with "
                    f"dse.quantity({needed!r}, unit=..., meaning=...))"
                )
    names = {each for eq in equations for each in (eq.name, *eq.inputs)}
    is_own = not module.__name__.startswith("symbolic.models.")
    rules = [rule for rule in RULES if not is_own or names.intersection(rule.split())]
    if not equations:
        raise GraphError(f"{name} contains no equation: decorate a function with @dse.equation")
    yielded = tuple(dict.fromkeys(eq.name for eq in equations))
    doc = (module.__doc__ or "").strip().splitlines()
    outputs = tuple(getattr(module, "OUTPUTS", ())) or yielded
    for output in outputs:
        message = f"{name} lists {output!r} in OUTPUTS, which no equation yields"
        check_name(output, yielded, message, "they yield")
    return Model(
        name=name,
        equations=tuple(equations),
        quantities=_add_flags(quantities, equations),
        rules=(*rules, *getattr(module, "RULES", ())),
        outputs=outputs,
        families=_declarations(module, "FAMILIES", Family),
        guides=_declarations(module, "ADVICE", Guide),
        validity=_declarations(module, "VALIDITY", Validity),
        symbols=dict(getattr(module, "SYMBOLS", {})),
        fitted=tuple(getattr(module, "FITTED", ())),
        summary=doc[0] if doc else "",
    )


def _add_flags(known: Mapping[str, Quantity], equations: Iterable[Equation]) -> dict[str, Quantity]:
    """Return the known, with the flags (meanings of values) that their equations declare.

    A quantity has no flags if its equations give different meanings to one value.
    """
    result: dict[str, set[tuple[int, str]]] = {}
    for eq in equations:
        result.setdefault(eq.name, set()).update(eq.flags.items())
    rows = dict(known)
    for name, flags in result.items():
        agree = len(dict(flags)) == len(flags)
        rows[name] = replace(rows[name], flags=tuple(sorted(flags)) if agree else ())
    return rows


def _declarations(module: ModuleType, name: str, kind: type[_D]) -> tuple[_D, ...]:
    value = getattr(module, name, ())
    values = value if isinstance(value, tuple) else (value,)
    return tuple(each for each in values if isinstance(each, kind))


def _describe_quantity(row: Quantity) -> str:
    labels = f", one of {', '.join(row.labels)}" if row.labels else ""
    unit = f" [{row.unit}]" if row.unit else f" in {row.domain}" * (row.labels is None)
    return f"{row.meaning or row.name}{unit}{labels}"


def _join_models(models: list[Model], prefer: str | None) -> Model:
    names = [model.name for model in models]
    if prefer is not None:
        check_name(prefer, names, f"prefer={prefer!r} is none of the joined models", "these are")
    owner: dict[str, Model] = {}
    own = [tuple(eq for eq in m.equations if eq != _energy.mean_energy) for m in models]
    models = [replace(m, equations=each) for m, each in zip(models, own, strict=True)]
    for model in sorted(models, key=lambda m: m.name != prefer):
        for name in model.yields:
            first = owner.setdefault(name, model)
            ours, theirs = first.variants(name), model.variants(name)
            if first.name == prefer or set(theirs) <= set(ours):
                continue
            if not set(ours) <= set(theirs):
                mine = next(eq for eq in ours if eq not in theirs)
                other = next(eq for eq in theirs if eq not in ours)
                raise GraphError(
                    f"{name} has two definitions: {mine.describe()} and {other.describe()}; "
                    f"say which to use with prefer={first.name!r} or prefer={model.name!r}"
                )
            owner[name] = model
    quantities: dict[str, Quantity] = {}
    declared: dict[str, str] = {}
    for model in models:
        for name, row in model.quantities.items():
            first_row = quantities.setdefault(name, row)
            origin = declared.setdefault(name, model.name)
            if (first_row.unit, first_row.labels) != (row.unit, row.labels):
                raise GraphError(
                    f"{name} is declared by {origin} as {_describe_quantity(first_row)} and by "
                    f"{model.name} as {_describe_quantity(row)}: rename one"
                )
    families: list[Family] = []
    for model in models:
        families += [family for family in model.families if family not in families]
    chosen = (eq for model in models for eq in model.equations if owner[eq.name] is model)
    equations = tuple(_add_energy(chosen))
    return Model(
        name=" + ".join(names),
        equations=equations,
        quantities=_add_flags(quantities, equations),
        rules=tuple(dict.fromkeys(rule for model in models for rule in model.rules)),
        outputs=tuple(dict.fromkeys(name for model in models for name in model.outputs)),
        families=tuple(families),
        guides=tuple(guide for model in models for guide in model.guides),
        validity=tuple(dict.fromkeys(row for model in models for row in model.validity)),
        files=tuple(file for model in models for file in model.files),
        symbols={n: symbol for m in models for n, symbol in m.symbols.items()},
        fitted=tuple(dict.fromkeys(name for m in models for name in m.fitted)),
        summary=" + ".join(model.summary for model in models),
    )


def available_models() -> dict[str, Path]:
    """Return the files of all shipped models and of those in ``DSE_PATH``, by model name."""
    return {name: paths[0] for name, paths in _model_paths().items()}


def model_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the model that an unknown name probably means."""
    if name in _REPLACED:
        return f" any more: {_REPLACED[name]} replaced it"
    return nearest_hint(name, known)


@lru_cache(maxsize=64)
def _load_file(path: Path, stamp: int) -> Model:
    module, digest = run_file(path)
    return replace(_model_from_module(module, path.stem), files=((path.stem, digest),))


@lru_cache(maxsize=64)
def _load_shipped(name: str) -> Model:
    """Return a shipped model; if its file defines ``UNION``, join the models named there."""
    module = importlib.import_module(f"symbolic.models.{name}")
    if not hasattr(module, "UNION"):
        return _model_from_module(module, name)
    summary = (module.__doc__ or "").splitlines()[0]
    return replace(load_model(module.UNION), name=name, outputs=module.OUTPUTS, summary=summary)


def _load_single(name: str, base: Path | None) -> Model:
    path = _model_path(name, base)
    if path.parent == SHIPPED_FOLDER:
        return _load_shipped(path.stem)
    return _load_file(path, path.stat().st_mtime_ns)


def load_model(
    spec: str | Path | Model, *, prefer: str | None = None, base: Path | None = None
) -> Model:
    """Return the model that ``spec`` names, or the union of several: ``"occupancy + mwp_cwp"``.

    Each part is the name of a model, or the path of a ``.py`` file, relative to ``base``.
    ``prefer`` is the model whose equation is used if two models define the same quantity.
    """
    if isinstance(spec, Model):
        return spec
    if not isinstance(spec, (str, Path)):
        raise DseError(f"{spec!r} is no model: expected a name, names joined by +, or a path")
    parts = [part.strip() for part in str(spec).split("+")]
    models = [_load_single(part, base) for part in parts]
    return models[0] if len(models) == 1 and prefer is None else _join_models(models, prefer)


def iterate_models() -> Iterator[Model]:
    """Yield every shipped model."""
    for name, path in available_models().items():
        if path.parent == SHIPPED_FOLDER:
            yield _load_shipped(name)
