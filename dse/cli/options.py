"""Define options of the command line, and convert their values to arguments of the verbs."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import dse
from dse.delimited import split_commas
from symbolic.answer import fold_lines, terminal_width
from symbolic.errors import nearest_hint
from symbolic.file_access import FileScope, PathBase
from symbolic.safe_text import escape_controls

OptionDecorator = Callable[[Any], Any]
#: A range begins with START:STOP. Labels such as geometric:0.05 do not match.
_RANGE = re.compile(r"\s*[-+.\d][^:,]*:[^,]+")
_PICTURES = (".png", ".pdf", ".svg")


def echo(text: str, *, err: bool = False, fold: bool = True) -> None:
    """Print a text to standard output or error; replace control characters by their codes.

    On a terminal, longer lines are wrapped if ``fold`` is True.
    """
    width = terminal_width(sys.stderr if err else sys.stdout) if fold else None
    click.echo(fold_lines(escape_controls(text), width), err=err)


_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _make_completer(names: Callable[[], Iterable[str]], *files: str) -> _Complete:
    """Return a completer for the last name in a list or sum; if no name fits, it lists paths."""

    def complete(_ctx: Any, _parameter: Any, typed: str) -> list[CompletionItem]:
        try:
            known = sorted(names())
        except Exception:  # an error message must not appear while the user types
            return []
        cut = max(typed.rfind(","), typed.rfind("+"), typed.rfind(" ")) + 1
        before, last = typed[:cut], typed[cut:]
        items = [CompletionItem(before + name) for name in known if name.startswith(last)]
        if items or not files:
            return items
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


def complete_point(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete ``NAME=VALUE``: NAME by quantities, VALUE by machines or workloads."""
    name, equals, value = typed.partition("=")
    if not equals:
        rows = complete_quantity(ctx, param, name)
        kinds = [CompletionItem(kind) for kind in _ENTRIES if kind.startswith(name)]
        return [CompletionItem(f"{row.value}=") for row in [*kinds, *rows]]
    rows = _ENTRIES[name](ctx, param, value) if name in _ENTRIES else []
    return [CompletionItem(f"{name}={row.value}") for row in rows]


def nonempty_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value; a verb uses defaults for all other options."""
    return {name: value for name, value in options.items() if value not in (None, [], {}, ())}


def split_list(texts: Sequence[str], option: str = "") -> list[str]:
    """Split texts at commas outside brackets; an error names the option.

    >>> split_list(["a, min(b, c)", "d"])
    ['a', 'min(b, c)', 'd']
    """
    pieces = [piece for text in texts for piece in split_commas(text)]
    if "" in pieces:
        what = "has an empty item between commas: remove a comma"
        what = what if any(pieces) else "is empty: name at least one, or leave the option out"
        raise click.UsageError(f"{option} {' '.join(texts)!r} {what}".strip())
    return pieces


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return a mapping from the texts NAME=VALUE of an option; a repeated name is an error."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            pair = "MACRO=VALUE" if option == "--define" else "QUANTITY=VALUE"
            context = click.get_current_context(silent=True)
            has_axes = context and any(each.name == "axes" for each in context.command.params)
            hint = f"; several values: --axis {[*values][-1]}=V,V" if has_axes and values else ""
            raise click.UsageError(f"{option} {text!r}: expected {pair}{hint}")
        if name.strip() in values:
            raise click.UsageError(f"{option} gives {name.strip()} twice")
        values[name.strip()] = value.strip()
    return values


def option_callback(
    parse: Callable[[Any], Any],
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback for click that converts the value of an option by a function."""
    return lambda _ctx, _option, words: parse(words)


def option(flag: str, text: str, *names: str, **about: Any) -> OptionDecorator:
    """Return an option; its help ends with the default. ``flag`` may contain a metavar.

    >>> add = option("--warps N", "Number of warps", default=32)
    >>> add(lambda: None).__click_params__[0].help
    'Number of warps; default: 32.'
    """
    flag, _, metavar = flag.partition(" ")
    default = about.get("default")
    if default not in (None, "") and not isinstance(default, bool) and "default" not in text:
        text += f"; default: {default:g}" if isinstance(default, float) else f"; default: {default}"
    about |= {"metavar": metavar} if metavar else {}
    return click.option(flag, *names, help=f"{text}.", **about)


