"""Options of the command line, each read into what the verbs take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dse.cli import completing
from dse.cli.named import Source, StudyFile
from dse.cli.output import echo

#: What adds an option or an argument to the function of a command.
Adds = Callable[[Any], Any]
_PICTURES = (".png", ".pdf", ".svg")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that somebody gave: of all others the defaults of the verb hold."""
    return {name: value for name, value in options.items() if value not in (None, [], {}, ())}


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
            raise click.UsageError(f"{option} {text!r}: expected QUANTITY=VALUE")
        if name.strip() in found:
            raise click.UsageError(f"{option} gives {name.strip()} twice")
        found[name.strip()] = value.strip()
    return found


def names(*flags: str, read: Callable[[list[str]], Any] = list, **about: Any) -> Adds:
    """An option of several names or formulas: repeatable, and with commas between them."""

    def told(_ctx: click.Context, _option: click.Parameter, texts: Sequence[str]) -> Any:
        return read(listed(texts))

    more: dict[str, Any] = {"multiple": True, "metavar": "Q,...", "callback": told}
    return click.option(*flags, **more | about)


def values(*flags: str, commas: bool = False, **about: Any) -> Adds:
    """An option of names with a value each: repeatable, with commas between them if need be."""

    def told(_ctx: click.Context, _option: click.Parameter, texts: Sequence[str]) -> Any:
        return pairs(listed(texts) if commas else texts, flags[0])

    more: dict[str, Any] = {"multiple": True, "callback": told}
    return click.option(*flags, **more | about)


def where(text: str) -> Adds:
    """The option --where; limits without a unit are told with theirs."""

    def told(_ctx: click.Context, _option: click.Parameter, texts: Sequence[str]) -> Any:
        if texts:
            from dse.cautions import bare_limits
            from symbolic.quantities import TABLE

            for limit in bare_limits(texts, TABLE):
                echo(f"warning: {limit}", err=True)
        return list(texts)

    return click.option("--where", multiple=True, metavar="CONDITION", callback=told, help=text)


def picture(path: Path, option: str) -> None:
    """Refuse what cannot become a picture, before any work."""
    if path.suffix.lower() not in _PICTURES or not path.parent.is_dir():
        raise click.UsageError(
            f"{option} {path}: expected the name of a file that ends in {', '.join(_PICTURES)}, in "
            "a folder that exists"
        )


def drawn(flag: str, **about: Any) -> Adds:
    """An option of a file that becomes a picture."""

    def told(_ctx: click.Context, _option: click.Parameter, text: str | None) -> Path | None:
        if text is None:
            return None
        picture(Path(text), flag)
        return Path(text)

    return click.option(
        flag, metavar="OUT.png|.svg|.pdf", type=click.Path(), callback=told, **about
    )


telling = click.option(
    "--progress",
    type=click.Choice(["auto", "json", "none"]),
    default="auto",
    help="On standard error: for people, as JSON lines for logs, or none. [auto]",
)
from_study = click.argument("study", type=StudyFile(exists=True, dir_okay=False, readable=True))
from_store = click.argument("store", type=Source(exists=True))
from_study_or_store = click.argument("source", metavar="STUDY_OR_STORE", type=Source(exists=True))
expanding = click.option("--expand", is_flag=True, help="Store every output over all axes.")
of_study = click.option(
    "--study",
    type=click.Path(exists=True, dir_okay=False),
    help="The study file, where the store alone does not tell its study.",
)
at_point = click.argument(
    "point", metavar="[NAME=VALUE]...", nargs=-1, shell_complete=completing.point
)
setting = values("--set", metavar="Q=VALUE", help="A value; may be repeated.")


def entries(function: Any) -> Any:
    """The options --machine and --workload."""
    for name in ("workload", "machine"):
        text = f"A {name}, or the path of its file: its values are used where none is given."
        complete = getattr(completing, f"{name}s")
        option = click.option(f"--{name}", metavar="NAME", shell_complete=complete, help=text)
        function = option(function)
    return function


def goals(several: bool) -> Adds:
    """The options --minimize, --maximize and --where."""

    def add(function: Any) -> Any:
        what = "Quantities or formulas, with commas between"
        what = what if several else "Quantity or formula, or several, the most important first"
        for name in ("maximize", "minimize"):
            text = f"{what}, to make as {'small' if name == 'minimize' else 'large'} as can be."
            complete = completing.quantities
            option = names(f"--{name}", metavar="Q", shell_complete=complete, help=text)
            function = option(function)
        return where('Constraint, such as "time <= 10 ms"; may be repeated.')(function)

    return add


def kinds(function: Any) -> Any:
    """The options --per and --top."""
    per = names("--per", metavar="AXIS,...", help="A winner for each value.")
    top = click.option("--top", type=click.IntRange(min=1), help="How many, best first. [1]")
    return per(top(function))


def time_limit(text: str) -> Adds:
    """The option --time-limit, in seconds."""
    return click.option("--time-limit", type=click.FloatRange(min=0), metavar="S", help=text)
