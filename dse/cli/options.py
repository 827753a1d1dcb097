"""Options of the command line, each read into what the verbs take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dse
from symbolic.file_access import FileScope, PathBase
from symbolic.safe_text import escape_controls

#: What adds an option or an argument to the function of a command.
OptionDecorator = Callable[[Any], Any]
#: How a range of an axis begins; labels such as geometric:0.05 are none.
_RANGE = re.compile(r"\s*[-+.\d][^:,]*:[^,]+")
_PICTURES = (".png", ".pdf", ".svg")


def echo(text: str, *, err: bool = False) -> None:
    """Print text, to standard error with ``err``; what steers a terminal is shown by its code."""
    click.echo(escape_controls(text), err=err)


# --- what a shell proposes as names
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _make_completer(names: Callable[[], Iterable[str]], *files: str) -> _Complete:
    """Return what proposes names, of a list or sum for its last part, and files if no name fits."""

    def complete(_ctx: Any, _parameter: Any, typed: str) -> list[CompletionItem]:
        try:
            known = sorted(names())
        except Exception:  # a shell must not be shown an error while somebody types
            return []
        cut = max(typed.rfind(","), typed.rfind("+"), typed.rfind(" ")) + 1
        before, last = typed[:cut], typed[cut:]
        result = [CompletionItem(before + name) for name in known if name.startswith(last)]
        if result or not files:
            return result
        folder = Path(typed).parent
        paths = sorted(folder.glob(Path(typed).name + "*")) if folder.is_dir() else []
        return [CompletionItem(str(p)) for p in paths if p.suffix in files or p.is_dir()]

    return complete


def _quantities() -> Iterable[str]:
    from symbolic.quantities import TABLE

    return TABLE


complete_model = _make_completer(lambda: dse.models(), ".py")
complete_machine = _make_completer(lambda: dse.machines(), ".toml")
complete_workload = _make_completer(lambda: dse.workloads(), ".toml")
complete_quantity = _make_completer(_quantities)
_ENTRIES = {"machine": complete_machine, "workload": complete_workload}


def complete_point(
    ctx: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Propose for ``NAME=VALUE`` the names of quantities, or of machines and workloads."""
    name, given, value = typed.partition("=")
    if not given:
        rows = complete_quantity(ctx, parameter, name)
        kinds = [CompletionItem(kind) for kind in _ENTRIES if kind.startswith(name)]
        return [CompletionItem(f"{row.value}=") for row in [*kinds, *rows]]
    rows = _ENTRIES[name](ctx, parameter, value) if name in _ENTRIES else []
    return [CompletionItem(f"{name}={row.value}") for row in rows]


# --- the options
def nonempty_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that somebody gave: of all others the defaults of the verb hold."""
    return {name: value for name, value in options.items() if value not in (None, [], {}, ())}


def split_list(texts: Sequence[str]) -> list[str]:
    """Names or formulas, given one by one or with commas between them (not within brackets)."""
    result = []
    for text in texts:
        depth, piece = 0, ""
        for letter in text + ",":
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and depth <= 0:
                result.append(piece.strip())
                piece = ""
            else:
                piece += letter
        result += [piece.strip()] if piece.strip() else []
    if "" in result:
        raise click.UsageError(f"{' '.join(texts)!r} has an empty place between commas")
    return result


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """What an option gives as NAME=VALUE, each name once."""
    result: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise click.UsageError(f"{option} {text!r}: expected QUANTITY=VALUE")
        if name.strip() in result:
            raise click.UsageError(f"{option} gives {name.strip()} twice")
        result[name.strip()] = value.strip()
    return result


def option_callback(
    parse: Callable[[Any], Any],
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return the callback of an option whose words a function reads."""
    return lambda _ctx, _option, words: parse(words)


def names_option(
    *flags: str, parse: Callable[[list[str]], Any] = list, **about: Any
) -> OptionDecorator:
    """An option of several names or formulas: repeatable, and with commas between them."""
    more: dict[str, Any] = {"multiple": True, "metavar": "Q,..."}
    return click.option(
        *flags, callback=option_callback(lambda texts: parse(split_list(texts))), **more | about
    )


def values_option(
    *flags: str, commas: bool = False, parse: Callable[[dict[str, str]], Any] = dict, **about: Any
) -> OptionDecorator:
    """An option of names with a value each: repeatable, with commas between them if need be."""

    def parse_texts(texts: Sequence[str]) -> Any:
        return parse(parse_pairs(split_list(texts) if commas else texts, flags[0]))

    return click.option(*flags, multiple=True, callback=option_callback(parse_texts), **about)


def choice_option(flag: str, *words: str, help: str) -> OptionDecorator:  # noqa: A002
    """An option that is one of some words; the first where it is not given."""
    return click.option(flag, default=words[0], type=click.Choice(words), help=help)


def file_option(
    flag: str, metavar: str | None, help: str, *, exists: bool = False
) -> OptionDecorator:
    """An option that is the path of a file."""
    kind = click.Path(exists=exists, dir_okay=False)
    return click.option(flag, metavar=metavar, type=kind, help=help)


def where_option(text: str) -> OptionDecorator:
    """The option --where; limits without a unit are told with theirs."""

    def check_limits(texts: Sequence[str]) -> list[str]:
        if texts:
            from dse.study.plan import unitless_limits
            from symbolic.quantities import TABLE

            for limit in unitless_limits(texts, TABLE):
                echo(f"warning: {limit}", err=True)
        return list(texts)

    return click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        callback=option_callback(check_limits),
        help=text,
    )


def check_figure_path(text: str | None, option: str) -> Path | None:
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


