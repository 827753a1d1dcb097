"""The command `dse new`: a commented file to start from, which works as it stands."""

from __future__ import annotations

from pathlib import Path

import click

from dse.cli.ends import Misused, reading
from dse.cli.frame import example, in_json, put

__all__ = ["new"]

#: What a file starts from where nothing is named.
_FROM = {"machine": "gtx280", "workload": "svm"}

_STUDY = """\
# A study: a model, its values, and the axes along which some of them vary.
#
#     dse plan {out}     what a run would do, before any work
#     dse run {out}      the best configuration (--store OUT.zarr keeps all of them)

model = "occupancy + mwp_cwp"       # dse models lists them
machine = "gtx280"                  # dse machines lists them, or the path of a file
workload = "svm"                    # dse workloads lists them, or the path of a file
outputs = ["time", "case", "occupancy"]
# where = ["occupancy >= 0.5"]      # what every configuration must hold

[axes]                              # several values, or a range; of machine and workload too
threads_per_block = {{ start = 64, stop = 512, step = 32 }}
active_sms = {{ start = 1, stop = 30 }}
# core_clock = ["1.1 GHz", "1.2 GHz", "1.3 GHz"]

[set]                               # one value each, before those of workload and machine
# mem_bandwidth = "160 GB/s"        # dse quantities lists names and units

[best]                              # what dse run and dse optimum look for
minimize = "time"
# per = ["active_sms"]              # a winner for each value
"""


@click.command(
    epilog=example(
        "dse new study study.toml",
        "dse new machine a100.toml --from cc8.0",
        "dse new workload mine.toml --from svm",
    )
)
@click.argument("kind", type=click.Choice(["study", "machine", "workload"]))
@click.argument("out", metavar="OUT.toml", type=click.Path(dir_okay=False))
@click.option(
    "--from",
    "base",
    metavar="NAME",
    help="The machine or workload to start from. [gtx280 or svm]",
)
@in_json
def new(kind: str, out: str, base: str | None, as_json: bool) -> None:
    """Write a commented file to start from: a study, a machine or a workload.

    It works as it stands. A machine or workload starts from another's values, which its file shows
    as comments: a line stands once the mark before it is taken away.
    """
    path = Path(out)
    if path.suffix != ".toml" or not path.parent.is_dir():
        raise Misused(f"{out}: expected a name that ends in .toml, in a folder that exists")
    if kind == "study" and base is not None:
        raise Misused("--from is of a machine or a workload; a study names its own in its file")
    with reading():
        text = _STUDY.format(out=out) if kind == "study" else _entry_text(kind, path, base)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Misused(f"{out} is there already: choose another name, or remove it") from None
    put(as_json, {"kind": kind, "written": path}, lambda: f"{path} (a {kind} to start from)")


def _entry_text(kind: str, path: Path, base: str | None) -> str:
    """The file of a machine or workload that has all values of another."""
    import json

    from dse.catalog import machine, workload
    from symbolic.quantities import TABLE

    name = base or _FROM[kind]
    entry = (machine if kind == "machine" else workload)(name)
    named = str(Path(name).resolve()) if name.endswith(".toml") else name

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = [
        f"# A {kind} that starts from {name}: what is not said here is as there.",
        "# Take the mark away before a line and give your own value, with its source, or with",
        '# assumed = "why". dse quantities NAME tells of a quantity; dse '
        f"{kind}s {path} shows all.",
        "",
        f"title = {text(f'{path.stem}, from {entry.title}')}",
        f'kind = "{kind}"',
        f"base = {text(named)}",
        "",
        "[values]",
    ]
    known = {**TABLE, **{row.name: row for row in entry.declared}}

    def told(quantity: str) -> str:
        row = known[quantity]
        return row.meaning + (f" [{row.unit}]" if row.unit not in ("", "1") else "")

    for quantity, value in entry.values.items():
        origin = "source" if value.source else "assumed"
        said = f"value = {text(value.value)}, {origin} = {text(value.source or value.assumed)}"
        lines += [f"# {told(quantity)}", f"# {quantity} = {{ {said} }}"]
    others = machine(_FROM[kind]).values if kind == "machine" else {}
    lacking = [name for name in others if name not in entry.values]
    lines += ["", f"# what {name} does not tell and models may ask for:"] if lacking else []
    lines += [f"# {each} = ...  {told(each)}" for each in lacking]
    return "\n".join(lines) + "\n"
