"""Questions of 1e8 stored points, each beside a full scan by dask and by DuckDB in the same run.

    python -m pytest tests/benchmarks/test_questions.py -m benchmark -s

Medians of what is asked again: all is compiled, zones and pages are in memory. Each answer is that
of a full scan in memory, and so are those of the others. ``DSE_BENCHMARK_FOLDER`` is where the
stores lie. DuckDB holds the same columns in its own file; without it (``pip install duckdb``) its
column stays empty. What takes longer than PATIENCE is asked once; DuckDB is stopped after LIMIT.
"""

from __future__ import annotations

import gc
import os
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from tests.benchmarks.test_ratios import AXES, MODEL, OUTPUTS, ROUNDS, show

pytestmark = pytest.mark.benchmark

NAMES = ("time", "flow_power", "flow_energy")
PATIENCE, LIMIT = 2.0, 5.0

QUESTIONS: dict[str, dict[str, Any]] = {
    "best": {"minimize": "flow_energy"},
    "top 10": {"minimize": "flow_energy", "top": 10},
    "best, power <= 20 W": {"minimize": "flow_energy", "where": "flow_power <= 20"},
    "best, time <= 50 ms": {"minimize": "flow_energy", "where": "time <= 50 ms"},
    "fastest, power <= 20 W": {"minimize": "time", "where": "flow_power <= 20"},
    "best, power >= 40 W": {"minimize": "flow_energy", "where": "flow_power >= 40"},
    "best, two bounds": {"minimize": "flow_energy", "where": ["flow_power >= 40", "time >= 0.1"]},
    "fastest, two bounds": {"minimize": "time", "where": ["flow_power <= 30", "flow_energy >= 5"]},
    "best, of a product": {"minimize": "flow_energy", "where": "time * flow_power >= 2"},
    "front, power >= 40 W": {"front": ["time", "flow_energy"], "where": "flow_power >= 40"},
    "front, two bounds": {
        "front": ["time", "flow_energy"],
        "where": ["flow_power >= 40", "time >= 0.05"],
    },
    "front of time and energy": {"front": ["time", "flow_energy"]},
    "front of power and time": {"front": ["flow_power", "time"]},
    "front of energy and power": {"front": ["flow_energy", "flow_power"]},
}


@pytest.fixture(scope="module")
def folder():
    made = Path(tempfile.mkdtemp(dir=os.environ.get("DSE_BENCHMARK_FOLDER")))
    yield made
    shutil.rmtree(made)


def condition(question, columns):
    """The points that count."""
    found = None
    for text in conditions(question):
        *names, sign, value = text.split()
        left = columns[names[0]]
        for name in names[2::2]:  # a product
            left = left * columns[name]
        holds = left <= float(value) if sign == "<=" else left >= float(value)
        found = holds if found is None else found & holds
    return found


def conditions(question):
    where = question.get("where", [])
    texts = [where] if isinstance(where, str) else where
    return [text.replace("50 ms", "0.05") for text in texts]


def scanned(question, columns):
    """The flat places of the answer, by a full scan in NumPy."""
    values, holds = columns[question["minimize"]], condition(question, columns)
    values = values if holds is None else np.where(holds, values, np.inf)
    top = question.get("top", 1)
    places = np.argpartition(values, top)[:top] if top > 1 else [int(np.argmin(values))]
    limit = values[places].max()
    places = np.flatnonzero(values <= limit)
    return places[np.lexsort((places, values[places]))][:top].tolist()


def ours(path, question):
    if "front" in question:
        where = question.get("where", ())
        return dse.pareto(path, minimize=question["front"], where=where)
    return dse.optimum(path, **question)


def by_dask(lazy, question):
    """The least values; of a front there is no answer."""
    values = lazy[question["minimize"]]
    holds = condition(question, lazy)
    if holds is not None:
        values = values.where(holds, np.inf)
    if question.get("top"):
        import dask.array as da

        return da.topk(values.data.reshape(-1), -question["top"]).compute().tolist()
    return [float(values.min().compute())]


def by_duckdb(connection, question):
    if "front" in question:
        first, second = question["front"]
        only = f"where {' and '.join(conditions(question))}" if question.get("where") else ""
        text = (
            f"select a, b from (select a, b, min(b) over (order by a rows between unbounded "
            f"preceding and 1 preceding) as least from (select {first} as a, min({second}) as b "
            f"from t {only} group by {first})) where least is null or b < least"
        )
        return sorted(asked_for(connection, text))
    text = f"select {question['minimize']} from t"
    if where := conditions(question):
        text += f" where {' and '.join(where)}"
    top = question.get("top", 1)
    text += f" order by {question['minimize']} limit {top}"
    if top == 1:
        text = text.split(" order by")[0]
        text = text.replace(f"select {question['minimize']}", f"select min({question['minimize']})")
    return [value for (value,) in asked_for(connection, text)]