def names_option(
    flag: str, text: str, *names: str, parse: Callable[[list[str]], Any] = list, **about: Any
) -> OptionDecorator:
    """Return an option that takes several names or formulas, repeated or separated by commas."""
    flag = flag if " " in flag else f"{flag} Q,..."
    callback = option_callback(lambda texts: parse(split_list(texts, flag.split()[0])))
    return option(flag, text, *names, multiple=True, callback=callback, **about)


def values_option(
    flag: str,
    text: str,
    *names: str,
    commas: bool = False,
    parse: Callable[[dict[str, str]], Any] = dict,
) -> OptionDecorator:
    """Return a repeatable option that takes a pair NAME=VALUE, or several pairs if ``commas``."""

    def parse_texts(texts: Sequence[str]) -> Any:
        name = flag.split()[0]
        return parse(parse_pairs(split_list(texts, name) if commas else texts, name))

    return option(flag, text, *names, multiple=True, callback=option_callback(parse_texts))


def choice_option(flag: str, text: str, *words: str) -> OptionDecorator:
    """Return an option that takes one of the given words; the default is the first word."""
    return option(flag, text, default=words[0], type=click.Choice(words))


def file_option(flag: str, text: str, *names: str, exists: bool = False) -> OptionDecorator:
    """Return an option that takes the path of a file."""
    return option(flag, text, *names, type=click.Path(exists=exists, dir_okay=False))


def number_parser(flag: str) -> Callable[[dict[str, str]], dict[str, float]]:
    """Return a function that reads the numbers in pairs NAME=NUMBER of an option."""

    def parse(texts: dict[str, str]) -> dict[str, float]:
        try:
            return {name: float(text) for name, text in texts.items()}
        except ValueError:
            pairs = ",".join(f"{name}={text}" for name, text in texts.items())
            raise click.UsageError(f"{flag} {pairs}: expected NAME=NUMBER") from None

    return parse


def _sizes(texts: Sequence[str]) -> list[Any]:
    return [tuple(int(n) if n.isdigit() else n for n in split_list([text])) for text in texts]


def launch_options(block: str, grid: str) -> OptionDecorator:
    """Return the options of a kernel's launch; ``block`` and ``grid`` are help texts."""
    macro = "Macro for the compiler; several values make several variants; repeatable"
    times = "Trip count of a loop, or fraction of threads at a branch, by name; repeatable"
    numbers = number_parser("--times")
    size = "Size of an array in bytes, or a formula such as 4*n; repeatable"
    profile = "Profile, or file of a tuner's results, to compare the counts with"
    row = "Row of PROFILE to compare with; default: all rows"
    decorators = (
        option("--entry NAME", "Name of the kernel, if there are several", "--kernel", default=""),
        values_option("--define K=V,...", macro),
        option("--option -O", "Option for the compiler; repeatable", "options", multiple=True),
        option("--block X[,Y[,Z]]", block, multiple=True, callback=option_callback(_sizes)),
        names_option("--grid X[,Y[,Z]]", grid),
        option("--dynamic-shared BYTES", "Dynamic shared memory, or a formula", default=None),
        values_option("--bytes ARRAY=B,...", size, "array_bytes", commas=True),
        values_option("--times NAME=N,...", times, "--trips", commas=True, parse=numbers),
        file_option("--beside PROFILE", profile, "profile", exists=True),
        option("--row N", row, type=click.IntRange(min=0)),
    )
    return lambda function: functools.reduce(lambda f, add: add(f), reversed(decorators), function)


