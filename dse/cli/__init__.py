"""Define the command ``dse``; each subcommand imports the heavy libraries that it needs."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any

import click

import dse
from dse.cli.command import Commands, best_on_interrupt, source_argument
from dse.cli.command import command as make_command
from dse.cli.options import (
    OptionDecorator,
    names_option,
    nonempty_options,
    option,
    parse_number,
    values_option,
    where_option,
)

__all__ = ["main", "verb_command", "verb_names"]

#: Names of the commands by task, in the order of the help.
_TASKS = {
    "Start": "new plan run doctor",
    "Explore": "evaluate explain explore plot",
    "Ask": "optimum pareto count histogram quantiles borders meets disagreement rule advise",
    "Uncertainty": "sensitivity ranges chances information law",
    "Kernels and GPUs": "analyze kernel measure launch imbalance",
    "Data": "import fit calibrate validate add verify export",
    "About": "models machines workloads quantities cite",
}
#: Minimum width of the help for two columns of commands. [characters]
_TWO_COLUMNS = 90
_FIRST_STEPS = """\
dse predicts the time of GPU kernels, says what limits it, and finds the best configuration.

Try one of these:
  dse evaluate gemm --machine h100_sxm m=4096 n=4096 k=4096    the time of a matrix product
  dse optimum energy-gtx280 --minimize energy                  the best clock for each kernel
  dse analyze KERNEL.cu --machine h100_sxm,l40                 a CUDA kernel of yours

Next:
  dse new          write a study of your own
  dse models       list the models; also dse machines, dse workloads, dse quantities WORD
  dse --help       list all commands; dse COMMAND --help explains one"""
#: Verbs without a command, because a shell cannot pass or print their objects.
_PYTHON_ONLY = {"best_config", "fold"}


class _CommandFiles(Mapping[str, click.Command]):
    """Mapping from names to commands; a command is imported from its file when it is looked up."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}
        self._names = {name for names in _TASKS.values() for name in names.split()}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            function = f"{name}_" if name == "import" else name
            self._loaded[name] = getattr(importlib.import_module(f"dse.cli.{function}"), function)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)


class _AllCommands(Commands):
    """Group of the commands in `dse.cli`, and of generated commands for verbs without a file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands} | verb_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in verb_names():
            return verb_command(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        tasks = {task: names.split() for task, names in _TASKS.items()}
        if others := sorted({*self.list_commands(ctx)} - {*self.commands}):
            tasks["Other"] = others
        half, is_wide, parts = formatter.width // 2, formatter.width >= _TWO_COLUMNS, []
        for task, names in tasks.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            texts = [(n, each.get_short_help_str(limit=1000)) for n, each in commands if each]
            part = click.HelpFormatter(width=half if is_wide else formatter.width)
            with part.section(task):
                part.write_dl([(name, re.split(r"[:,.]", text)[0]) for name, text in texts])
            parts.append(part.getvalue().splitlines())
        halves = [(parts[:cut], parts[cut:]) for cut in range(len(parts), 0, -1)]
        columns = [[[*chain(*each)] for each in both] for both in halves]
        left, right = min(columns, key=lambda both: is_wide and max(map(len, both)))
        formatter.write("\n")
        for first, second in zip_longest(left, right, fillvalue=""):
            formatter.write(f"{first:<{half}}{second}".rstrip() + "\n")


def verb_names() -> set[str]:
    """Return the names of the verbs that can be commands, without importing the verbs."""
    homes = dse._MODULE_OF.items()
    return {name for name, home in homes if home.startswith("dse.verbs.")} - _PYTHON_ONLY


def verb_command(name: str) -> click.Command:
    """Generate the command of a verb from its signature and docstring."""
    verb = getattr(dse, name)
    text = inspect.getdoc(verb) or ""
    _, *parameters = inspect.signature(verb).parameters.values()
    spread = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
    takes_progress = any(parameter.name == "progress" for parameter in parameters)

    def run_verb(source: Any, **options: Any) -> Any:
        from dse.display import column_order, result_answer

        query = nonempty_options(options) | ({"progress": True} if takes_progress else {})
        for name in spread:
            query |= query.pop(name, {})
        result = best_on_interrupt(lambda: verb(source, **query))
        return result_answer(result, column_order(source))

    run_verb.__doc__ = re.split(r"\nParameters:?\n", text)[0]
    for parameter in reversed(parameters):
        if parameter.name != "progress":
            run_verb = _option(parameter, _help(parameter.name, text))(run_verb)
    return make_command(f"dse {name} study.toml", name=name)(source_argument(run_verb))


def _help(name: str, text: str) -> str:
    """Return the description of a parameter from a Google or NumPy docstring, as one line."""
    form = rf"^( *){name}(?: :.*\n\1    | \(.*?\): |: )(.*\n?(?:\1    .*\n?)*)"
    match = re.search(form, text, re.MULTILINE)
    return " ".join(match[2].split()) if match else ""


def _numbers(texts: list[str]) -> list[Any]:
    return [parse_number(text, (float,)) for text in texts]


def _option(parameter: inspect.Parameter, text: str) -> OptionDecorator:
    flag, annotation = f"--{parameter.name.replace('_', '-')}", str(parameter.annotation)
    if parameter.name == "where":
        return where_option(text.removesuffix("."))
    name, text = parameter.name, text.removesuffix(".")
    if isinstance(parameter.default, bool):
        return option(flag, text, name, is_flag=True)
    is_mapping = "Mapping" in annotation and "Sequence" not in annotation
    if parameter.kind is parameter.VAR_KEYWORD or is_mapping:
        return values_option(f"{flag} NAME=VALUE", text, name)
    is_required = parameter.default is parameter.empty
    if "Sequence" in annotation:
        parse = _numbers if "float" in annotation.partition("Sequence")[2] else list
        return names_option(flag, text, name, parse=parse, required=is_required)
    kind = next((kind for kind in (int, float) if kind.__name__ in annotation), str)
    return option(flag, text, name, type=kind, required=is_required)


@click.group(
    cls=_AllCommands,
    commands=_CommandFiles(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="""\b
Exit status: 0 done, 1 failed, 2 wrong input, 3 not proven, 130 interrupted (docs/faq.md).

\b
Example:
  dse optimum energy-gtx280 --minimize energy""",
)
@click.version_option(message="%(prog)s %(version)s", package_name="simt-dse", prog_name="dse")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Explore the design space of GPUs with published analytic models."""
    if ctx.invoked_subcommand is None:
        click.echo(_FIRST_STEPS)
