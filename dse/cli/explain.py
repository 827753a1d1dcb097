"""The command `dse explain`: show every intermediate quantity at one configuration."""

from typing import Any

import dse
from dse.cli.command import command, read_study, warn_odd_numbers
from dse.cli.evaluate import EXAMPLE_POINT, parse_point, study_from_point, study_or_model_argument
from dse.cli.options import entry_options, point_argument


@command(
    f"dse explain examples/merge-four-gpus.toml {EXAMPLE_POINT}",
    "dse explain ipp --machine gtx280 --workload svm threads_per_block=256",
)
@study_or_model_argument
@point_argument
@entry_options
def explain(source: str, **options: Any) -> Any:
    """Explain one configuration: show every intermediate quantity.

    Each quantity has a value, unit, equation and source. If you give no value for an axis, its
    first value is used.
    """
    at = parse_point(options)
    if source.endswith(".toml"):
        return dse.explain(read_study(source), **at)
    return dse.explain(warn_odd_numbers(study_from_point(source, at)))
