"""An interrupted search hands back the best so far; machine code is waited for in time."""

from __future__ import annotations

import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import sweeps.bounds.search
import sweeps.nest.tiles
import sweeps.scan.optimum
from dse import signals
from dse.cli import main
from sweeps.runtime import interrupts
from sweeps.runtime.interrupts import Interrupted, run_with_deadline
from sweeps.runtime.search_loop import iterate_batches
from symbolic.answer import Answer
from symbolic.errors import OutOfTimeError
from tests.sweeps.test_time_limits import launch

SETTING = """
model = "occupancy + ipp"
machine = "gtx280"
workload = "svm"
[axes]
threads_per_block = { start = 32, stop = 512, step = 32 }
registers_per_thread = { start = 8, stop = 39 }
shared_mem_per_block = { start = 0, stop = 16384, step = 1024 }
active_sms = { start = 1, stop = 30 }
core_clock = { linspace = [8e8, 1.6e9, 8] }
"""


@pytest.fixture
def struck(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Interrupts this process after so many looks of a search at whether it is to end."""

    def after(looks: int) -> None:
        seen = 0

        def has_stopped() -> bool:
            nonlocal seen
            seen += 1
            if seen == looks:
                signal.raise_signal(signal.SIGINT)
            return interrupts.is_interrupted()

        monkeypatch.setattr("sweeps.runtime.search_loop.is_interrupted", has_stopped)

    return after


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C, which a shell has those ignore that it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def best() -> float:
    return float(launch().optimum(minimize="energy", method="certified").energy)


@pytest.mark.parametrize("looks", [2, 20, 60])
def test_a_proof_hands_back_the_best_so_far(
    looks: int, struck: Callable[..., None], best: float
) -> None:
    struck(looks)
    with pytest.raises(KeyboardInterrupt) as caught:
        launch().optimum(minimize="energy", method="certified")
    assert isinstance(caught.value, Interrupted)
    result = caught.value.best
    if result is None:
        assert looks == 2
        return
    assert result.attrs["interrupted"] == 1
    assert result.attrs["bound"] <= best <= float(result.energy)
    assert "study" in result.attrs
    assert not interrupts.is_interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_scan_hands_back_the_best_so_far(
    struck: Callable[..., None], best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.scan.optimum, "REDUCED_TILE", 1 << 12)
    monkeypatch.setattr("sweeps.nest.tiles.TILE_POINTS", 1 << 12)
    struck(12)
    with pytest.raises(Interrupted) as caught:
        launch().optimum(minimize="energy", method="scan")
    result = caught.value.best
    assert best <= float(result.energy)
    assert 0 < result.attrs["points_left"] < launch().grid().points
    struck(12)
    with pytest.raises(Interrupted) as caught:
        launch().pareto(minimize=["energy", "time"], method="scan")
    assert caught.value.best.attrs["points_left"] > 0


def test_batches_in_turn_tell_what_is_left(struck: Callable[..., None]) -> None:
    @interrupts.return_best_on_interrupt
    def question() -> Any:
        left: list[int] = []
        seen = list(iterate_batches([("a", 3), ("b", 2), ("c", 1)], 6, left.append))
        return xr.Dataset(attrs={"seen": seen, "left": left})

    assert question().attrs == {"seen": ["a", "b", "c"], "left": []}
    struck(2)
    with pytest.raises(Interrupted) as caught:
        question()
    assert caught.value.best.attrs == {"seen": ["a"], "left": [3], "interrupted": 1}


def test_other_searches(struck: Callable[..., None]) -> None:
    struck(5)
    with pytest.raises(Interrupted) as caught:
        launch().pareto(minimize=["energy", "time"], method="certified")
    assert caught.value.best is None or caught.value.best.attrs["complete"] == 0
    struck(20)
    with pytest.raises(Interrupted) as caught:
        launch().optimum(minimize=["time", "energy"], method="certified")
    assert caught.value.best is None or caught.value.best.attrs["interrupted"] == 1
    struck(30)
    with pytest.raises(Interrupted, match=r"not proven in time|could be listed in time"):
        launch().optimum(minimize="energy", within=0.01, method="certified")
    struck(2)
    with pytest.raises(Interrupted) as caught:
        dse.meets(launch(), "energy <= 20 mJ")
    assert caught.value.best.attrs["complete"] == 0
    assert int(caught.value.best.inner) < int(caught.value.best.outer)


def test_the_second_interrupt_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> bool:
        signal.raise_signal(signal.SIGINT)
        return False

    monkeypatch.setattr("sweeps.runtime.search_loop.is_interrupted", twice)
    with pytest.raises(KeyboardInterrupt) as caught:
        launch().optimum(minimize="energy", method="certified")
    assert not isinstance(caught.value, Interrupted)


def test_another_thread_is_not_interrupted(best: float) -> None:
    result: list[float] = []

    def ask() -> None:
        result.append(float(launch().optimum(minimize="energy", method="certified").energy))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert result == [best]


def test_the_command_tells_the_best_so_far(
    struck: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SETTING)
    struck(40)
    command = ["optimum", "study.toml", "--minimize", "energy", "--method", "certified"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 130
    assert "not proven: lower bound" in result.stdout
    assert ", gap " in result.stdout
    struck(40)
    result = CliRunner().invoke(main, [*command, "--json"])
    assert result.exit_code == 130
    assert '"interrupted": true' in result.stdout
    struck(2)
    result = CliRunner().invoke(main, ["meets", "study.toml", "--where", "energy <= 20 mJ"])
    assert result.exit_code == 130
    assert "configurations that meet energy <= 20 mJ: between" in result.stdout


# --- machine code


def test_machine_code_is_waited_for_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_MIN_LOAD_SECONDS", 0.1)
    over = threading.Event()
    began = time.monotonic()
    with pytest.raises(OutOfTimeError, match="the time was up while it was made, which is done"):
        run_with_deadline(lambda: over.wait(60), began + 0.2, "it was made")
    assert time.monotonic() - began < 30
    assert interrupts.has_background_work()
    over.set()
    with pytest.raises(ValueError, match="broken"):
        run_with_deadline(lambda: int("broken"), began + 60, "it was made")
    made: list[int] = []
    run_with_deadline(lambda: made.append(1), 0.0, "it was made")
    assert made == [1]
    limit = time.monotonic() + 30
    while interrupts.has_background_work() and time.monotonic() < limit:
        time.sleep(0.01)
    assert not interrupts.has_background_work()


def test_a_limit_counts_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_MIN_LOAD_SECONDS", 0.1)
    monkeypatch.setattr(sweeps.bounds.search, "_load_done", [])
    over = threading.Event()
    monkeypatch.setattr(sweeps.bounds.search, "_run_empty_search", lambda: over.wait(60))
    for ask in (
        lambda: launch().optimum(minimize="energy", time_limit=0.1),
        lambda: launch().optimum(minimize=["energy", "time"], time_limit=0.1),
        lambda: launch().optimum(minimize="energy", within=0.01, time_limit=0.1),
    ):
        with pytest.raises(OutOfTimeError, match="while the search was compiled"):
            ask()
    over.set()


# --- signals


def test_what_is_dropped_is_raised_again() -> None:
    """An exception within the callback of a weak reference goes nowhere."""

    class Thing:
        pass

    def callback(_: Any) -> None:
        signal.raise_signal(signal.SIGTERM)

    def work() -> None:
        thing = Thing()
        reference = weakref.ref(thing, callback)
        del thing
        assert reference() is None
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            time.sleep(0.01)

    hook = sys.unraisablehook
    with pytest.raises(signals.SignalReceived) as caught, signals.signals_as_exceptions():
        work()
    assert caught.value.number == signal.SIGTERM
    assert sys.unraisablehook is hook
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_is_lost_counts_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: Any, **__: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException:
            return {}
        return None

    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(SETTING)
    members = {"_answer": lambda _: Answer(title="plan"), "to_dict": lose, "assumptions": ()}
    monkeypatch.setattr("dse.study.plan.make_plan", lambda *_, **__: type("P", (), members)())
    result = CliRunner().invoke(main, ["plan", "study.toml", "--json"])
    assert result.exit_code == 143
    assert "terminated" in result.stderr
