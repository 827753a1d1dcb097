"""Read the input of a command, print its answer, and choose its exit status."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import dse
from dse.cli.options import (
    allow_named_files,
    echo,
    nonempty_options,
    override_inputs,
    source_path_argument,
)
from dse.signals import SignalReceived, received_signal, report_interrupt
from dse.signals import signals_as_exceptions as listening_to_signals
from stochastic.checks import LawError
from sweeps.runtime.interrupts import Interrupted
from symbolic.answer import fold_lines, terminal_width, to_json, wide_tables
from symbolic.errors import (
    DamagedError,
    DseError,
    InfeasibleError,
    InternalError,
    OtherProcessError,
    OutOfTimeError,
    TooLargeError,
    UnfinishedError,
    UnreachableError,
)
from symbolic.safe_text import escape_controls

if TYPE_CHECKING:
    import subprocess

    import xarray as xr

    from dse.study.comparison import ComparisonData
    from dse.study.study import BestQuery, StudyData
    from sweeps.runtime.progress import Progress

#: A study or a Dataset, which a command queries.
Source: TypeAlias = "StudyData | xr.Dataset"
#: Maximum number of characters of an error message; a name in a file may have millions.
_LONGEST = 20_000
#: Exit status of a command whose search was ended by a limit before its answer was proven.
UNPROVEN = 3
_OUT = "Also write the answer to a new file: .json, .csv, .parquet, .nc, .zarr, or .toml (a study)."

#: Key of the exit status in click's context, for commands that still print an answer.
_STATUS = "dse.status"
#: Errors that do not come from wrong input; the exit status is 1.
_FAILURES = (
    *(DamagedError, InfeasibleError, OtherProcessError, TooLargeError, UnfinishedError),
    UnreachableError,
)
#: Values of ``errno`` that a wrong path causes; any other value is a failure of the system.
_INPUT_ERRNOS = {
    None,  # a library raised an OSError without errno
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO),
}


def _error_message(error: Exception) -> str:
    """Return the text of an error; for missing values, also name models that compute them."""
    text = str(error)
    if not text.endswith("or join a model that yields it"):
        return text
    from dse.catalog.models import models

    sources: dict[str, str] = {}
    for name in re.findall(r"^  (\w+)[, ]", text, flags=re.MULTILINE):
        able = [each for each in models().values() if name in each.yields]
        if able:
            sources[name] = min(able, key=lambda each: len(each.equations)).name
    named = ", ".join(f"{model} for {name}" for name, model in sources.items())
    if "power" in sources:  # no model of the power of a kernel has its energies on a modern GPU
        named += ", with energies that no machine file has; of a counted kernel, take average_power"
        named += " or energy of latency_roofline, or set power_limit_share, such as 0.8"
    return f"{text}: {named}" if named else text


class _CommandError(click.ClickException):
    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        object.__setattr__(self, "exit_code", status)

    def format_message(self) -> str:
        return error_text(self.message)


class InputError(_CommandError):
    """Error for a wrong option, name or input."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 2)


def _as_command_error(error: Exception) -> _CommandError | None:
    """Convert an exception to a command error; return None if it is a bug of this program."""
    text = str(error)
    if isinstance(error, (DseError, LawError)):
        if isinstance(error, OutOfTimeError):
            return _CommandError(_error_message(error), UNPROVEN)
        failed = isinstance(error, _FAILURES) or isinstance(error.__cause__, OSError)
        return _CommandError(_error_message(error)) if failed else InputError(_error_message(error))
    if isinstance(error, InternalError):
        return _CommandError(text, 70)  # EX_SOFTWARE of sysexits.h: a bug of this program
    if isinstance(error, ValueError) and "checksum do not match" in text:
        return _CommandError(
            "a chunk of the store is damaged: dse verify names it, --repair computes it again"
        )
    if isinstance(error, MemoryError):
        detail = text or "no more is available"
        return _CommandError(f"not enough memory: {detail}; dse plan shows how much a run needs")
    if isinstance(error, RuntimeError) and "can't start new thread" in text:
        return _CommandError(
            "no more threads can be started: the system or a limit on this session forbids it; "
            "end other programs, or raise the limit (ulimit -u)"
        )
    if isinstance(error, OSError) and error.errno != errno.EPIPE:
        return _CommandError(text)
    return None


