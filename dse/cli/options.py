"""Options of the command line, each read into what the verbs take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dse
from symbolic.plain_text import without_controls
from symbolic.reach import Base, Reach

#: What adds an option or an argument to the function of a command.
Adds = Callable[[Any], Any]
#: How a range of an axis begins; labels such as geometric:0.05 are none.
_RANGE = re.compile(r"\s*[-+.\d][^:,]*:[^,]+")
_PICTURES = (".png", ".pdf", ".svg")


def echo(text: str, *, err: bool = False) -> None:
    """Print text, to standard error with ``err``; what steers a terminal is shown by its code."""
    click.echo(without_controls(text), err=err)


# --- what a shell proposes as names
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _proposing(names: Callable[[], Iterable[str]], *files: str) -> _Complete:
    """Return what proposes names, of a list or sum for its last part, and files if no name fits."""

    def complete(_ctx: Any, _parameter: Any, begun: str) -> list[CompletionItem]:
        try:
            known = sorted(names())
        except Exception:  # a shell must not be shown an error while somebody types
            return []
        cut = max(begun.rfind(","), begun.rfind("+"), begun.rfind(" ")) + 1
        before, last = begun[:cut], begun[cut:]
        found = [CompletionItem(before + name) for name in known if name.startswith(last)]
        if found or not files:
            return found
        folder = Path(begun).parent
        paths = sorted(folder.glob(Path(begun).name + "*")) if folder.is_dir() else []
        return [CompletionItem(str(p)) for p in paths if p.suffix in files or p.is_dir()]

    return complete


def _quantities() -> Iterable[str]:
    from symbolic.quantities import TABLE

    return TABLE


complete_model = _proposing(lambda: dse.models(), ".py")
complete_machine = _proposing(lambda: dse.machines(), ".toml")
complete_workload = _proposing(lambda: dse.workloads(), ".toml")
complete_quantity = _proposing(_quantities)
_ENTRIES = {"machine": complete_machine, "workload": complete_workload}


def complete_point(
    ctx: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Propose for ``NAME=VALUE`` the names of quantities, or of machines and workloads."""
    name, given, value = begun.partition("=")
    if not given:
        rows = complete_quantity(ctx, parameter, name)
        kinds = [CompletionItem(kind) for kind in _ENTRIES if kind.startswith(name)]
        return [CompletionItem(f"{row.value}=") for row in [*kinds, *rows]]
    rows = _ENTRIES[name](ctx, parameter, value) if name in _ENTRIES else []
    return [CompletionItem(f"{name}={row.value}") for row in rows]


# --- the options
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


