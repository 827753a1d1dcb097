"""Progress on standard error: only of long runs, one line on a terminal, honest about the rest."""

from __future__ import annotations

import io
import json
import math
import sys
import time
from typing import Any

import pytest

from dse import Study
from dse.progress import JsonLines, Meter, show_progress
from sweeps.runtime.progress import Progress, report_best


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dse.progress.time.monotonic", clock)
    return clock


def run_with_clock(
    monkeypatch: pytest.MonkeyPatch,
    clock: Clock,
    moments: Any,
    *,
    terminal: bool,
    compiling: float = 0.0,
) -> str:
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    meter = Meter()
    for elapsed, done in moments:
        clock.now = 100.0 + elapsed
        meter(Progress(done=done, total=1000, elapsed=elapsed, compiling=compiling))
    meter.close()
    return stream.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_short_run_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, terminal: bool
) -> None:
    assert run_with_clock(monkeypatch, clock, [(0.1, 10), (0.9, 1000)], terminal=terminal) == ""


def test_a_terminal_keeps_one_line(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    moments = [(2.0, 100), (2.1, 150), (4.0, 300), (6.0, 1000)]
    text = run_with_clock(monkeypatch, clock, moments, terminal=True, compiling=1.0)
    assert "\n" not in text
    assert text.endswith("\r\x1b[K")
    shown = text.split("\r\x1b[K")[1:]
    # compiling is no part of the estimate: 300 values in the other 3 s
    assert shown[1] == " 30.0%  300 of 1,000 values, 100 values/s, about 7 s left"
    assert shown[2].startswith("100.0%")
    assert shown[3:] == [""]


def test_the_end_is_told_however_soon_it_comes(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    for terminal, between in ((True, "\r\x1b[K"), (False, "\n")):
        clock.now = 100.0
        text = run_with_clock(monkeypatch, clock, [(2.0, 900), (2.01, 1000)], terminal=terminal)
        assert [line[:6] for line in text.split(between) if line] == [" 90.0%", "100.0%"]


def test_elsewhere_a_line_every_few_seconds(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    moments = [(t / 10, t) for t in range(1, 121)]
    lines = run_with_clock(monkeypatch, clock, moments, terminal=False).splitlines()
    assert len(lines) == 3
    assert all("%" in line and "\r" not in line for line in lines)


def test_the_best_so_far_and_what_was_there(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=False))
    meter = Meter(("time", "s"))
    clock.now = 110.0
    meter(Progress(done=600, total=1000, elapsed=10.0, skipped=500, best=0.0125, infeasible=60))
    assert sys.stderr.getvalue() == (  # type: ignore[attr-defined]
        " 60.0%  600 of 1,000 values, 10 values/s, about 40 s left; "
        "500 were stored before; 60 needed no computing; best time 12.5 ms\n"
    )


def test_lines_for_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=True))
    lines = JsonLines(("time", "s"))
    for elapsed, done in [(0.1, 10), (0.9, 50), (1.2, 60), (1.3, 100)]:
        lines(Progress(done=done, total=100, elapsed=elapsed, skipped=10, best=0.5))
    lines.close()
    data = [json.loads(line) for line in sys.stderr.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert [row["done"] for row in data] == [10, 60, 100]
    assert data[0]["seconds_left"] is None
    assert data[1] == {
        "done": 60,
        "total": 100,
        "skipped": 10,
        "barred": 0,
        "failed": 0,
        "seconds": 1.2,
        "values_per_second": 42,
        "seconds_left": 0.96,
        "best": {"time": 0.5},
    }


def test_what_was_interrupted_tells_no_more(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=True))
    meter = Meter()
    meter.close()
    clock.now = 109.0
    meter(Progress(done=1, total=2, elapsed=9.0))
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_work_that_does_not_tell_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=False))
    with show_progress(True, "searching"):
        time.sleep(1.3)
    assert sys.stderr.getvalue() == "searching: 1 s so far\n"  # type: ignore[attr-defined]
    with show_progress(True, "searching"):
        pass
    assert sys.stderr.getvalue().count("\n") == 1  # type: ignore[attr-defined]


def test_a_search_shows_its_incumbent_bound_and_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=False))
    with show_progress(True, "searching", -1.0, after=0.3):
        report_best(-4.0, -5.0)
        time.sleep(0.8)
    expected = "searching: 0 s so far, best 4, bound 5, gap 25.00%\n"
    assert sys.stderr.getvalue() == expected  # type: ignore[attr-defined]
    heard: list[Progress] = []
    with show_progress(heard.append, "searching"):
        report_best(math.inf, 2.0)
        report_best(3.0)
    assert [(news.best, news.bound, news.gap) for news in heard] == [
        (None, 2.0, None),
        (3.0, None, None),
    ]


def test_a_caller_may_listen() -> None:
    heard: list[Progress] = []
    study = Study(
        model="transit",
        axes={"threads": [64, 128]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
    )
    study.run(progress=heard.append)
    assert heard[-1].done == heard[-1].total > 0


def test_progress_is_shown_from_the_given_second_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=False))
    with show_progress(True, "analyzing", after=0.01):
        time.sleep(0.3)
    assert sys.stderr.getvalue() == "analyzing: 0 s so far\n"  # type: ignore[attr-defined]
