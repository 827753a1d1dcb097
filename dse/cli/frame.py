"""The frame of the command line: inputs and shared options."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dse.cli import completing
from dse.cli.ends import Misused, reading
from dse.cli.named import Source, StudyFile

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.best import Best
    from dse.study.comparison import ComparisonData
    from dse.study.data import StudyData
    from sweeps.runtime.progress import Progress

__all__ = [
    "asked",
    "example",
    "expanding",
    "from_store",
    "from_study",
    "from_study_or_store",
    "goals",
    "in_json",
    "kinds",
    "listed",
    "listening",
    "pairs",
    "picture",
    "put",
    "question",
    "read_models",
    "read_source",
    "read_study",
    "telling",
    "warned",
    "where",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_PICTURES = (".png", ".pdf", ".svg")


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
        return click.confirm(f"{what}. Run it?", err=True)

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
        if text in told:
            continue
        click.echo(f"warning: {text}", err=True)
    return study


def where(text: str) -> Callable[[_F], _F]:
    """The option --where; limits without a unit are told with theirs."""

    def told(_ctx: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> Any:
        if texts:
            from dse.cautions import bare_limits
            from symbolic.quantities import TABLE

            for limit in bare_limits(texts, TABLE):
                click.echo(f"warning: {limit}", err=True)
        return texts

    return click.option("--where", multiple=True, metavar="CONDITION", callback=told, help=text)


def read_source(path: str) -> StudyData | xr.Dataset:
    """The study of a file that ends in .toml, else a dataset: stored, measured, or of models."""
    if Path(path).suffix == ".toml":
        from dse.study.data import StudyData
        from dse.verbs.running import run

        study = _from_file(path)
        return study if isinstance(study, StudyData) else run(study)
    from dse.files import open as opened

    with reading():
        return opened(path)


def read_models(path: str) -> tuple[xr.Dataset, dict[str, Any]]:
    """The dataset of several models, and what its study file asks under [best]."""
    from dse.study.data import StudyData
    from dse.verbs.running import run

    if Path(path).suffix != ".toml":
        return read_source(path), {}  # type: ignore[return-value]
    read = _from_file(path)
    if isinstance(read, StudyData):
        raise Misused(f"{path} names one model: expected a list, model = [..., ...]")
    first = next(iter(read.each.values()))
    return run(read), dict(first.best or {})


def listed(texts: Sequence[str]) -> list[str]:
    """Names or formulas, given one by one or with commas between them (not within brackets)."""
    found = []
    for text in texts:
        depth, piece = 0, ""
        for letter in text + ",":
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth <= 0:
                found.append(piece.strip())
                piece = ""
            else:
                piece += letter
        found += [piece.strip()] if piece.strip() else []
    if "" in found:
        raise click.UsageError(f"{' '.join(texts)!r} has an empty place between commas")
    return found


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """What an option gives as NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise click.UsageError(f"--{option} {text!r}: expected QUANTITY=VALUE")
        if name.strip() in found:
            raise click.UsageError(f"--{option} gives {name.strip()} twice")
        found[name.strip()] = value.strip()
    return found


def picture(path: Path, option: str) -> None:
    """Refuse what cannot become a picture, before any work."""
    if path.suffix.lower() not in _PICTURES or not path.parent.is_dir():
        raise click.UsageError(
            f"{option} {path}: expected the name of a file that ends in {', '.join(_PICTURES)}, in "
            "a folder that exists"
        )


def put(as_json: bool, data: Any, text: Callable[[], str]) -> None:
    """Print data as JSON, or as its text."""
    from dse.cli.text import to_json

    click.echo(to_json(data) if as_json else text())


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


telling = click.option(
    "--progress",
    type=click.Choice(["auto", "json", "none"]),
    default="auto",
    help="On standard error: for people, as JSON lines for logs, or none. [auto]",
)
in_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
from_study = click.argument("study", type=StudyFile(exists=True, dir_okay=False, readable=True))
from_store = click.argument("store", type=Source(exists=True))
from_study_or_store = click.argument("source", metavar="STUDY_OR_STORE", type=Source(exists=True))
expanding = click.option("--expand", is_flag=True, help="Store every output over all axes.")


def goals(several: bool) -> Callable[[_F], _F]:
    """The options --minimize, --maximize and --where."""

    def add(function: _F) -> _F:
        what = "Quantities or formulas, with commas between"
        what = what if several else "Quantity or formula, or several, the most important first"
        for name in ("maximize", "minimize"):
            text = f"{what}, to make as {'small' if name == 'minimize' else 'large'} as can be."
            option = click.option(
                f"--{name}",
                multiple=True,
                metavar="Q",
                shell_complete=completing.quantities,
                help=text,
            )
            function = option(function)
        return where('Constraint, such as "time <= 10 ms"; may be repeated.')(function)

    return add


def kinds(function: _F) -> _F:
    """The options --per and --top."""
    per = click.option("--per", multiple=True, metavar="AXIS,...", help="A winner for each value.")
    top = click.option("--top", type=click.IntRange(min=1), help="How many, best first. [1]")
    return per(top(function))


def example(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def asked(
    minimize: Sequence[str],
    maximize: Sequence[str],
    per: Sequence[str],
    where: Sequence[str],
    top: int | None,
) -> dict[str, Any]:
    """The question of the options, in the form of a study's ``[best]``."""
    found: dict[str, Any] = {}
    for name, texts in (("minimize", minimize), ("maximize", maximize)):
        parts = listed(texts)
        found |= {name: parts if len(parts) > 1 else parts[0]} if parts else {}
    given = {"per": listed(per), "where": list(where), "top": top}
    return found | {key: value for key, value in given.items() if value}


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
