"""The command `dse plan`: preview a run."""

from dataclasses import asdict, replace
from typing import Any

from dse.cli.command import command, input_errors, read_study
from dse.cli.options import expand_option, option, study_argument
from symbolic.answer import Answer


@command("dse plan examples/merge-four-gpus.toml", "dse plan received.toml --no-code")
@study_argument
@expand_option
@option(
    "--no-code", "Only list the Python code that the study would run; run nothing", is_flag=True
)
@option("--assumptions", "Print all assumptions of the model, not only their number", is_flag=True)
def plan(study: str, expand: bool, no_code: bool, assumptions: bool) -> Any:
    """Preview a run: number of points, memory, axes of each output, and default values.

    If the model of a study is a Python file (.py), this command runs the file. Before you plan a
    study from somebody else, use --no-code, which lists such files and runs nothing.
    """
    from dse.study.plan import make_plan

    if no_code:
        from dse.study.file import find_model_code

        with input_errors():
            code = find_model_code(study)
        if code:
            data = {"study": study, "would_run": [asdict(each) for each in code]}
            lines = [f"{study} would run this; nothing was run, so there is no plan:"]
            return Answer(title="\n  ".join([*lines, *map(str, code)]), data=data)
    result = make_plan(read_study(study), expand=expand)
    answer = replace(result._answer(), data=result.to_dict())
    if result.assumptions and not assumptions:
        others = [text for text in answer.notes if not text.startswith("assumed: ")]
        many = len(result.assumptions)
        folded = f"{many} assumption{'s' * (many > 1)} of the model (--assumptions lists them)"
        answer = replace(answer, notes=[folded, *others])
    return answer
