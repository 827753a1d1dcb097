"""README.md and pages of docs are true: their snippets run, in order, and print what is shown.

In a ``console`` block a line ``$ command`` is followed by what it prints, with ``...`` for whatever
is left out. A block whose fence names a file is that file; if the tree has none, it is written for
the snippets that follow.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.testing.compare import compare_images

from dse.cli import main
from tests.long import mostly_long

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
GUIDE = tuple(sorted((ROOT / "docs" / "guide").glob("*.md")))
QUESTIONS = ROOT / "docs" / "questions.md"
SPACES = ROOT / "docs" / "large-spaces.md"
BUILT = ROOT / "docs" / "architecture.md"
UNSURE = ROOT / "docs" / "uncertainty.md"
LAUNCH = ROOT / "docs" / "launch-law.md"
#: Root mean square by which a figure may differ, for other versions of matplotlib.
TOLERANCE = 6.0
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    language: str
    file: str
    text: str
    line: int


def read_blocks(page: Path) -> list[Block]:
    result = []
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
    for match in fence.finditer(text):
        language, file, body = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        result.append(Block(language=language, file=file or "", text=body, line=line))
    return result


#: Short pages, most for people who begin.
SHORT = (
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("install", "introduction", "suites", "first-study")
    ),
    *sorted((ROOT / "docs" / "ask").glob("*.md")),
)
PAGES = (README, TOUR, *GUIDE, QUESTIONS, SPACES, BUILT, UNSURE, LAUNCH, *SHORT)
BLOCKS = {page: read_blocks(page) for page in PAGES}
FILES = [block for blocks in BLOCKS.values() for block in blocks if block.file]
each_page = pytest.mark.parametrize("page", BLOCKS, ids=lambda page: page.name)


@pytest.fixture
def room(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples and the files that a page gives, to run its snippets in."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in BLOCKS[page]:
        if block.file and not (ROOT / block.file).exists():
            (tmp_path / block.file).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as Python does with the folder it runs in
    monkeypatch.delenv("DSE_PATH", raising=False)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with `dse` and `python` of this tree, whatever is installed."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    for name, module in (("dse", "-m dse "), ("python", "")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n')
        script.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )


def run_command(command: str, page: Path, folder: Path) -> tuple[int, str, str]:
    """Return status, output and errors of a command: in a shell for the tour, else in this process.

    A process each would take most of the time to load what is loaded here.
    """
    program, *arguments = shlex.split(command)
    if page == TOUR or program != "dse" or re.search(r"[|&;<>$`]", re.sub(r'"[^"]*"', "", command)):
        done = shell(command, folder)
        return done.returncode, done.stdout, done.stderr
    result = CliRunner().invoke(main, arguments, prog_name="dse")
    return result.exit_code, result.stdout, f"{result.stderr}{result.exception or ''}"


def prints(want: str, got: str) -> bool:
    """True if a text was printed as shown, up to white space and what ``...`` leaves out."""
    first, *between = re.split(r"\s*\.\.\.\s*", " ".join(want.split()))
    text = " ".join(got.split())
    if not between:
        return text == first
    *between, last = between
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in between:  # the leftmost place of each leaves the most for the others
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return text.endswith(last) and len(text) - len(last) >= place


def test_what_is_left_out_may_be_nothing_and_the_rest_may_not() -> None:
    assert prints("a\n...\nb  c\n", "a\nb c\n")
    assert prints("a ...", "a 1\n2\n")
    assert not prints("a ... c", "a b")
    assert not prints("a", "a b")


@each_page
def test_every_block_is_of_a_kind_that_is_checked(page: Path) -> None:
    shown = {"cuda"} if page == TOUR else set()  # the kernel that the tour is about
    assert {block.language for block in BLOCKS[page]} - shown <= {
        *("sh", "console", "python", "toml", "text")
    }
    for block in BLOCKS[page]:
        if block.language in ("toml", "text"):  # used by a command
            assert block.file, f"line {block.line}: name the file after the fence"
        if block.language == "python":
            assert block.file or ">>>" in block.text, f"line {block.line}: a prompt or a file"


@pytest.mark.parametrize("block", FILES, ids=lambda block: block.file)
def test_files_stand_as_shown(block: Block) -> None:
    shipped = ROOT / block.file
    assert block.text.strip()
    if block.file.startswith("examples/"):
        assert block.text == shipped.read_text(encoding="utf-8")
    else:
        assert not shipped.exists()


@pytest.mark.parametrize(
    "page",
    mostly_long(
        BLOCKS, lambda _, page: page in SHORT and page.stem not in ("suites", "first-study")
    ),
    ids=lambda page: page.name,
)
def test_snippets_print_what_is_shown(page: Path, room: Path) -> None:
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    names: dict[str, object] = {}
    failures: list[str] = []
    commands = 0
    for block in BLOCKS[page]:
        if block.language == "python" and not block.file:
            test = parser.get_doctest(block.text, names, page.name, str(page), block.line - 1)
            runner.run(test, out=failures.append, clear_globs=False)
            names = test.globs
            assert not failures, "".join(failures)
        elif block.language == "console":
            commands += run_commands(block, page, room)
    if page.parent.name == "ask":  # its figures are what its commands draw
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / name).stat().st_size < 60_000
            drawn, shown = str(room / name), str(page.parent / name)
            assert compare_images(shown, drawn, TOLERANCE) is None, name
    ran = runner.summarize(verbose=False).attempted
    brief = page in (README, *SHORT, *GUIDE)
    assert ran > 10 or (brief and ran + commands)
    if not brief:
        assert commands >= (1 if page in (SPACES, BUILT, UNSURE, LAUNCH) else 4)


def run_commands(block: Block, page: Path, room: Path) -> int:
    """Run the commands of a block, which must print what it shows; tell how many there are."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for part in parts:
        command, _, want = part.partition("\n")
        status, output, errors = run_command(command, page, room)
        assert status == 0, f"{command}\n{output}{errors}"
        assert prints(want, output), (
            f"$ {command}\nprinted\n{output}\n{page.name} line {block.line} shows\n{want}"
        )
    return len(parts)