def where_option(text: str = 'Constraint, such as "time <= 10 ms"; repeatable') -> OptionDecorator:
    """Return the option --where, which prints a warning if a limit has no unit."""

    def check_limits(texts: Sequence[str]) -> list[str]:
        if texts:
            from dse.study.plan import unitless_limits
            from symbolic.quantities import TABLE

            for limit in unitless_limits(texts, TABLE):
                echo(f"warning: {limit}", err=True)
        return list(texts)

    return option("--where CONDITION", text, multiple=True, callback=option_callback(check_limits))


def check_figure_path(text: str | None, flag: str) -> Path | None:
    """Return the path of a figure; raise an error if no figure can be written there."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() not in _PICTURES or not path.parent.is_dir():
        raise click.UsageError(
            f"{flag} {path}: expected the name of a file that ends in {', '.join(_PICTURES)}, in "
            "a folder that exists"
        )
    return path


def figure_option(flag: str, text: str, **about: Any) -> OptionDecorator:
    """Return an option that takes the path of a figure, and the option --style."""
    callback = option_callback(lambda path: check_figure_path(path, flag))
    flag_and_metavar = f"{flag} OUT.png|.svg|.pdf"
    path = option(flag_and_metavar, text, type=click.Path(), callback=callback, **about)
    text = "Style sheet of matplotlib (name or file) for the figure; slides: large text"
    style = option("--style NAME", text, callback=_use_style, expose_value=False)
    return lambda function: path(style(function))


def _use_style(ctx: click.Context, _option: Any, style: str | None) -> None:
    """Apply a style sheet, of matplotlib, of dse.plots or a file, until the command ends."""
    if style is None:
        return
    from dse import plots
    from dse.plots.style import font_scale

    font_scale()  # refuses without matplotlib
    from matplotlib import style as styles

    own = {path.stem: path for path in Path(plots.__file__).parent.glob("*.mplstyle")}
    known = [*own, "default", *styles.available]
    if style not in known and not Path(style).is_file():
        hint = f"{nearest_hint(style, known)}; there are: {', '.join(known)}"
        raise click.UsageError(f"--style {style}: no such style or file{hint}")
    ctx.with_resource(styles.context(own.get(style, style)))


def example_studies() -> dict[str, Path]:
    """Return a mapping from names to paths of the shipped studies that run no Python file."""
    installed, in_tree = (Path(dse.__file__).parents[k] / "examples" for k in (0, 1))
    paths = sorted((installed if installed.is_dir() else in_tree).glob("*.toml"))
    return {path.stem: path for path in paths if ".py" not in path.read_text(encoding="utf-8")}


class StudyPath(click.Path):
    """Type of an argument that is the path of a file, or the name of a shipped study.

    Without ``exists``, it may also be the name of a model, which comes before a study of that name.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path for an argument: the path itself, or that of a shipped study."""
        plain = isinstance(value, str) and value.replace("-", "").isalnum()
        if plain and not Path(value).exists() and value in example_studies():
            study = str(example_studies()[value])
            if self.exists or value not in dse.models():
                value = study
            else:
                text = f"{value} names a model and a study: the model is used; the study is {study}"
                echo(text, err=True)
        return super().convert(value, param, ctx)


class SourcePath(StudyPath):
    """Type of an argument that is an existing file or folder, a shipped study, or a URL."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the URL or path for an argument."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


_PROGRESS = "Show progress on standard error as text (auto), JSON lines (json), or not (none)"
progress_option = choice_option("--progress", _PROGRESS, "auto", "json", "none")
study_argument = click.argument("study", type=StudyPath(exists=True, dir_okay=False, readable=True))
store_argument = click.argument("store", type=SourcePath(exists=True))
source_path_argument = click.argument(
    "source", metavar="STUDY_OR_STORE", type=SourcePath(exists=True)
)
_EXPAND = "Store every output over all axes, even over axes on which it does not depend"
expand_option = option("--expand", _EXPAND, is_flag=True)
_STUDY = "File of the study that the store belongs to; needed if the store cannot rebuild it"
study_option = file_option("--study STUDY.toml", _STUDY, exists=True)
point_argument = click.argument(
    "point", metavar="[NAME=VALUE]...", nargs=-1, shell_complete=complete_point
)
_SET = "Value of an input, with its unit, such as core_clock=1.3GHz; repeatable"
set_option = values_option("--set Q=VALUE", _SET)
AT = "Fix an axis at a value, such as active_sms=30; separate several by commas, or repeat"
at_option = values_option("--at AXIS=VALUE,...", AT, commas=True)


