"""The commands about one configuration of a study: `dse advise` and `dse explain`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dse.cli.frame import example, from_study, in_json, put, read_study

__all__ = ["advise", "explain"]

_at_point = click.argument("point", metavar="[AXIS=VALUE]...", nargs=-1)
_POINT = "workload=svm machine=gtx280 core_clock=1.3GHz"


def _read_point(texts: Sequence[str]) -> dict[str, str]:
    at: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not (name and equals and value.strip()):
            raise click.UsageError(f"{text!r} is no AXIS=VALUE: expected such as active_sms=20")
        if name in at:
            raise click.UsageError(f"{name} is given twice: {at[name]} and {value.strip()}")
        at[name] = value.strip()
    return at


@click.command(epilog=example(f"dse advise examples/merge-four-gpus.toml {_POINT}"))
@from_study
@_at_point
@click.option("--goal", metavar="Q", help="What should improve, such as energy.")
@click.option(
    "--levers",
    default="all",
    type=click.Choice(["all", "programmer", "designer"]),
    help="Whose moves are told. [all]",
)
@in_json
def advise(study: str, point: Sequence[str], goal: str | None, levers: str, as_json: bool) -> None:
    """What limits one configuration, and what would help.

    The bound, case or category; each input that helps, until something else limits and by what
    factor; and what the model suggests in closed form. The programmer's moves are told apart from
    those of who designs the machine, and none leaves what it allows. Axes not given stand at their
    first value.
    """
    import dse

    at = _read_point(point)
    told = dse.advise(read_study(study), goal=goal, levers=levers, **at)
    put(as_json, told.to_dict(), lambda: str(told))


@click.command(epilog=example(f"dse explain examples/merge-four-gpus.toml {_POINT}"))
@from_study
@_at_point
@in_json
def explain(study: str, point: Sequence[str], as_json: bool) -> None:
    """Every intermediate quantity at one configuration.

    Each with its value, unit, equation and source. Axes not given stand at their first value.
    """
    import dse

    at = _read_point(point)
    told = dse.explain(read_study(study), **at)
    put(as_json, told.to_dict(), lambda: str(told))