def test_the_two_commands_are_single_lines_with_pip_alone() -> None:
    lines = [line for b in BLOCKS[README] if b.language == "sh" for line in b.text.splitlines()]
    commands = [line for line in lines if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    run, tests = commands
    assert "examples/kernels-on-gpus.toml --store kernels.zarr" in run
    assert tests.endswith(".venv/bin/python -m pytest -n 2 --dist worksteal")
    assert (ROOT / "examples/kernels-on-gpus.toml").is_file()
    for command in commands:
        assert command.count("&&") == 2
        assert re.findall(r"\.venv/bin/pip install (\S+)", command)
        syntax = subprocess.run(["sh", "-n", "-c", command], check=False)
        assert syntax.returncode == 0


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    has_image = any(target.endswith(".png") for target in targets)
    assert page in (SPACES, BUILT, UNSURE, LAUNCH, *GUIDE, *SHORT) or has_image
    files = [target for target in targets if "generated/" not in target]  # Sphinx looks
    assert [target for target in files if not (page.parent / target).is_file()] == []


def test_the_house_is_the_one_that_stands() -> None:
    named = set(re.findall(r"`((?:dse|sweeps|symbolic|stochastic)(?:/\w+)?)`", BUILT.read_text()))
    folders = {
        str(path.relative_to(ROOT))
        for package in ("dse", "sweeps", "symbolic", "stochastic")
        for path in [ROOT / package, *(ROOT / package).iterdir()]
        if path.is_dir() and path.name != "__pycache__"
    }
    assert folders <= named
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []


def test_unrelated_projects_of_the_same_name_are_mentioned() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert "unrelated projects named `dse` and `stochastic`" in text
    assert "virtual environment is advised" in text


def test_answers_of_exercises_are_what_python_prints() -> None:
    """Answer 8 had an optimum of an earlier model; its block is indented, as a list's is."""
    page = ROOT / "docs" / "introduction.md"
    result = doctest.testfile(str(page), module_relative=False, verbose=False)
    assert result.attempted > 20
    assert result.failed == 0