def reads(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return the callback of an option whose words a function reads."""
    return lambda _ctx, _option, words: read(words)


def names(*flags: str, read: Callable[[list[str]], Any] = list, **about: Any) -> Adds:
    """An option of several names or formulas: repeatable, and with commas between them."""
    more: dict[str, Any] = {"multiple": True, "metavar": "Q,..."}
    return click.option(*flags, callback=reads(lambda texts: read(listed(texts))), **more | about)


def values(
    *flags: str, commas: bool = False, read: Callable[[dict[str, str]], Any] = dict, **about: Any
) -> Adds:
    """An option of names with a value each: repeatable, with commas between them if need be."""

    def told(texts: Sequence[str]) -> Any:
        return read(pairs(listed(texts) if commas else texts, flags[0]))

    return click.option(*flags, multiple=True, callback=reads(told), **about)


def choice(flag: str, *words: str, help: str) -> Adds:  # noqa: A002
    """An option that is one of some words; the first where it is not given."""
    return click.option(flag, default=words[0], type=click.Choice(words), help=help)


def file(flag: str, metavar: str | None, help: str, *, exists: bool = False) -> Adds:  # noqa: A002
    """An option that is the path of a file."""
    kind = click.Path(exists=exists, dir_okay=False)
    return click.option(flag, metavar=metavar, type=kind, help=help)


def where(text: str) -> Adds:
    """The option --where; limits without a unit are told with theirs."""

    def told(texts: Sequence[str]) -> list[str]:
        if texts:
            from dse.study.plan import bare_limits
            from symbolic.quantities import TABLE

            for limit in bare_limits(texts, TABLE):
                echo(f"warning: {limit}", err=True)
        return list(texts)

    return click.option(
        "--where", multiple=True, metavar="CONDITION", callback=reads(told), help=text
    )


def picture(text: str | None, option: str) -> Path | None:
    """Return the path of a picture; refuse what cannot become one, before any work."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() not in _PICTURES or not path.parent.is_dir():
        raise click.UsageError(
            f"{option} {path}: expected the name of a file that ends in {', '.join(_PICTURES)}, in "
            "a folder that exists"
        )
    return path


def drawn(flag: str, **about: Any) -> Adds:
    """An option of a file that becomes a picture."""
    more: dict[str, Any] = {"metavar": "OUT.png|.svg|.pdf", "type": click.Path()}
    return click.option(flag, callback=reads(lambda text: picture(text, flag)), **more | about)


def examples() -> dict[str, Path]:
    """The shipped studies that run no file beside them, by name."""
    inside, beside = (Path(dse.__file__).parents[k] / "examples" for k in (0, 1))
    found = sorted((inside if inside.is_dir() else beside).glob("*.toml"))
    return {path.stem: path for path in found if ".py" not in path.read_text(encoding="utf-8")}


class StudyFile(click.Path):
    """The path of a file; or the name of a shipped study, where no file is called so."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        plain = isinstance(value, str) and value.replace("-", "").isalnum()
        if plain and not Path(value).exists() and value in examples():
            value = str(examples()[value])
        return super().convert(value, param, ctx)


class Source(StudyFile):
    """The path of something that exists, a shipped study, or a URL."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


_HOW = "On standard error: for people, as JSON lines for logs, or none. [auto]"
telling = choice("--progress", "auto", "json", "none", help=_HOW)
from_study = click.argument("study", type=StudyFile(exists=True, dir_okay=False, readable=True))
from_store = click.argument("store", type=Source(exists=True))
from_study_or_store = click.argument("source", metavar="STUDY_OR_STORE", type=Source(exists=True))
expanding = click.option("--expand", is_flag=True, help="Store every output over all axes.")
_OF_STUDY = "The study file, where the store alone does not tell its study."
of_study = file("--study", None, _OF_STUDY, exists=True)
at_point = click.argument(
    "point", metavar="[NAME=VALUE]...", nargs=-1, shell_complete=complete_point
)
setting = values("--set", metavar="Q=VALUE", help="A value; may be repeated.")


def entries(function: Any) -> Any:
    """The options --machine and --workload."""
    for name in ("workload", "machine"):
        text = f"A {name}, or the path of its file: its values are used where none is given."
        complete = _ENTRIES[name]
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
            complete = complete_quantity
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


def described(function: Any) -> Any:
    """The options --axis and --set."""

    def read(texts: dict[str, str]) -> dict[str, Any]:
        return {name: axis_of(text) for name, text in texts.items()}

    text = "An axis, or Q=V,V,...; repeatable."
    axes = values("--axis", "axes", read=read, metavar="Q=A:B[:STEP]", help=text)
    given = values("--set", "given", metavar="Q=VALUE", help="A value; repeatable.")
    return axes(given(function))


def axis_of(text: str) -> Any:
    """``1:30``, ``0.4 GHz:1.6 GHz:50 MHz`` or ``64,128,256``."""
    if not _RANGE.fullmatch(text):
        return [number_of(piece) for piece in listed([text])]
    parts = [number_of(piece.strip()) for piece in text.split(":")]
    if len(parts) > 3:
        raise click.UsageError(f"the axis {text!r}: expected START:STOP or START:STOP:STEP")
    return dict(zip(("start", "stop", "step"), parts, strict=False))


def number_of(text: str, kinds: Sequence[Callable[[str], Any]] = (int, float)) -> Any:
    """A number of the first kind that a text is of; else the text."""
    for read in kinds:
        try:
            return read(text)
        except ValueError:
            continue
    return text


def allowing(folder: Base, given: Mapping[str, str], axes: Mapping[str, Any]) -> Base:
    """Return the reach of a study in which files that the command line names may lie anywhere."""
    if not isinstance(folder, Reach):
        return folder
    listed = [text for axis in axes.values() if isinstance(axis, list) for text in axis]
    return folder.giving(str(text) for text in (*given.values(), *listed))


def changed(
    fields: Mapping[str, Any], given: Mapping[str, str], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of a study in which values and axes stand instead of what it says of their names."""
    for name in given:
        if name in axes:
            raise click.UsageError(f"{name} is set and is an axis: keep one of them")
    own = {name: axes.get(name, v) for name, v in fields["axes"].items() if name not in given}
    values = {**fields["set"], **{name: number_of(text) for name, text in given.items()}}
    found = {name: values.pop(name, fields[name]) for name in ("machine", "workload")}
    for name in axes:
        values.pop(name, None)
        found |= {name: None} if name in found else {}
    return {**found, "axes": {**own, **axes}, "set": values}
