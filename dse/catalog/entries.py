"""Catalogue of machines and workloads: TOML files with a source for every number.

A machine file has a ``title``, and under ``[values]`` quantities by their names, each with either
its ``source`` or ``assumed = "why"``::

    title = "NVIDIA GeForce GTX 280"
    compute_capability = "1.3"        # its limits are filled in
    base = "gtx260"                   # optional: start from another machine's values
    [values]
    n_sms = { value = 30, source = "Hong 2012, Table 2" }
    mem_bandwidth = { value = "141.7 GB/s", source = "Hong 2012, Table 2" }
    ms_transition = { value = "ms_peak * mem_latency", assumed = "a formula in other quantities" }
    [unknown]                         # optional: values that nobody publishes, and why
    l2_latency = "not measured"

An assumed number may have a ``spread``, the share by which it may be wrong to both sides: the
number is then a random input, which answers mention. Values that a shipped machine lacks are
assumed to be those of its nearest relatives (``dse/data/relatives.toml``).

A file's own values take precedence over values of its base. Values of the base take precedence over
the limits of the compute capability. A workload file has neither ``compute_capability`` nor
``[unknown]``. It may declare further quantities, such as the arguments of a kernel, for its own
values and for studies::

    [quantities]
    atoms = { meaning = "atoms of the molecule", domain = "whole [0, inf)" }

Your own files are named by their path (ending in ``.toml``), or by their name without ``.toml`` if
``DSE_PATH`` lists their folder: in its subfolder ``machines`` or ``workloads``, or in the folder
itself with a line ``kind = "machine"`` or ``kind = "workload"``. Two files may not share a name.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dse.catalog.entry_file import Value, read_entry_file
from dse.catalog.models import models
from symbolic.answer import Answer, DisplayMixin, Table, names_answer, shorten
from symbolic.errors import DseError, UnknownEntryError, UnknownNameError, nearest_hint
from symbolic.file_access import FileScope, PathBase, allowed_path, nested_scope, search_folders
from symbolic.library import read_text_or_empty
from symbolic.model import Model
from symbolic.quantities import TABLE, Quantity, text_unit
from symbolic.safe_text import one_line

_DATA = Path(__file__).parents[1] / "data"
_MAKERS = re.compile(r"\b(nvidia|amd|geforce|tesla|quadro|instinct|radeon)\b")
#: Share by which the bandwidth of a kernel may differ from that of a triad on the same machine.
_TRIAD_SPREAD = 0.05


def absolute_path(path: Path) -> Path:
    """Return a path without ``..``, so that cycles of bases are detected; links are kept."""
    return Path(os.path.abspath(path))


def _user_files(kind: str) -> Iterator[Path]:
    mark = re.compile(rf"^\s*kind\s*=\s*[\"']{kind}[\"']", re.MULTILINE)
    for folder in search_folders():
        yield from (folder / f"{kind}s").glob("*.toml")
        yield from (path for path in folder.glob("*.toml") if mark.search(read_text_or_empty(path)))


@cache  # the shipped files do not change while a process runs
def _files_by_name(kind: str, user_files: frozenset[Path]) -> Mapping[str, list[Path]]:
    files = user_files.union(map(absolute_path, (_DATA / f"{kind}s").glob("*.toml")))
    by_name: dict[str, list[Path]] = {}
    for path in sorted(files, key=lambda p: (p.stem.lower(), p)):
        by_name.setdefault(path.stem.lower(), []).append(path)
    return by_name


def entry_paths(kind: str) -> Mapping[str, list[Path]]:
    """Return the paths of the files for each name, sorted by name; the files are not parsed."""
    return _files_by_name(kind, frozenset(map(absolute_path, _user_files(kind))))


def file_titles(kind: str) -> dict[str, str]:
    """Return the titles of files by name, including files that cannot be read."""
    titles = {}
    for name, paths in entry_paths(kind).items():
        try:
            titles[name] = str(tomllib.loads(paths[0].read_text(encoding="utf-8"))["title"])
        except (OSError, ValueError, KeyError, RecursionError):
            titles[name] = f"cannot be read: {paths[0]}"
    return titles


def unknown_entry_error(kind: str, name: str, known: Iterable[str]) -> UnknownEntryError:
    """Return the error for an unknown machine or workload, with hints."""
    absent = "".join(f"; DSE_PATH lists {f}, no folder" for f in search_folders() if not f.is_dir())
    for path in (folder / f"{name}.toml" for folder in search_folders()):
        if path.is_file():
            absent += f'; {path} is not taken for one, as it does not say kind = "{kind}"'
    other = "workload" if kind == "machine" else "machine"
    hint = (
        f" but a {other}"
        if name.lower() in entry_paths(other)
        else nearest_hint(name.lower(), known)
    )
    if kind == "machine" and (hint_of_product := _product_hint(name)):
        return UnknownEntryError(hint_of_product)
    own = "; one of your own is given as a path ending in .toml, or is in a folder of DSE_PATH"
    more = f"{own}{absent}" if absent or not hint else ""
    return UnknownEntryError(f"{name!r} is no {kind}{hint} (dse {kind}s lists all{more})")


def load_entries(load: Callable[[str], Entry], names: Iterable[str]) -> list[Entry]:
    """Return the entries that ``load`` returns for names; one error has all unknown names."""
    entries, errors = [], []
    for name in names:
        try:
            entries.append(load(name))
        except UnknownEntryError as error:
            errors.append(str(error))
    if errors:
        raise UnknownEntryError("\n".join(errors))
    return entries


def _product_hint(name: str) -> str:
    """Return a hint if a name is the name of a product, else ``""``."""
    titles = file_titles("machine")
    if len(several := prefix_matches(name, titles)) > 1:
        shown = " or ".join(f"{each} ({titles[each]})" for each in several)
        return f"{name!r} is the name of more than one machine: type {shown}"
    if capability := product_capability(name):
        return (
            f"{name!r} has no machine file. Its compute capability is {capability}: take "
            f"cc{capability} for its limits alone, or start a file of your own from them "
            f"(dse new machine {normalized_name(name)}.toml --from cc{capability})"
        )
    return ""


@dataclass(frozen=True, slots=True, repr=False)
class Entry(DisplayMixin):
    """Machine, workload or compute capability, with its values by quantity."""

    name: str
    title: str
    kind: str
    values: Mapping[str, Value] = field(hash=False)
    path: Path
    compute_capability: str = ""
    declared: tuple[Quantity, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)
    base: str = ""

    def __post_init__(self) -> None:
        for name in ("values", "unknown"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __repr__(self) -> str:
        return f"<{self._kind}: {self.name}: {one_line(self.title)}>"

    def without_fits(self) -> Entry:
        """Return the entry without the numbers of shipped fits."""
        return replace(self, values={n: v for n, v in self.values.items() if not v.fit})

    @property
    def _kind(self) -> str:
        return self.kind.replace("_", " ").capitalize()

    def _answer(self) -> Answer:
        data = self._data()
        why = {n: v.get("source") or f"assumed: {v['assumed']}" for n, v in data["values"].items()}
        rows = [
            [name, (row["value"], text_unit(name, row["unit"])), why[name]]
            for name, row in data["values"].items()
        ]
        closed = [[n, shorten(lacking)] for n, lacking in data.get("closed_models", {}).items()]
        capability = self.compute_capability
        return Answer(
            kind=self._kind,
            title=f"{self.name}: {one_line(self.title)}",
            facts={"compute capability": capability} if capability else {},
            tables=[
                Table(title="values", columns=("quantity", "value", "source"), rows=rows),
                Table(title="unknown", columns=("quantity", "why"), rows=[*self.unknown.items()]),
                Table(title="unavailable models", columns=("model", "missing inputs"), rows=closed),
            ],
            data=data,
        )

    def _data(self) -> dict[str, Any]:
        units = {row.name: row.unit for row in (*TABLE.values(), *self.declared)}
        values = {}
        for name, value in self.values.items():
            origin = {"assumed": value.assumed} if value.assumed else {"source": value.source}
            values[name] = {"value": value.value, "unit": units.get(name, ""), **origin}
        capability, more = self.compute_capability, {}
        if self.kind != "workload":
            closed = {name: list(lacking) for name, lacking in unavailable_models(self).items()}
            more = {"unknown": dict(self.unknown), "closed_models": closed}
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            **({"compute_capability": capability} if capability else {}),
            "values": values,
            **more,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.name, self.title, self.kind, dict(self.values), self.path)
        more = (self.compute_capability, self.declared, dict(self.unknown), self.base)
        return Entry, (*fields, *more)


@lru_cache(maxsize=1)
def _limits() -> dict[str, tuple[str, dict[str, Value]]]:
    tree = tomllib.loads((_DATA / "compute_capabilities.toml").read_text(encoding="utf-8"))
    limits: dict[str, tuple[str, dict[str, Value]]] = {
        name: (title, {}) for name, title in tree["titles"].items()
    }
    for row in tree["limits"]:
        origin = {key: row[key] for key in ("source", "assumed") if key in row}
        for value, capabilities in row["values"]:
            for capability in capabilities.split():
                limits[capability][1][row["quantity"]] = Value(value=value, **origin)
    return limits


def _unknown_capability(name: str) -> UnknownNameError:
    known = _limits()
    return UnknownNameError(
        f"{name!r} is no known compute capability{nearest_hint(name, known)}; there are: "
        f"{', '.join(known)}"
    )


def compute_capability(name: str) -> Entry:
    """Return the limits of a compute capability such as ``"8.0"`` as the machine ``cc8.0``."""
    name = str(name).strip()
    if name not in _limits():
        raise _unknown_capability(name)
    title, values = _limits()[name]
    path = _DATA / "compute_capabilities.toml"
    return Entry(f"cc{name}", title, "compute_capability", values, path, name)


def _find(kind: str, name: str, folder: PathBase) -> Path:
    if name.endswith(".toml"):
        path = absolute_path(allowed_path(name, folder, f"{kind} file"))
        if not path.is_file():
            hint = ": paths are relative to the study file" * isinstance(folder, FileScope)
            raise DseError(f"the {kind} file {name!r} does not exist (looked for {path}){hint}")
        return path
    known = entry_paths(kind)
    paths = known.get(name.lower(), [])
    if not paths and kind == "machine" and len(same := exact_matches(name, file_titles(kind))) == 1:
        paths = known[same[0]]
    if len(paths) == 1:
        return paths[0]
    if paths:
        raise DseError(
            f"{name!r} names {len(paths)} {kind}s: {', '.join(map(str, paths))}; rename one, or "
            "give the path of the one you mean"
        )
    raise unknown_entry_error(kind, name, _Catalog(kind))


def _load(
    kind: str, name: str, folder: PathBase, extra: tuple[Quantity, ...], chain: tuple[Path, ...]
) -> Entry:
    name = str(name).strip()
    if kind == "machine" and (capability := parse_capability(name)) in _limits():
        return compute_capability(capability)
    path = _find(kind, name, folder)
    status = path.stat()
    file = read_entry_file(path, (status.st_mtime_ns, status.st_size), kind, extra)
    capability, values = file.compute_capability, dict(file.values)
    declared, unknown = file.declared, dict(file.unknown)
    if capability and capability not in _limits():
        raise file.source.error(("compute_capability",), _unknown_capability(capability))
    if file.base:
        if path in chain:
            names = " -> ".join(p.stem for p in (*chain[chain.index(path) :], path))
            raise file.source.error(("base",), f"base runs in a circle: {names}")
        try:
            base = _load(kind, file.base, nested_scope(folder, path.parent), extra, (*chain, path))
        except UnknownEntryError as error:
            raise file.source.error(("base",), UnknownNameError(f"base: {error}")) from error
        limits = _limits()[base.compute_capability][1] if base.compute_capability else {}
        inherited = {k: v for k, v in base.values.items() if limits.get(k) != v}
        capability, values = capability or base.compute_capability, {**inherited, **values}
        declared = tuple({row.name: row for row in (*base.declared, *declared)}.values())
        unknown = {k: why for k, why in {**base.unknown, **unknown}.items() if k not in values}
    if capability:
        values = {**_limits()[capability][1], **values}
    has_rates = any(name.endswith(("_flops", "_ops")) for name in file.values)
    if "n_sms" in values and (has_rates or path.parent == _DATA / "machines"):
        # a designer may change n_sms, but the published rates hold for the number in the file
        values["rated_sms"] = file.values.get("rated_sms", values["n_sms"])
    name = path.stem.lower()
    if kind == "machine" and path.parent == _DATA / "machines":
        values = {**fitted_values(name), **values}
    return Entry(name, file.title, kind, values, path, capability, declared, unknown, file.base)


def _extra(quantities: Mapping[str, Quantity]) -> tuple[Quantity, ...]:
    return () if quantities is TABLE else tuple(q for n, q in quantities.items() if n not in TABLE)


def machine(
    name: str, *, folder: PathBase = None, quantities: Mapping[str, Quantity] = TABLE
) -> Entry:
    """Load a machine by its name (``"gtx280"``, ``"cc8.0"``) or by the path of its file.

    Parameters:
        name (str): A name of :func:`machines`, the name of the product in any spelling (``"RTX
            3080"``), or a path that ends in ``.toml``.
        folder (Path or FileScope, optional): Folder of a relative path; default: the working
            directory.
        quantities (mapping of str to Quantity, optional): Quantities that the file may set;
            default: those that the shipped models share.

    >>> machine("gtx280").values["n_sms"].source
    'Hong 2012, Table 2'
    """
    return with_assumed_values(_load("machine", name, folder, _extra(quantities), ()))


def workload(
    name: str, *, folder: PathBase = None, quantities: Mapping[str, Quantity] = TABLE
) -> Entry:
    """Load a workload by its name (``"svm"``) or by the path of its file; see :func:`machine`.

    >>> workload("svm").values["coalesced_insts"].value
    819
    """
    return _load("workload", name, folder, _extra(quantities), ())


@dataclass(frozen=True, slots=True, repr=False)
class _Catalog(DisplayMixin, Mapping[str, Entry]):
    """Mapping of names to the entries of a kind, each loaded on access."""

    kind: str

    def __getitem__(self, name: str) -> Entry:
        if name not in self:
            raise unknown_entry_error(self.kind, str(name), self)
        entry = _load(self.kind, name, None, (), ())
        return with_assumed_values(entry) if self.kind == "machine" else entry

    def __iter__(self) -> Iterator[str]:
        yield from entry_paths(self.kind)
        if self.kind == "machine":
            yield from (f"cc{capability}" for capability in _limits())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(name.lower() == known for known in self)

    def _answer(self) -> Answer:
        rows = file_titles(self.kind)
        if self.kind == "machine":
            for name in machines():
                if name not in rows:
                    rows[name] = compute_capability(name.removeprefix("cc")).title
        data = {f"{self.kind}s": [{"name": key, "title": text} for key, text in rows.items()]}
        return names_answer(f"{self.kind.title()}s", rows, data)


def machines() -> Mapping[str, Entry]:
    """Return all machines by lower-case name: shipped, your own, and compute capabilities.

    >>> "gtx280" in machines(), "cc9.0" in machines()
    (True, True)
    """
    return _Catalog("machine")


def workloads() -> Mapping[str, Entry]:
    """Return all workloads by lower-case name: shipped and your own.

    >>> "blackscholes" in workloads()
    True
    """
    return _Catalog("workload")


@lru_cache(maxsize=1)
def _relatives() -> dict[str, Any]:
    return tomllib.loads((_DATA / "relatives.toml").read_text(encoding="utf-8"))


def with_assumed_values(entry: Entry) -> Entry:
    """Add values that a machine lacks but its nearest relatives have, as assumed values.

    >>> entry = machine("l4")
    >>> entry.values["l1_latency"].assumed
    'as l40 and rtx4090, ± 30 %: cycles of the core clock'
    """
    result: dict[str, Value] = {}
    for name, row in _relatives()["inputs"].items():
        if name in entry.values or not {*row.get("needs", ())} <= {*entry.values, *result}:
            continue
        if formula := row.get("formula"):
            result[name] = Value(value=formula, assumed=row["why"])
        elif known := _values_of_relatives(entry, name):
            here = entry_number(entry, row["scale"])
            scaled = [n * here / entry_number(one, row["scale"]) for one, n in known.items()]
            names, percent = " and ".join(one.name for one in known), f"{100 * row['spread']:.3g} %"
            result[name] = Value(
                value=sum(scaled) / len(scaled),
                assumed=f"as {names}, ± {percent}: {row['why']}",
                spread=row["spread"],
            )
    result |= {n: v for n, v in _fits_of_relative(entry).items() if n not in entry.values}
    if "bandwidth_share" not in entry.values:
        result |= _bandwidth_share(entry)
    if not result:
        return entry
    unknown = {name: why for name, why in entry.unknown.items() if name not in result}
    return replace(entry, values={**entry.values, **result}, unknown=unknown)


def _fits_of_relative(entry: Entry) -> Mapping[str, Value]:
    """Return the fitted values that a machine without measurements takes from a relative."""
    row = _relatives()["fits"].get(entry.name)
    if row is None:
        return {}
    relative = _load("machine", row["of"], None, (), ()).name
    return {
        name: replace(value, source="", assumed=f"as {relative} in {value.fit}: {row['why']}")
        for name, value in fitted_values(relative).items()
        if "_error_" not in name
    }


def _bandwidth_share(entry: Entry) -> dict[str, Value]:
    """Return the share of printed bandwidth that kernels attain with a machine's memory type."""
    for kind, row in _relatives()["memory"].items():
        if not {entry.name, entry.base} & {*row["machines"]}:
            continue
        share, spread, why = row["share"], row["spread"], f"as {kind}: {row['why']}"
        if row["triads"] and "triad_bandwidth" in entry.values:
            share = min(entry_number(entry, "triad_bandwidth / mem_bandwidth"), 1.0)
            spread, why = _TRIAD_SPREAD, f"that of a triad, which kernels attain on {kind}"
        text = f"± {100 * spread:.3g} %, {why}"
        return {"bandwidth_share": Value(value=share, assumed=text, spread=spread)}
    return {}


def _values_of_relatives(entry: Entry, quantity: str) -> dict[Entry, float]:
    """Return the values of a quantity for a machine's nearest relatives that have the quantity.

    If no relative has it, the relatives of the relatives are searched next. The nearest relative of
    a user's machine is its base. If the table of relatives names machines for the quantity
    (``of``), they are the relatives of all GPUs with caches, and other machines have none.
    """
    relatives, seen = _relatives()["relatives"], {entry.name}
    base = [] if entry.base.endswith(".toml") else [entry.base]
    nearest = [one for one in relatives.get(entry.name, base) if one]
    if of := _relatives()["inputs"][quantity].get("of"):
        levels = entry.values.get("cache_levels")
        nearest = of if "n_sms" in entry.values and levels and levels.value else []
    while nearest:
        seen |= {*nearest}
        entries = [_load("machine", each, None, (), ()) for each in dict.fromkeys(nearest)]
        known = [each for each in entries if quantity in each.values]
        if known:
            return {each: entry_number(each, quantity) for each in known}
        nearest = [each for one in nearest for each in relatives.get(one, ()) if each not in seen]
    return {}


@lru_cache
def shipped_values(quantity: str) -> tuple[float, ...]:
    """Return the values of a quantity on the shipped machines, without those that are assumed.

    >>> min(shipped_values("n_sms")), max(shipped_values("core_clock")) / 1e9
    (8.0, 2.617)
    """
    while isinstance(default := TABLE[quantity].default, str) and default in TABLE:
        quantity = default  # such as nominal_clock of core_clock
    result = []
    for name in _files_by_name("machine", frozenset()):
        entry = _load("machine", name, None, (), ())
        if quantity in entry.values:
            with suppress(KeyError):  # a formula in quantities that the file lacks
                result.append(entry_number(entry, quantity))
    return tuple(result)


def entry_number(entry: Entry, formula: str) -> float:
    """Return the number of a formula, given the quantities of a machine.

    >>> entry_number(machine("v100_pcie"), "n_sms * boost_clock")
    110400000000.0
    """
    from symbolic.expression import parse, parse_value
    from symbolic.ops import Node, interpret_arrays, references

    def number(name: str) -> float:
        value = entry.values[name].value
        if isinstance(value, str):
            parsed = parse_value(value, TABLE[name], TABLE)
            return float(compute(parsed)) if isinstance(parsed, Node) else float(parsed)
        return float(value)

    def compute(node: Node) -> Any:
        return interpret_arrays([node], {each: number(each) for each in references(node)})[0]

    return float(compute(parse(formula, TABLE)))


def normalized_name(name: str) -> str:
    """Return a name without maker, signs, spaces and capitals: ``rtx3080``, ``a100sxm480gb``."""
    return re.sub(r"[^a-z0-9]", "", _MAKERS.sub("", name.lower().replace("_", " ")))


def exact_matches(name: str, titles: Mapping[str, str]) -> list[str]:
    """Return the machines whose normalized name or title is equal to a name."""
    plain = normalized_name(name)
    return [key for key, title in titles.items() if plain and plain in _spellings(key, title)]


def _spellings(key: str, title: str) -> set[str]:
    whole = {normalized_name(key), normalized_name(title), normalized_name(title.partition(",")[0])}
    return whole | {form.removeprefix("rtx").removeprefix("gtx") for form in whole}


def prefix_matches(name: str, titles: Mapping[str, str]) -> list[str]:
    """Return the machines whose name or title begins with a name: ``h100`` matches ``h100_sxm``."""
    plain = normalized_name(name)
    matches = []
    for key, title in titles.items():
        starts = (form for form in _spellings(key, title) if form.startswith(plain))
        # a prefix may not end within a number: "h100" does not match "h1000"
        if plain and any(not (plain[-1:] + form[len(plain) :][:1]).isdigit() for form in starts):
            matches.append(key)
    return matches


@lru_cache(maxsize=1)
def _product_capabilities() -> dict[str, str]:
    tree = tomllib.loads((_DATA / "products.toml").read_text(encoding="utf-8"))
    return {
        form: capability
        for capability, names in tree.items()
        for name in names.split(",")
        for form in _spellings(name, name)
    }


def product_capability(name: str) -> str:
    """Return the compute capability of an NVIDIA product; ``""`` if unknown."""
    return _product_capabilities().get(normalized_name(name), "")


def parse_capability(name: str) -> str:
    """Return the compute capability in a name such as ``sm_80``; ``""`` if it has none."""
    match = re.fullmatch(r"(?:cc ?(\d+)\.(\d)|(?:cc|sm|compute) ?_?(\d+)(\d)[af]?)", name.lower())
    return ".".join(part for part in match.groups() if part) if match else ""


def unavailable_models(entry: Entry) -> dict[str, tuple[str, ...]]:
    """Return the models that lack values of a machine, each with the missing inputs.

    Inputs with a default, and those that the workload or the programmer supplies, do not count as
    missing. Unknown inputs of the machine's formulas are missing.
    """
    missing = {}
    known = models()
    for name in known:
        try:
            model = known[name]
        except DseError:  # a user's model that cannot be loaded: dse models says why
            continue
        needed = model.needs(*model.outputs)
        lacking = dict.fromkeys(x for need in needed for x in _missing_inputs(need, entry, model))
        if lacking:
            missing[name] = tuple(lacking)
    return missing


def formula_inputs(name: str, value: object) -> tuple[str, ...]:
    """Return the quantities in a formula; an empty tuple for a number."""
    from symbolic.expression import parse_value
    from symbolic.ops import Node, references

    if not isinstance(value, str) or name not in TABLE or TABLE[name].is_label:
        return ()
    parsed = parse_value(value, TABLE[name], TABLE)
    return tuple(references(parsed)) if isinstance(parsed, Node) else ()


def _missing_inputs(
    name: str, entry: Entry, model: Model, visited: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield the unknown inputs of a quantity, followed through its formula or default."""
    if name in visited or (name in model.yields and visited):
        return
    row, given = model.quantity(name), entry.values.get(name)
    value = row.default if given is None else given.value
    if value is None and row.lever == "designer":
        yield name
    for each in formula_inputs(name, value):
        yield from _missing_inputs(each, entry, model, (*visited, name))


# --- Numbers of machines that were fitted to measured times: dse/data/fits/MODEL-MACHINE.fit.json,
# in the format of dse fit --save
@cache  # the shipped files do not change while a process runs
def fitted_values(machine: str) -> Mapping[str, Value]:
    """Return the values of the shipped fits of a machine; empty if it has none.

    >>> fitted_values("h100_sxm")["gemm_start_time"].fit
    'gemm-h100_sxm.fit.json'
    """
    return dict(_iterate_fitted(machine))


def _iterate_fitted(machine: str) -> Iterator[tuple[str, Value]]:
    for path in sorted((_DATA / "fits").glob(f"*-{machine}.fit.json")):
        tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = tree["rows"]
        source = (
            f"fitted: {tree['model']} to {', '.join(tree['to'])} of {rows['used']:,} rows of "
            f"{rows['data']}, in {path.name}"
        )
        named = {**tree["set"], **dict(zip(tree["names"], tree["values"], strict=True))}
        for name, value in named.items():
            if not isinstance(value, str):
                yield name, Value(value=value, source=source, fit=path.name)
