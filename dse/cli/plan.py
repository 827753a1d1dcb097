"""The command `dse plan`: preview a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import (
    command,
    input_errors,
    read_study,
)
from dse.cli.options import (
    expand_option,
    study_argument,
)
from symbolic.answer import Answer

if TYPE_CHECKING:
    pass


@command("dse plan examples/merge-four-gpus.toml", "dse plan received.toml --no-code")
@study_argument
@expand_option
@click.option("--no-code", is_flag=True, help="Run no Python that the study names; tell of it.")
def plan(study: str, expand: bool, no_code: bool) -> Any:
    """What a run would do, before any work.

    Points, tiles, memory, what each output depends on, defaults and assumptions.

    A study whose model is a Python file (.py) runs that file, as any program. Of a study that is
    not your own ask first with --no-code: where it would run Python, that is told and nothing run.
    """
    from dse.study.plan import make_plan

    if no_code:
        from dse.study.file import find_model_code

        with input_errors():
            result = find_model_code(study)
        if result:
            data = {"study": study, "would_run": [asdict(code) for code in result]}
            lines = [f"{study} would run this; nothing was run, so there is no plan:"]
            return Answer(title="\n  ".join([*lines, *map(str, result)]), data=data)
    return make_plan(read_study(study), expand=expand)
