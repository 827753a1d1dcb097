"""Statistics and random inputs crossed with every use of a study and its store.

    python -m tests.dse.crossing 1

Tries every pair (with 5 every fifth): it works, and gives what a run in memory gives, or it is
refused in words.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr
from click.testing import CliRunner

import dse
from dse import DseError, Study
from dse.cli import main as command
from dse.toml_text import toml_key, toml_value

Spec = dict[str, Any]
Use = Callable[[Spec], object]

_AXES = {"threads": [256, 512], "mem_latency": [400, 500]}
_RATE = {"lanes_width": 32, "ms_peak": 1}


def _plain(*outputs: str, **more: Any) -> Spec:
    """A study of which nothing is random."""
    given = {"axes": _AXES, "set": {"intensity": 10, **_RATE}}
    return {"model": "transit", **given, "outputs": [*outputs], **more}


def _random(*outputs: str, law: str = "normal: 450 cycles, 5 %", **more: Any) -> Spec:
    """A study whose latency is random."""
    random = {"mem_latency": law, "draws": 64}
    axes = {"threads": [256, 512], "intensity": [5, 10]}
    given = {"axes": axes, "set": _RATE, "random": random}
    return {"model": "transit", **given, "outputs": [*outputs], **more}


_WEIGHED = {"threads": {"values": [256, 512], "weights": [0.7, 0.3]}, "mem_latency": [400, 500]}
STUDIES: dict[str, Spec] = {
    "no statistic": _plain("ms_throughput"),
    "over an axis": _plain("mean(ms_throughput, threads)"),
    "over an axis, and plain": _plain("ms_throughput", "mean(ms_throughput, threads)"),
    "over all axes": _plain("mean(ms_throughput, threads, mem_latency)"),
    "of a statistic": _plain("worst_low(mean(ms_throughput, threads), mem_latency)"),
    "over weights": _plain("quantile(ms_throughput, 0.5, threads)", axes=_WEIGHED),
    "in a constraint": _plain("ms_throughput", where=["mean(ms_throughput, threads) < 0.9"]),
    "of a quotient": _plain("mean(ms_throughput/threads, threads)"),
    "over a switch": _plain(
        "ms_throughput",
        "mean(ms_throughput, threads)",
        axes={**_AXES, "supply": ["sharp", "smooth"]},
    ),
    "random": _random("cs_throughput"),
    "random, of what is not": _random("computation_limit"),
    "random, a quantile": _random("quantile(cs_throughput, 0.9)", "cs_throughput"),
    "random, over an axis": _random("mean(mean(cs_throughput), threads)"),
    "random, an error": _random("error(quantile(cs_throughput, 0.9))"),
    "random, in a constraint": _random(
        "mean(cs_throughput)", where=["chance(cs_throughput >= 5) >= 0.1"]
    ),
    "random, enumerated": _random(
        "cs_throughput", "cvar(cs_throughput, 0.9)", law="discrete: 400: 0.5, 500: 0.5"
    ),
    "random, the chance of a case": _random("chance(bound == 'thread')"),
}


def _same(answer: xr.Dataset, expected: xr.Dataset) -> None:
    """Raise where two Datasets differ in a value."""
    names = [*map(str, answer.variables)], [*map(str, expected.variables)]
    if sorted(names[0]) != sorted(names[1]) or not answer.load().equals(expected):
        raise AssertionError(f"a Dataset of {names[0]} differs from that of a run, {names[1]}")


def _output(spec: Spec) -> str:
    return str(spec["outputs"][0])


def _with_axis(spec: Spec, number: int) -> Spec:
    """The study with more values of an axis, in between or behind."""
    name = list(spec["axes"])[number]
    values = spec["axes"][name]
    if isinstance(values, dict):
        return spec | {
            "axes": spec["axes"] | {name: {"values": [256, 384, 512], "weights": [0.5, 0.2, 0.3]}}
        }
    more = [values[0], (values[0] + values[1]) // 2, values[1]]
    return spec | {"axes": spec["axes"] | {name: [*values, 2 * values[-1]] if number else more}}


def _toml(spec: Spec) -> None:
    """Write the study file."""
    tables = {key: value for key, value in spec.items() if isinstance(value, dict)}
    lines = [f"{key} = {toml_value(spec[key])}" for key in spec if key not in tables]
    for key, table in tables.items():
        lines += [f"[{key}]", *(f"{toml_key(k)} = {toml_value(v)}" for k, v in table.items())]
    Path("s.toml").write_text("\n".join(lines) + "\n")


def _invoke(*arguments: str) -> None:
    """Run a command; what it refuses is raised."""
    done = CliRunner().invoke(command, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code:
        raise DseError(done.output)


def _cli(text: str) -> Use:
    """The use of a study by a command; OUT stands for its first output."""

    def use(spec: Spec) -> None:
        _toml(spec)
        _invoke(*(word.replace("OUT", _output(spec)) for word in text.split()))

    return use


def _cli_of_store(text: str) -> Use:
    """The use of a store by a command; OUT stands for its first output."""

    def use(spec: Spec) -> None:
        Study(**spec).run(store="s.zarr")
        with dse.open("s.zarr") as ds:
            first = next(str(name) for name in ds.data_vars if name != "feasible")
        _invoke(*(word.replace("OUT", first) for word in text.split()))

    return use


def _export(ending: str, *, of_store: bool) -> Use:
    def use(spec: Spec) -> None:
        study = Study(**spec)
        if of_store:
            study.run(store="s.zarr")
            _invoke("export", "s.zarr", f"out{ending}")
        else:
            dse.export(study.run(), f"out{ending}")
        with dse.open(f"out{ending}") as result:
            _same(result, study.run())

    return use


def _extend(number: int) -> Use:
    def use(spec: Spec) -> None:
        Study(**spec).run(store="s.zarr")
        larger = Study(**_with_axis(spec, number))
        _same(larger.run(store="s.zarr", extend=True), larger.run())

    return use


def _add(name: str) -> Use:
    def use(spec: Spec) -> None:
        study = Study(**spec)
        study.run(store="s.zarr")
        _same(dse.add("s.zarr", name), replace(study, outputs=[*spec["outputs"], name]).run())

    return use


def _derive(name: str) -> Use:
    def use(spec: Spec) -> None:
        study = Study(**spec)
        study.run(store="s.zarr")
        with dse.open("s.zarr", add=name) as result:
            _same(result, replace(study, outputs=[*spec["outputs"], name]).run())

    return use


def _store(spec: Spec) -> None:
    study = Study(**spec)
    for more in ({}, {}, {"fresh": True}):
        _same(study.run(store="s.zarr", **more), study.run())


_STATISTIC, _OF_DRAWS = "worst_low(ms_throughput, threads)", "quantile(ms_throughput, 0.75)"
USES: dict[str, Use] = {
    "run": lambda spec: Study(**spec).run(),
    "run expanded": lambda spec: Study(**spec).run(expand=True),
    "explain": lambda spec: Study(**spec).explain(threads=256),
    "store": _store,
    "extend the first axis": _extend(0),
    "extend the second axis": _extend(1),
    **{f"add {name}": _add(name) for name in ("thread_limit", _STATISTIC, _OF_DRAWS)},
    **{f"derive {name}": _derive(name) for name in ("thread_limit", _STATISTIC, _OF_DRAWS)},
    **{f"export {e}": _export(e, of_store=False) for e in (".csv", ".nc", ".parquet", ".zarr")},
    **{f"export {e} of a store": _export(e, of_store=True) for e in (".csv", ".nc", ".zarr")},
    **{
        text: _cli(text)
        for text in (
            *("plan s.toml", "run s.toml", "explain s.toml", "explain s.toml threads=512"),
            *("advise s.toml", "explore s.toml --out o.html", "law s.toml OUT --at threads=256"),
            *(f"plot {kind} s.toml --quantity OUT --out o.png" for kind in ("lines", "bars")),
            *(f"plot {kind} s.toml --quantity OUT --out o.png" for kind in ("heatmap", "tornado")),
            "plot fan s.toml --quantity OUT --out o.png",
            *(f"plot {kind} s.toml --minimize OUT --out o.png" for kind in ("parallel", "pareto")),
            *("optimum s.toml --minimize OUT", "pareto s.toml --minimize OUT,-threads"),
            "optimum s.toml --minimize OUT --method certified",
            *("histogram s.toml --output OUT", "quantiles s.toml --output OUT"),
            *("sensitivity s.toml --output OUT", "information s.toml --minimize OUT"),
            *("chances s.toml --minimize OUT", "borders s.toml --along threads"),
            "ranges s.toml --minimize OUT --within lanes_width=5%",
        )
    },
    **{
        text: _cli_of_store(text)
        for text in (
            *("verify s.zarr", "explore s.zarr --out o.html", "optimum s.zarr --minimize OUT"),
            "plot lines s.zarr --quantity OUT --out o.png",
            *("pareto s.zarr --minimize OUT,-threads", "histogram s.zarr --output OUT"),
            *("quantiles s.zarr --output OUT", "sensitivity s.zarr --output OUT"),
        )
    },
}


def run_pair(use: str, study: str) -> str:
    """Say how one pair ends: "works", "refused: ..." or what is wrong."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            USES[use](STUDIES[study])
        except DseError as error:
            return f"refused: {error}"
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error} ({Path(at.filename).name}, line {at.lineno})"
        finally:
            os.chdir(here)
    return "works"


def main(step: int) -> int:
    """Try every pair, or one of so many; the exit status."""
    ends = {"works": 0, "refused": 0}
    wrong = 0
    for use, study in itertools.islice(itertools.product(USES, STUDIES), 0, None, step):
        end = run_pair(use, study)
        kind = end.split(":")[0]
        if kind in ends:
            ends[kind] += 1
        else:
            wrong += 1
            print(f"{use} x {study}: {end}", flush=True)
    print(f"{ends['works']} pairs work, {ends['refused']} are refused in words, {wrong} are wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int((*sys.argv[1:], "1")[0])))
