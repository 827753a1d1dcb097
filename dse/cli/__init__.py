"""The command ``dse``. Heavy libraries are imported by the commands that need them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

import dse
from dse.cli.borders import borders, meets, ranges
from dse.cli.chances import chances, information, law
from dse.cli.command import Commands, best_on_interrupt, read_source
from dse.cli.command import command as make_command
from dse.cli.count import count, histogram, quantiles
from dse.cli.disagreement import disagreement
from dse.cli.doctor import doctor
from dse.cli.evaluate import advise, evaluate, explain
from dse.cli.explore import explore
from dse.cli.fit import calibrate, fit, validate
from dse.cli.imbalance import imbalance, launch
from dse.cli.import_ import import_
from dse.cli.kernel import kernel
from dse.cli.measure import measure
from dse.cli.models import machines, models, quantities, workloads
from dse.cli.new import new
from dse.cli.optimum import optimum, pareto
from dse.cli.options import (
    OptionDecorator,
    names_option,
    nonempty_options,
    parse_number,
    source_argument,
    values_option,
    where_option,
)
from dse.cli.plot import plot
from dse.cli.run import add, export, plan, run, verify
from dse.cli.sensitivity import sensitivity

__all__ = ["main", "verb_command", "verb_names"]


# --- a verb that has no command of its own has one made from its signature and its text
#: Functions of `dse.verbs` that take or give what a shell cannot.
_PYTHON_ALONE = {"best_config", "fold"}


class _AllCommands(Commands):
    """The commands: those of `dse.cli`, and of each verb that has none there one that is made."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*self.commands} | verb_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in self.commands and cmd_name in verb_names():
            return verb_command(cmd_name)
        return super().get_command(ctx, cmd_name)


def verb_names() -> set[str]:
    """Return the names of the verbs that a shell can ask; none is loaded."""
    homes = dse._MODULE_OF.items()
    return {name for name, home in homes if home.startswith("dse.verbs.")} - _PYTHON_ALONE


def verb_command(name: str) -> click.Command:
    """Return the command of a verb."""
    verb = getattr(dse, name)
    text = inspect.getdoc(verb) or ""
    _, *parameters = inspect.signature(verb).parameters.values()
    spread = [each.name for each in parameters if each.kind is each.VAR_KEYWORD]
    takes_progress = any(parameter.name == "progress" for parameter in parameters)

    def run_verb(source: str, **options: Any) -> Any:
        from dse.display import column_order, result_answer

        read = read_source(source)
        asked = nonempty_options(options) | ({"progress": True} if takes_progress else {})
        for name in spread:
            asked |= asked.pop(name, {})
        result = best_on_interrupt(lambda: verb(read, **asked))
        return result_answer(result, column_order(read))

    run_verb.__doc__ = text.partition("\nParameters\n")[0]
    for parameter in reversed(parameters):
        if parameter.name != "progress":
            run_verb = _option(parameter, _help(parameter.name, text))(run_verb)
    return make_command(f"dse {name} study.toml", name=name)(source_argument(run_verb))


def _help(name: str, text: str) -> str:
    """Return what the text of a function says of a parameter, in one line."""
    result = re.search(rf"^{name} :.*\n((?:    .*\n?)+)", text, re.MULTILINE)
    return " ".join(result[1].split()) if result else ""


def _numbers(texts: list[str]) -> list[Any]:
    return [parse_number(text, (float,)) for text in texts]


def _option(parameter: inspect.Parameter, text: str) -> OptionDecorator:
    """Return what adds the option of a parameter, by its default and annotation."""
    flag, annotation = f"--{parameter.name.replace('_', '-')}", str(parameter.annotation)
    if parameter.name == "where":
        return where_option(text)
    about: dict[str, Any] = {"help": text}
    if isinstance(parameter.default, bool):
        return click.option(flag, parameter.name, is_flag=True, **about)
    if parameter.kind is parameter.VAR_KEYWORD:
        return values_option(flag, parameter.name, metavar="NAME=VALUE", **about)
    about["required"] = parameter.default is parameter.empty
    if "Sequence" in annotation:
        numbers = "float" in annotation.partition("Sequence")[2]
        return names_option(flag, parameter.name, parse=_numbers if numbers else list, **about)
    if "Mapping" in annotation:
        return values_option(flag, parameter.name, metavar="NAME=VALUE", **about)
    kind = next((kind for kind in (int, float) if kind.__name__ in annotation), str)
    return click.option(flag, parameter.name, type=kind, **about)


# --- all commands
@click.group(
    cls=_AllCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit status:
  0    done (also: nothing to do, the store of this study is finished)
  1    failed: no point is feasible, a file cannot be written, a URL does not answer, memory
       does not suffice, a store is damaged
  2    misused: a wrong option, study, name, unit or input file; a store of another study
  130  interrupted (143: terminated); no unfinished file stands under the name of a result, and of a
       search the best so far is told

\b
Example:
  dse run examples/merge-four-gpus.toml --store merge.zarr""",
)
@click.version_option(message="%(prog)s %(version)s", package_name="simt-dse", prog_name="dse")
def main() -> None:
    """Explore the design space of GPUs with published analytic models.

    Results go to standard output, progress and errors to standard error.
    """


for each in (
    *(add, advise, borders, calibrate, chances, count, disagreement, doctor, evaluate, explain),
    *(explore, fit, histogram, imbalance, import_, information, kernel, launch, law),
    *(machines, measure, meets, models, new, optimum, pareto, plan, plot, quantiles, quantities),
    *(export, ranges, run, sensitivity, validate, verify, workloads),
):
    main.add_command(each)
