"""Run every documented command in two source trees; compare its JSON and its exit status.

python -m tests.dse.documented OTHER_TREE [PAGE ...]
python -m tests.dse.documented record FILE.json TREE     (then FILE.json stands for the other tree)

Commands are those in the console blocks of README.md and docs, those that docs/papers.md names, and
the examples at the end of each command's help. Each runs with --json, those of a page in order in a
folder of their own with the shipped examples and the files that the page gives. Every difference is
printed; the exit status is 1 if there is one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Names of values that differ from run to run: times, sizes of files, where the program lies.
VOLATILE = {
    *("seconds", "compiling_seconds", "computing_seconds", "points_per_second"),
    *("bytes", "store_bytes", "simt_dse_version", "findings"),
}
#: Commands that never end, or whose answer is a measurement of this machine.
LEFT_OUT = ("--serve", "--scheduler", "s3://", "dse measure", "dse doctor")
SHELL = re.compile(r"[|&;<>$`\n]")
#: Runs the commands of standard input in this process, and prints a JSON line for each.
WORKER = """
import json, shlex, sys, warnings
from click.testing import CliRunner
from dse.cli import main
for command in json.load(sys.stdin):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"], prog_name="dse")
    error = done.exception if not isinstance(done.exception, SystemExit) else None
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    row = {"command": command, "status": done.exit_code, "output": done.stdout}
    print(json.dumps(row | {"error": "\\n".join([*lines, repr(error) if error else ""])}))
"""


def commands_of(page: Path) -> Iterator[str]:
    """Yield the commands of a page, in order."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        yield from re.findall(r"^\$ (dse .*)$", block, re.M)
    if page.name == "papers.md":
        yield from re.findall(r"`(dse [^`]*)`", text)


def examples_of_help() -> Iterator[str]:
    """Yield the examples at the end of each command's help."""
    from dse.cli import main

    for each in main.commands.values():
        text = (each.epilog or "").partition("Example:")[2]
        yield from re.findall(r"^ *(dse .*)$", text, re.M)


def documented_pages(names: list[str]) -> Iterator[tuple[str, Path | None, list[str]]]:
    """Yield the name, the path and the commands of each page that has any."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        if (not names or page.name in names) and "generated" not in page.parts:
            yield page.name, page, list(dict.fromkeys(filter(runs, commands_of(page))))
    if not names or "help" in names:
        yield "help", None, list(dict.fromkeys(filter(runs, examples_of_help())))


def runs(command: str) -> bool:
    """True if a command needs no shell, network or GPU and ends."""
    bare = re.sub(r'"[^"]*"|\'[^\']*\'', "", command)
    return not SHELL.search(bare) and not any(text in command for text in LEFT_OUT)


def furnish(page: Path | None, room: Path) -> None:
    """Put the shipped examples into a folder, and the files that a page gives."""
    shutil.copytree(ROOT / "examples", room / "examples")
    text = page.read_text(encoding="utf-8") if page is not None else ""
    for name, body in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.M | re.S):
        if not (room / name).exists():
            (room / name).write_text(body, encoding="utf-8")


def answers(tree: Path, page: Path | None, commands: list[str]) -> list[dict[str, Any]]:
    """Return status, output and error of each command in a source tree."""
    cache = os.environ.get("DSE_CACHE", "")
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONIOENCODING": "utf-8"}
    environment |= {"DSE_CACHE": f"{cache}-{tree.name}"} if cache else {}
    environment.pop("DSE_PATH", None)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder) / "room"
        furnish(page, room)
        done = subprocess.run(
            [sys.executable, "-c", WORKER],
            input=json.dumps(commands),
            cwd=room,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        text = done.stdout.replace(folder, "FOLDER")
    return [json.loads(line) for line in text.splitlines()]


def steady(value: Any) -> Any:
    """Return a JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: steady(one) for name, one in value.items() if name not in VOLATILE}
    return [steady(one) for one in value] if isinstance(value, list) else value


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Yield where two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            if name not in one or name not in other:
                yield f"{place}.{name} is only in {'this' if name in other else 'the other'} tree"
            else:
                yield from differences(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        yield from chain.from_iterable(
            differences(*pair, f"{place}[{number}]") for number, pair in enumerate(pairs)
        )
    elif one != other:
        yield f"{place}: {str(one)[:300]} became {str(other)[:300]}"


def compare_answers(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return where the answers of two trees to one command differ."""
    result = [f"exit status {before['status']} became {after['status']}"]
    result = result if before["status"] != after["status"] else []
    try:
        read = [steady(json.loads(each["output"])) for each in (before, after)]
    except ValueError:
        read = [each["output"] for each in (before, after)]
    return [*result, *differences(*read), *differences(before["error"], after["error"], "error")]


def record(file: Path, tree: Path) -> None:
    """Write the answers of a tree into a file."""
    result = {name: answers(tree, page, commands) for name, page, commands in documented_pages([])}
    file.write_text(json.dumps(result, indent=1), encoding="utf-8")


def compare(other: Path, names: list[str]) -> int:
    """Print every difference between this tree and another; return how many commands differ."""
    known = json.loads(other.read_text(encoding="utf-8")) if other.is_file() else None
    total = failed = wrong = 0
    for name, page, commands in documented_pages(names):
        if not commands:
            continue
        before = known.get(name, []) if known else answers(other, page, commands)
        after = {row["command"]: row for row in answers(ROOT, page, commands)}
        for row in before:
            if row["command"] not in after:
                print(f"{name}: {row['command']} is no longer documented")
                continue
            total, failed = total + 1, failed + (row["status"] != 0)
            if result := compare_answers(row, after[row["command"]]):
                wrong += 1
                print(f"{name}: {row['command']}", *result[:12], sep="\n    ", flush=True)
    print(f"{total} commands ({failed} with an exit status other than 0), {wrong} differ")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "record":
        sys.exit(record(Path(sys.argv[2]), Path(sys.argv[3]).resolve()))
    sys.exit(bool(compare(Path(sys.argv[1]).resolve(), sys.argv[2:])))
