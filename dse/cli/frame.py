"""The frame of a command: what it reads, what it is asked, and how it tells its answer."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.ends import Misused, reading
from dse.cli.options import given
from dse.cli.output import echo
from symbolic.plain_text import without_controls

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.best import Best
    from dse.study.comparison import ComparisonData
    from dse.study.data import StudyData
    from sweeps.runtime.progress import Progress

__all__ = [
    "asked",
    "assumed",
    "assumed_of_rows",
    "command",
    "listening",
    "question",
    "read_models",
    "read_source",
    "read_study",
    "read_values",
    "to_json",
    "warned",
]


def command(
    *examples: str,
    name: str | None = None,
    before: str = "",
    kind: type[click.Command] = click.Command,
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with examples at the end of its help, ``before`` them a text, and --json.

    Its function returns data and a text of it, or what makes one; nothing where it prints nothing.
    """
    told = f"{before}\b\nExample:\n" + "\n".join(f"  {line}" for line in examples)

    def made(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def printed(*args: Any, as_json: bool, **options: Any) -> None:
            answer = function(*args, **options)
            if answer is None:
                return
            data, text = answer
            echo(to_json(data) if as_json else text() if callable(text) else str(text))

        found: click.Command = click.command(name, cls=kind, epilog=told)(printed)
        help_of_json = "Print one JSON document."
        found.params.append(click.Option(["--json", "as_json"], is_flag=True, help=help_of_json))
        return found

    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy: an array, or one number
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


def to_json(value: Any) -> str:
    """One valid JSON document: NaN is null, infinity the text "inf".

    >>> import numpy as np
    >>> to_json({"a": float("nan"), "b": [np.int8(1), -np.inf]}).split()
    ['{', '"a":', 'null,', '"b":', '[', '1,', '"-inf"', ']', '}']
    """
    import json

    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)


def _someone() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _from_file(path: str) -> StudyData | ComparisonData:
    """The study of a file; a model file that lies elsewhere is run if a person says so."""
    from dse.study_file import is_near
    from dse.verbs.sources import read_file

    folder = Path(path).resolve().parent

    def allow(file: Path) -> bool:
        if is_near(file, folder):
            return True
        what = f"{path} runs the Python file {str(file)!r}, outside its folder and DSE_PATH"
        if not _someone():
            raise Misused(
                f"{what}, and nobody is there to be asked: read it (dse plan --no-code tells what "
                f"it is), then allow its folder: DSE_PATH={shlex.quote(str(file.parent))}"
            )
        return click.confirm(without_controls(f"{what}. Run it?"), err=True)

    with reading():
        return read_file(path, allow)


def read_study(path: str) -> StudyData:
    """The study of a file."""
    from dse.study.data import StudyData

    study = _from_file(path)
    if not isinstance(study, StudyData):
        raise Misused(
            f"{path} compares several models: ask dse disagreement, dse optimum or dse pareto "
            "(dse disagreement --store OUT.zarr keeps the dataset), or name one model"
        )
    return warned(study)


def warned(study: StudyData, known: StudyData | None = None) -> StudyData:
    """The study; numbers in it that look like those of another unit are told, unless known."""
    from dse.cautions import odd_numbers

    told = odd_numbers(known) if known is not None else ()
    for text in odd_numbers(study):
        if text not in told:
            echo(f"warning: {text}", err=True)
    return study


def read_source(path: str) -> StudyData | xr.Dataset:
    """Return the study of a file that ends in .toml or of a store, else a dataset.

    That is measured, of models compared, or a store whose model is not at hand.
    """
    from dse.verbs.query import resolve_source

    return _read(path, resolve_source)


def read_values(path: str) -> StudyData | xr.Dataset:
    """As :func:`read_source`; but of a store, its dataset."""
    from dse.verbs.query import resolve_values

    return _read(path, resolve_values)


def _read(path: str, resolve: Callable[[str], StudyData | xr.Dataset]) -> StudyData | xr.Dataset:
    from dse.study.data import StudyData
    from dse.verbs.running import run

    if Path(path).suffix == ".toml":
        study = _from_file(path)
        return study if isinstance(study, StudyData) else run(study)
    with reading():
        found = resolve(path)
        return found if isinstance(found, StudyData) else assumed(found)


def assumed(ds: xr.Dataset) -> xr.Dataset:
    """Return a Dataset; print what was assumed when it was read from a file of somebody else."""
    from json import loads

    if "statuses" in ds.attrs:  # measured
        _say_assumptions(loads(ds.attrs.get("assumptions", "[]")))
    return ds


def assumed_of_rows(path: str) -> None:
    """Print what a fit assumes when it reads a table of text."""
    from dse.fitting.columns import read_table

    if path.lower().endswith(".csv") and Path(path).is_file():
        with reading():
            _say_assumptions(read_table(path).assumptions)


def _say_assumptions(texts: Iterable[str]) -> None:
    from stochastic.delimited import USUAL

    for text in texts:
        if text != USUAL:
            click.echo(f"assumed: {text}", err=True)


def read_models(path: str) -> tuple[xr.Dataset, dict[str, Any]]:
    """The dataset of several models, and what its study file asks under [best]."""
    from dse.study.data import StudyData
    from dse.verbs.running import run

    if Path(path).suffix != ".toml":
        return read_values(path), {}  # type: ignore[return-value]
    read = _from_file(path)
    if isinstance(read, StudyData):
        raise Misused(f"{path} names one model: expected a list, model = [..., ...]")
    first = next(iter(read.each.values()))
    return run(read), dict(first.best or {})


@contextmanager
def listening(
    how: str, looked_for: tuple[str, str] | None = None
) -> Iterator[Callable[[Progress], None] | bool]:
    """The listener of a run that --progress asks for."""
    from dse.progress import Lines, Meter

    if how == "none":
        yield False
        return
    listener = (Lines if how == "json" else Meter)(looked_for)
    try:
        yield listener
    finally:
        listener.close()


def asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The question of the options, in the form of a study's ``[best]``."""
    names = ("minimize", "maximize", "per", "where", "top")
    found = given({name: options.get(name) for name in names})
    alone = {name: found[name][0] for name in names[:2] if len(found.get(name, ())) == 1}
    return found | alone


def question(given: Mapping[str, Any], filed: Mapping[str, Any] | None) -> Best | None:
    """What the options ask; where they name no objective, they refine the study file's question."""
    from dse.study.best import read_best

    if "minimize" in given or "maximize" in given:
        return read_best(given, origin="the question")
    if filed is not None:
        return read_best({**filed, **given}, origin="the question")
    if given:
        raise click.UsageError(
            f"--{next(iter(given))} needs an objective: give --minimize or --maximize a quantity, "
            "or the study a table [best]"
        )
    return None
