"""The command `dse advise`: find the bottleneck of a configuration, and the changes that help."""

from typing import Any

import dse
from dse.cli.command import command, input_errors, read_study
from dse.cli.evaluate import EXAMPLE_POINT, parse_point, study_or_model_argument
from dse.cli.options import choice_option, entry_options, option, point_argument


@command(
    f"dse advise examples/merge-four-gpus.toml {EXAMPLE_POINT}",
    "dse advise ipp --machine gtx280 --workload svm threads_per_block=256 --goal energy",
)
@study_or_model_argument
@point_argument
@entry_options
@option("--goal Q", "Quantity to improve, such as energy; default: the model's main output")
@choice_option(
    "--levers", "Consider changes by programmer, designer or all", "all", "programmer", "designer"
)
def advise(source: str, goal: str | None, levers: str, **options: Any) -> Any:
    """Find the bottleneck, and what would help, at one configuration.

    The answer names the bound, case or category. It lists each input whose change would help, the
    value at which another limit takes over, and the gain; and suggestions of the model in closed
    form. It lists changes by the programmer and by the hardware designer separately, and only
    within the allowed values. If you give no value for an axis, its first value is used.
    """
    at = parse_point(options)
    of = read_study(source) if source.endswith(".toml") else source
    with input_errors():
        return dse.advise(of, goal=goal, levers=levers, **at)