def figure_option(flag: str, **about: Any) -> OptionDecorator:
    """An option of a file that becomes a picture."""
    more: dict[str, Any] = {"metavar": "OUT.png|.svg|.pdf", "type": click.Path()}
    return click.option(
        flag, callback=option_callback(lambda text: check_figure_path(text, flag)), **more | about
    )


def example_studies() -> dict[str, Path]:
    """The shipped studies that run no file beside them, by name."""
    inside, beside = (Path(dse.__file__).parents[k] / "examples" for k in (0, 1))
    result = sorted((inside if inside.is_dir() else beside).glob("*.toml"))
    return {path.stem: path for path in result if ".py" not in path.read_text(encoding="utf-8")}


class StudyPath(click.Path):
    """The path of a file; or the name of a shipped study, where no file is called so."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        plain = isinstance(value, str) and value.replace("-", "").isalnum()
        if plain and not Path(value).exists() and value in example_studies():
            value = str(example_studies()[value])
        return super().convert(value, param, ctx)


class SourcePath(StudyPath):
    """The path of something that exists, a shipped study, or a URL."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


_HOW = "On standard error: for people, as JSON lines for logs, or none. [auto]"
progress_option = choice_option("--progress", "auto", "json", "none", help=_HOW)
study_argument = click.argument("study", type=StudyPath(exists=True, dir_okay=False, readable=True))
store_argument = click.argument("store", type=SourcePath(exists=True))
source_argument = click.argument("source", metavar="STUDY_OR_STORE", type=SourcePath(exists=True))
expand_option = click.option("--expand", is_flag=True, help="Store every output over all axes.")
_OF_STUDY = "The study file, where the store alone does not tell its study."
study_option = file_option("--study", None, _OF_STUDY, exists=True)
point_argument = click.argument(
    "point", metavar="[NAME=VALUE]...", nargs=-1, shell_complete=complete_point
)
set_option = values_option("--set", metavar="Q=VALUE", help="A value; may be repeated.")


def entry_options(function: Any) -> Any:
    """The options --machine and --workload."""
    for name in ("workload", "machine"):
        text = f"A {name}, or the path of its file: its values are used where none is given."
        complete = _ENTRIES[name]
        option = click.option(f"--{name}", metavar="NAME", shell_complete=complete, help=text)
        function = option(function)
    return function


def goal_options(several: bool) -> OptionDecorator:
    """The options --minimize, --maximize and --where."""

    def add(function: Any) -> Any:
        what = "Quantities or formulas, with commas between"
        what = what if several else "Quantity or formula, or several, the most important first"
        for name in ("maximize", "minimize"):
            text = f"{what}, to make as {'small' if name == 'minimize' else 'large'} as can be."
            complete = complete_quantity
            option = names_option(f"--{name}", metavar="Q", shell_complete=complete, help=text)
            function = option(function)
        return where_option('Constraint, such as "time <= 10 ms"; may be repeated.')(function)

    return add


def per_and_top_options(function: Any) -> Any:
    """The options --per and --top."""
    per = names_option("--per", metavar="AXIS,...", help="A winner for each value.")
    top = click.option("--top", type=click.IntRange(min=1), help="How many, best first. [1]")
    return per(top(function))


def time_limit_option(text: str) -> OptionDecorator:
    """The option --time-limit, in seconds."""
    return click.option("--time-limit", type=click.FloatRange(min=0), metavar="S", help=text)


def axis_and_set_options(function: Any) -> Any:
    """The options --axis and --set."""

    def parse_axes(texts: dict[str, str]) -> dict[str, Any]:
        return {name: parse_axis_text(text) for name, text in texts.items()}

    text = "An axis, or Q=V,V,...; repeatable."
    axes = values_option("--axis", "axes", parse=parse_axes, metavar="Q=A:B[:STEP]", help=text)
    given = values_option("--set", "set_values", metavar="Q=VALUE", help="A value; repeatable.")
    return axes(given(function))


def parse_axis_text(text: str) -> Any:
    """``1:30``, ``0.4 GHz:1.6 GHz:50 MHz`` or ``64,128,256``."""
    if not _RANGE.fullmatch(text):
        return [parse_number(piece) for piece in split_list([text])]
    parts = [parse_number(piece.strip()) for piece in text.split(":")]
    if len(parts) > 3:
        raise click.UsageError(f"the axis {text!r}: expected START:STOP or START:STOP:STEP")
    return dict(zip(("start", "stop", "step"), parts, strict=False))


def parse_number(text: str, types: Sequence[Callable[[str], Any]] = (int, float)) -> Any:
    """A number of the first kind that a text is of; else the text."""
    for read in types:
        try:
            return read(text)
        except ValueError:
            continue
    return text


def allow_named_files(
    folder: PathBase, set_values: Mapping[str, str], axes: Mapping[str, Any]
) -> PathBase:
    """Return the reach of a study in which files that the command line names may lie anywhere."""
    if not isinstance(folder, FileScope):
        return folder
    listed = [text for axis in axes.values() if isinstance(axis, list) for text in axis]
    return folder.with_user_files(str(text) for text in (*set_values.values(), *listed))


def override_inputs(
    fields: Mapping[str, Any], set_values: Mapping[str, str], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Fields of a study in which values and axes stand instead of what it says of their names."""
    for name in set_values:
        if name in axes:
            raise click.UsageError(f"{name} is set and is an axis: keep one of them")
    own = {name: axes.get(name, v) for name, v in fields["axes"].items() if name not in set_values}
    values = {**fields["set"], **{name: parse_number(text) for name, text in set_values.items()}}
    result = {name: values.pop(name, fields[name]) for name in ("machine", "workload")}
    for name in axes:
        values.pop(name, None)
        result |= {name: None} if name in result else {}
    return {**result, "axes": {**own, **axes}, "set": values}
