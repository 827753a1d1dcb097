"""A verb is added by three files: its own, a public name, a method; the rest follows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from dse.cli import verb_command, verb_names

ROOT = Path(__file__).parents[2]
VERB = '''
"""The least and the largest value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import xarray as xr

from dse.verbs.query import resolve_source, run_query_with_identity
from dse.verbs.query import verb
from dse.verbs.sources import SourceLike

__all__ = ["extremes"]


@verb
def extremes(source: SourceLike, quantity: str, *, where: str | Sequence[str] = ()) -> xr.Dataset:
    """The least and the largest value of a quantity over the feasible configurations.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is asked.
    quantity : str
        A quantity or formula.
    where : str or list of str
        Constraints.
    """
    from sweeps.query.distribution import quantiles
    from sweeps.grid.goals import texts_of

    ask = partial(quantiles, text=quantity, q=[0, 1], per=())
    conditions = texts_of(where, "where")
    of = resolve_source(source)
    return run_query_with_identity("extremes", of, ask, texts=[quantity], where=conditions)
'''
PROGRAM = """
import json
from click.testing import CliRunner
import dse
from dse.cli import main
from dse.verbs.query import verbs
from sweeps.query.support_table import support_table

given = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
about = {"axes": {"threads": [256, 512, 1024]}, "set": given, "outputs": ["cs_throughput"]}
study = dse.Study(model="transit", **about)
both = dse.Study(model=["transit", "transit + transit_warps"], **about)
of = [study.extremes("cs_throughput"), both.extremes("cs_throughput")]
of.append(dse.extremes(study.run(), "cs_throughput", where="threads > 256"))
of.append(dse.extremes(both, "cs_throughput"))
try:
    study.extremes("cs_throughput", top=2)
except dse.DseError as error:
    refused = str(error)
rows = [row for row in support_table(verbs()).splitlines() if "`extremes`" in row]
answers = [found.cs_throughput.values.round(3).tolist() for found in of]
open("study.toml", "w").write(
    'model = "transit"\\noutputs = ["cs_throughput"]\\n[axes]\\nthreads = [256, 512, 1024]\\n'
    "[set]\\nintensity = 10\\nlanes_width = 32\\nms_peak = 1\\nmem_latency = 600\\n"
)
asked = ["extremes", "study.toml", "--quantity", "cs_throughput"]
commands = [[*asked, "--json"], asked, ["extremes", "--help"], ["--help"]]
printed = [CliRunner().invoke(main, command).stdout for command in commands]
print(json.dumps({"answers": answers, "refused": refused, "rows": rows, "printed": printed}))
"""


def test_a_verb_takes_three_files(tmp_path: Path) -> None:
    for package in ("dse", "symbolic", "stochastic", "sweeps"):
        (tmp_path / package).mkdir()
        for path in (ROOT / package).iterdir():
            if path.name not in ("__pycache__", "verbs", "api.py"):
                (tmp_path / package / path.name).symlink_to(path)
    shutil.copytree(ROOT / "dse" / "verbs", tmp_path / "dse" / "verbs")
    for name in ("__init__.py", "__init__.pyi", "api.py"):
        (tmp_path / "dse" / name).unlink(missing_ok=True)
        shutil.copy(ROOT / "dse" / name, tmp_path / "dse" / name)
    (tmp_path / "dse" / "verbs" / "extremes.py").write_text(VERB)
    stub = tmp_path / "dse" / "__init__.pyi"
    line = "from dse.verbs.extremes import extremes as extremes\n"
    stub.write_text(stub.read_text() + line)
    methods = tmp_path / "dse" / "api.py"
    text = methods.read_text()
    methods.write_text(
        text.replace("    fold = dse.fold\n", "    fold = dse.fold\n    extremes = dse.extremes\n")
    )

    result = json.loads(python(tmp_path, "-c", PROGRAM))
    assert result["answers"] == [[4.197, 10.0], [4.197, 10.0], [8.393, 10.0], [4.197, 10.0]]
    assert "extremes of a study" in result["refused"]
    assert "takes no top" in result["refused"]
    assert result["rows"]

    told_as_json, text, text_of_help, commands = result["printed"]
    rows = json.loads(told_as_json)["rows"]
    assert [round(row["cs_throughput"], 3) for row in rows] == [4.197, 10.0]
    assert "cs_throughput" in text
    assert "The least and the largest value of a quantity" in text_of_help
    assert "A quantity or formula." in text_of_help
    assert "extremes" in commands


def python(folder: Path, *arguments: str) -> str:
    """Run Python with the packages of a folder; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_verb_could_do_without_a_command_of_its_own(tmp_path: Path) -> None:
    """The generated command of each verb has its parameters as options, and calls it."""
    study = tmp_path / "study.toml"
    study.write_text(
        'model = "transit"\noutputs = ["cs_throughput", "bound"]\n[axes]\nthreads = [256, 512]\n'
        "[set]\nintensity = 10\nlanes_width = 32\nms_peak = 1\nmem_latency = 600\n"
    )
    options = {
        "borders": ["--along", "threads"],
        "count": ["--where", "threads <= 512"],
        "explain": ["--point", "threads=512"],
        "histogram": ["--quantity", "cs_throughput"],
        "meets": ["--targets", "threads <= 512"],
        "optimum": ["--maximize", "cs_throughput", "--top", "2"],
        "pareto": ["--maximize", "cs_throughput", "--minimize", "threads"],
        "plan": ["--expand"],
        "quantiles": ["--quantity", "cs_throughput", "--q", "0.5"],
        "ranges": ["--within", "mem_latency=10%"],
        "sensitivity": ["--output", "cs_throughput"],
    }
    assert set(options) < verb_names()
    for name in verb_names():
        command, source = verb_command(name), str(study)
        result = CliRunner().invoke(command, ["--help"])
        assert result.exit_code == 0, name
        if name in options:
            for form in (["--json"], []):
                done = CliRunner().invoke(command, [source, *options[name], *form])
                assert done.exit_code == 0, (name, done.output, done.exception)
                assert json.loads(done.stdout) if form else done.stdout.strip()