def entry_options(function: Any) -> Any:
    """Add the options --machine and --workload."""
    for name in ("workload", "machine"):
        text = f"{name.capitalize()} (name or file) that supplies the values that are not given"
        function = option(f"--{name} NAME", text, shell_complete=_ENTRIES[name])(function)
    return function


def goal_options(several: bool) -> OptionDecorator:
    """Return the decorator for --minimize, --maximize and --where."""

    def add(function: Any) -> Any:
        more = "separate several by commas, the most important first"
        more = "separate several by commas" if several else more
        for name in ("maximize", "minimize"):
            text = f"Quantity or formula to {name}; {more}"
            function = names_option(f"--{name} Q", text, shell_complete=complete_quantity)(function)
        return where_option()(function)

    return add


def per_and_top_options(function: Any) -> Any:
    """Add the options --per and --top."""
    per = names_option("--per AXIS,...", "Report the best separately for each value of these axes")
    text = "Number of configurations to report, best first; default: 1"
    return per(option("--top", text, type=click.IntRange(min=1))(function))


def time_limit_option(text: str) -> OptionDecorator:
    """Return the option --time-limit, which takes seconds."""
    return option("--time-limit S", text, type=click.FloatRange(min=0))


def axis_and_set_options(function: Any) -> Any:
    """Add the options --axis and --set."""

    def parse_axes(texts: dict[str, str]) -> dict[str, Any]:
        return {name: parse_axis_text(text) for name, text in texts.items()}

    text = "Axis of the study, as a range or as a list of values (Q=V,V,...); repeatable"
    axes = values_option("--axis Q=A:B[:STEP]", text, "axes", parse=parse_axes)
    return axes(values_option("--set Q=VALUE", _SET, "set_values")(function))


def parse_axis_text(text: str) -> Any:
    """Read an axis: ``1:30``, ``0.4 GHz:1.6 GHz:50 MHz`` or ``64,128,256``."""
    if not _RANGE.fullmatch(text):
        return [parse_number(piece) for piece in split_list([text])]
    parts = [parse_number(piece.strip()) for piece in text.split(":")]
    if len(parts) > 3:
        raise click.UsageError(f"the axis {text!r}: expected START:STOP or START:STOP:STEP")
    return dict(zip(("start", "stop", "step"), parts, strict=False))


def parse_number(text: str, types: Sequence[Callable[[str], Any]] = (int, float)) -> Any:
    """Convert a text to the first type that accepts it; return it unchanged if none does."""
    for read in types:
        try:
            return read(text)
        except ValueError:
            continue
    return text


def allow_named_files(
    folder: PathBase, set_values: Mapping[str, str], axes: Mapping[str, Any]
) -> PathBase:
    """Return the folder of a study, with access to the files that the command line names."""
    if not isinstance(folder, FileScope):
        return folder
    listed = [text for axis in axes.values() if isinstance(axis, list) for text in axis]
    return folder.with_user_files(str(text) for text in (*set_values.values(), *listed))


def override_inputs(
    fields: Mapping[str, Any], set_values: Mapping[str, str], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of a study after --set and --axis have replaced values and axes."""
    for name in set_values:
        if name in axes:
            raise click.UsageError(f"{name} is set and is an axis: keep one of them")
    others = {name: v for name, v in fields["axes"].items() if name not in set_values}
    values = {**fields["set"], **{name: parse_number(text) for name, text in set_values.items()}}
    entries = {name: values.pop(name, fields[name]) for name in ("machine", "workload")}
    for name in axes:
        values.pop(name, None)
        entries |= {name: None} if name in entries else {}
    return {**entries, "axes": {**others, **axes}, "set": values}