def asked_for(connection, text):
    timer = threading.Timer(LIMIT, connection.interrupt)
    timer.start()
    try:
        return connection.execute(text).fetchall()
    finally:
        timer.cancel()


def timed(contenders):
    """What each answers, and its median time in turns; of a slow one that of its only time."""
    answers, times = {}, {name: [] for name in contenders}
    for number in range(ROUNDS + 1):
        for name, run in contenders.items():
            if number and times[name] and times[name][0] > PATIENCE:
                continue
            gc.collect()
            began = time.perf_counter()
            try:
                answers[name] = run()
            except Exception as error:
                if "INTERRUPT" not in str(error):
                    raise
                answers[name] = None
            spent = time.perf_counter() - began
            times[name] = [spent] if number <= 1 and spent <= PATIENCE else [*times[name], spent]
    return answers, {name: statistics.median(spent) for name, spent in times.items()}


@pytest.fixture(scope="module")
def columns():
    """All points in memory, which are scanned."""
    memory = dse.Study(model=MODEL, axes=AXES, outputs=NAMES).run(expand=True)
    return memory, {name: memory[name].values.reshape(-1) for name in NAMES}


@pytest.fixture(scope="module")
def expected(columns):
    """The flat places of every answer, by full scans."""
    memory, arrays = columns
    found = {}
    for title, question in QUESTIONS.items():
        if "front" in question:
            ds = ours(memory, question)
            found[title] = places_of(ds)
        else:
            found[title] = scanned(question, arrays)
    return found


def places_of(ds):
    at = [np.searchsorted(values, np.atleast_1d(ds[name].values)) for name, values in AXES.items()]
    return np.ravel_multi_index(at, [len(values) for values in AXES.values()]).tolist()


@pytest.fixture(scope="module")
def connection(folder, columns):
    """The same columns in DuckDB, or nothing."""
    try:
        import duckdb
    except ImportError:
        return None
    made = duckdb.connect(str(folder / "t.duckdb"))
    made.execute(f"create table t ({', '.join(f'{name} double' for name in NAMES)})")
    for low in range(0, len(columns[1]["time"]), 10**7):
        part = {name: values[low : low + 10**7] for name, values in columns[1].items()}
        made.execute(f"insert into t select {', '.join(NAMES)} from part")
        del part
    return made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expand", [False, True], ids=["natural", "expanded"])
def test_questions(folder, columns, expected, connection, expand):
    study = dse.Study(model=MODEL, axes=AXES, outputs=OUTPUTS)
    path = folder / f"{expand}.zarr"
    study.run(store=path, expand=expand).close()
    lazy = dse.open(path)
    lines = []
    for title, question in QUESTIONS.items():
        goals = question.get("front") or [question["minimize"]]
        contenders = {"ours": lambda question=question: ours(path, question)}
        if "front" not in question:
            contenders["dask"] = lambda question=question: by_dask(lazy, question)
        if connection is not None:
            contenders["DuckDB"] = lambda question=question: by_duckdb(connection, question)
        answers, median = timed(contenders)
        found = answers.pop("ours")
        assert places_of(found) == expected[title], title
        rows = list(
            zip(*(columns[1][name][expected[title]].tolist() for name in goals), strict=True)
        )
        wanted = sorted(rows) if "front" in question else [value for (value,) in rows]
        for name, answer in answers.items():
            assert answer is None or answer == wanted, (title, name)
        told = ""
        for name in ("ours", "dask", "DuckDB"):
            text = f"{median[name] * 1e3:.1f}" if name in median else ""
            told += f"{f'> {LIMIT * 1e3:.0f}' if answers.get(name, ...) is None else text:>10}"
        read = f"{found.attrs['blocks_read']:,} of {found.attrs['blocks']:,}"
        lines.append(f"{title:28}{told}   {len(expected[title]):6}   {read}")
    heads = f"{'':28}{'ours':>10}{'dask':>10}{'DuckDB':>10}   points   blocks read"
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    where = "over all axes" if expand else "over their own axes"
    same = f"{len(lines)} answers, each that of the full scan of {columns[1]['time'].size:,} points"
    show(f"{same}: {size / 1e9:.2f} GB, outputs {where}; ms", [heads, *lines])