class Commands(click.Group):
    """Group of commands that converts expected exceptions to a message and an exit status."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command that the arguments name, then end the process."""
        with listening_to_signals():
            try:
                return super().main(*args, **options)
            except SignalReceived as stopped:
                sys.exit(report_interrupt(stopped))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            with show_wait_line(), plain_warnings():
                result = super().invoke(ctx)
            number = received_signal()
            if number is not None:  # C code swallowed the exception that the signal raised
                ctx.exit(report_interrupt(SignalReceived(number)))
            if status := ctx.meta.get(_STATUS):
                ctx.exit(status)
            return result
        except (SignalReceived, KeyboardInterrupt) as stopped:
            ctx.exit(report_interrupt(stopped))
        except click.ClickException as error:
            object.__setattr__(error, "message", error_text(error.message))
            raise
        except Exception as error:
            if (failure := _as_command_error(error)) is None:
                raise
            raise failure from error


def set_exit_status(status: int) -> None:
    """Set the exit status of the current command; the command still prints its answer."""
    click.get_current_context().meta[_STATUS] = status


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert errors in the input to an :class:`InputError`; system errors keep exit status 1."""
    try:
        yield
    except (DamagedError, UnfinishedError, UnreachableError):
        raise
    except (DseError, LawError) as error:
        cause = error.__cause__
        failed = isinstance(cause, OSError) and cause.errno not in _INPUT_ERRNOS
        raise (_CommandError if failed else InputError)(_error_message(error)) from error


def best_on_interrupt(search: Callable[[], xr.Dataset]) -> xr.Dataset:
    """Run a search and return its answer; after an interrupt, return the best result so far.

    An interrupt also sets the exit status to 130. The answer may hold bare arrays, which
    :func:`sweeps.grid.dataset.arrays_of` reads.
    """
    from sweeps.grid.dataset import answers_as_arrays

    try:
        with answers_as_arrays():
            return search()
    except Interrupted as stopped:
        if stopped.best is None:
            raise
        set_exit_status(128 + signal.SIGINT)
        result: xr.Dataset = stopped.best
        return result


def command(
    *examples: str, name: str | None = None, command_class: type[click.Command] = click.Command
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator that makes a command with --json, --wide, --out and examples.

    A command that has its own parameter ``out`` does not get the option --out.

    The decorated function returns an object that has the methods ``__str__`` and ``to_dict``, as a
    :class:`symbolic.answer.Answer` has; or None, which prints nothing.
    """
    epilog = "\b\nExample:\n" + "\n".join(f"  {line}" for line in examples)

    def decorate(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def run_and_print(
            *args: Any, as_json: bool, wide: bool, answer_file: str | None = None, **options: Any
        ) -> None:
            path = None
            if answer_file is not None:
                from dse.answer_file import SUFFIXES, write_answer

                path = new_file(answer_file, *SUFFIXES)
            answer = function(*args, **options)
            if answer is not None:
                with wide_tables() if wide else nullcontext():
                    text = to_json(answer.to_dict()) if as_json else str(answer)
                    echo(text, fold=not as_json)
            if path is not None and path.suffix == ".toml" and hasattr(answer, "write_study"):
                with input_errors():
                    echo(f"wrote {' and '.join(map(str, answer.write_study(path)))}", err=as_json)
            elif answer is not None and path is not None:
                is_study = path.suffix == ".toml" and "source" in options
                source = read_source(options["source"]) if is_study else None
                write_answer(answer.to_dict(), path, source, getattr(answer, "certificate", ""))

        made: click.Command = click.command(name, cls=command_class, epilog=epilog)(run_and_print)
        wide = "Print all columns of a table, also those beyond the terminal's width."
        made.params.append(click.Option(["--wide"], is_flag=True, help=wide))
        if "out" not in {param.name for param in made.params}:
            made.params.append(click.Option(["--out", "answer_file"], metavar="FILE", help=_OUT))
        as_json = "Print the answer as one JSON document."
        made.params.append(click.Option(["--json", "as_json"], is_flag=True, help=as_json))
        return made

    return decorate


def new_file(out: str, *suffixes: str) -> Path:
    """Return the path of a new file; raise InputError if its suffix is wrong or it exists."""
    path = Path(out)
    if path.suffix not in suffixes or not path.absolute().parent.is_dir():
        formats = ", ".join(suffixes)
        raise InputError(f"{out}: expected a name that ends in {formats}, in a folder that exists")
    if path.exists() or path.is_symlink():
        raise InputError(f"{out} exists already: choose another name, or remove it")
    return path


def is_interactive() -> bool:
    """True if there is a terminal on which the user can answer questions."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _read_study_file(path: str) -> StudyData | ComparisonData:
    """Read a study file; ask the user before a model file from elsewhere runs."""
    from dse.study.file import is_trusted
    from dse.verbs.sources import load_study_file

    folder = Path(path).resolve().parent

    def is_allowed(file: Path) -> bool:
        if is_trusted(file, folder):
            return True
        what = f"{path} runs the Python file {str(file)!r}, outside its folder and DSE_PATH"
        if not is_interactive():
            raise InputError(
                f"{what}, and there is no terminal to ask on: read it (dse plan --no-code names "
                f"the code), then allow its folder: DSE_PATH={shlex.quote(str(file.parent))}"
            )
        return click.confirm(escape_controls(f"{what}. Run it?"), err=True)

    with input_errors():
        return load_study_file(path, is_allowed)


def read_study(path: str) -> StudyData:
    """Read a study file with one model; raise InputError if it compares several models."""
    from dse.study.study import StudyData

    study = _read_study_file(path)
    if not isinstance(study, StudyData):
        raise InputError(
            f"{path} compares several models: use dse disagreement, dse optimum or dse pareto "
            "(dse disagreement --store OUT.zarr keeps the dataset), or name one model"
        )
    return warn_odd_numbers(study)


def warn_odd_numbers(study: StudyData, original: StudyData | None = None) -> StudyData:
    """Warn of unusual unitless numbers that ``original`` does not have; return the study."""
    from dse.study.plan import unusual_numbers

    known = unusual_numbers(original) if original is not None else ()
    for text in unusual_numbers(study):
        if text not in known:
            echo(f"warning: {text}", err=True)
    return study


def change_study(source: Any, axes: Mapping[str, Any], set_values: Mapping[str, str]) -> Any:
    """Return a study after --axis and --set have replaced axes and values of its file."""
    from dse.study.study import StudyData
    from sweeps.grid.goals import texts_of

    if not axes and not set_values:
        return source
    if not isinstance(source, StudyData):
        raise click.UsageError("--axis and --set change a study of one model: give its file")
    fields = {name: getattr(source, name) for name in ("machine", "workload", "axes", "set")}
    folder = allow_named_files(source.folder, set_values, axes)
    best = dict(source.best or {})
    if "per" in best:  # an axis that has one value now
        best["per"] = [name for name in texts_of(best["per"], "per") if name not in set_values]
    with input_errors():
        changes = override_inputs(fields, set_values, axes) | {"best": best or None}
        return warn_odd_numbers(replace(source, folder=folder, **changes), source)


def read_source(path: str, *, values: bool = False) -> Source:
    """Return a study or a Dataset; ``values`` asks for the Dataset of a store."""
    from dse.verbs.query import resolve_source

    if Path(path).suffix == ".toml":
        return resolve_source(_read_study_file(path))
    with input_errors():
        source = resolve_source(path, values=values)
    attributes = getattr(source, "attrs", {})
    if "statuses" in attributes:
        _print_assumptions(json.loads(attributes.get("assumptions", "[]")))
    return source


def source_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument SOURCE; the function gets the study or Dataset that the path names."""

    @wraps(function)
    def read_and_call(source: str, **options: Any) -> Any:
        from dse.verbs.sources import with_quantity_names

        read = read_source(source)
        return function(read, **with_quantity_names(read, options))

    return source_path_argument(read_and_call)


def print_table_assumptions(path: str) -> None:
    """Print the assumptions under which a CSV file is read; do nothing for other files."""
    from dse.fitting.rows import read_table

    if path.lower().endswith(".csv") and Path(path).is_file():
        with input_errors():
            _print_assumptions(read_table(path).assumptions)


def _print_assumptions(texts: Iterable[str]) -> None:
    from stochastic.delimited import USUAL_FORMAT

    for text in texts:
        if text != USUAL_FORMAT:
            echo(f"assumed: {text}", err=True)


def read_comparison(path: str) -> tuple[xr.Dataset, dict[str, Any]]:
    """Return the Dataset of several models, and the query in [best] if the path is a study file."""
    from dse.study.study import StudyData

    if Path(path).suffix != ".toml":
        return read_source(path, values=True), {}  # type: ignore[return-value]
    read = _read_study_file(path)
    if isinstance(read, StudyData):
        raise InputError(f"{path} names one model: expected a list, model = [..., ...]")
    first = next(iter(read.each.values()))
    return dse.run(read), dict(first.best or {})


@contextmanager
def progress_from_option(
    style: str, objective: tuple[str, str] | None = None
) -> Iterator[Callable[[Progress], None] | bool]:
    """Yield the progress listener for a value of --progress; yield False for ``none``."""
    from dse.progress import JsonLines, Meter

    if style == "none":
        yield False
        return
    listener = (JsonLines if style == "json" else Meter)(objective)
    try:
        yield listener
    finally:
        listener.close()


def query_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query that the options describe, in the form of a study's ``[best]``."""
    names = ("minimize", "maximize", "per", "where", "top")
    query = nonempty_options({name: options.get(name) for name in names})
    single = {name: query[name][0] for name in names[:2] if len(query.get(name, ())) == 1}
    return query | single


def read_query(source: Source | ComparisonData, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query of the options or of the source's ``[best]``, as keywords of a verb."""
    from dse.study.study import StudyData

    study_query = source.best if isinstance(source, StudyData) else None
    best = query_from_options(query_options(options), study_query)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    return best.as_keywords()


def query_from_options(
    query: Mapping[str, Any], study_query: Mapping[str, Any] | None
) -> BestQuery | None:
    """Return the query of the options; options without an objective change the study's query."""
    from dse.study.study import read_best

    if "minimize" in query or "maximize" in query:
        return read_best(query, origin="the question")
    if study_query is not None:
        return read_best({**study_query, **query}, origin="the question")
    if query:
        raise click.UsageError(
            f"--{next(iter(query))} needs an objective: give --minimize or --maximize a quantity, "
            "or the study a table [best]"
        )
    return None


def error_text(text: str) -> str:
    """Return an error message for a terminal, whose second and further lines are indented."""
    text = escape_controls(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")
    first, *rest = text.split("\n")
    width = terminal_width(sys.stderr)
    folded = fold_lines(first, width and width - len("Error: "))
    more = (f"  {line}" if line[:1].strip() else line for line in rest)
    return "\n".join([folded, *(fold_lines(line, width) for line in more)])


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Replace control characters in warnings by their codes, as :func:`echo` does."""
    before = warnings.formatwarning

    def format_warning(*args: Any, **options: Any) -> str:
        return escape_controls(before(*args, **options))

    warnings.formatwarning = format_warning
    try:
        yield
    finally:
        warnings.formatwarning = before


#: Seconds until a terminal shows a line that says that the command works.
_SOON = 0.1
_OFTEN = 0.2
_CLEAR = "\r\x1b[K"


class _FirstWriteStream:
    def __init__(self, stream: Any, before: Any) -> None:
        self._stream, self._before = stream, before

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "write", "writelines"):
            self._before()
        return getattr(self._stream, name)


class _WaitLine:
    """Line on the terminal that a thread updates until a command writes something or ends."""

    def __init__(self) -> None:
        self._began, self._over, self._lock = time.monotonic(), False, threading.Lock()
        self._stopped = threading.Event()
        self._out, self._err = sys.stdout, sys.stderr
        self._first = _FirstWriteStream(self._out, self.end), _FirstWriteStream(self._err, self.end)
        self._shown = False
        sys.stdout, sys.stderr = self._first
        threading.Thread(target=self._update, daemon=True, name="waiting").start()

    def _update(self) -> None:
        pause, what = _SOON, "working"
        while not self._stopped.wait(pause):
            pause = _OFTEN
            with self._lock:
                if self._over:
                    return
                self._shown = True
                if "stochastic.compile_cache.build" in sys.modules:
                    what = "compiling once for this machine"
                self._err.write(f"{_CLEAR}{what}: {time.monotonic() - self._began:.0f} s so far")
                self._err.flush()

    def end(self) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
            self._stopped.set()
            for name, first, stream in zip(
                ("stdout", "stderr"), self._first, (self._out, self._err), strict=True
            ):
                if getattr(sys, name) is first:
                    setattr(sys, name, stream)
            if self._shown:
                self._err.write(_CLEAR)
                self._err.flush()


@contextmanager
def show_wait_line() -> Iterator[None]:
    """Show a line with the elapsed time on a terminal until the command prints something."""
    if not sys.stderr.isatty():
        yield
        return
    line = _WaitLine()
    try:
        yield
    finally:
        line.end()


@contextmanager
def compile_in_background(
    program: str, waited_functions: Collection[str] = (), first_function: str | None = None
) -> Iterator[Callable[[], None]]:
    """Run a Python program that fills the compile cache, in a second process.

    The program starts when this process must compile ``first_function`` (default: any function
    except ``waited_functions``). Before this process compiles one of ``waited_functions``, it waits
    for the program. Yields a function that waits for the program. Without a cache or a second core
    the program does not run.
    """
    from stochastic.compile_cache import cache_folder, compile_listener

    others: list[subprocess.Popen[bytes]] = []
    useless = cache_folder() is None or (os.cpu_count() or 1) < 2

    def on_compile(name: str) -> None:
        if name in waited_functions:
            wait()
        if others or useless or name in waited_functions or first_function not in (None, name):
            return
        import subprocess

        nothing = subprocess.DEVNULL
        with suppress(OSError):
            command = [sys.executable, "-P", "-c", program]  # -P: import nothing from this folder
            others.append(subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing))

    def wait() -> None:
        for other in others:
            other.wait()

    try:
        with compile_listener(on_compile):
            yield wait
    finally:
        for other in others:
            other.kill()
            other.wait()
