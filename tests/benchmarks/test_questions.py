"""Questions of 1e8 stored points, each beside a full scan by dask and by DuckDB in the same run.

    python -m pytest tests/benchmarks/test_questions.py -m benchmark -s

Medians of what is asked again: all is compiled, zones and pages are in memory. Each answer is that
of the full scan. ``DSE_BENCHMARK_FOLDER`` is where the stores lie. DuckDB holds the same columns in
its own file; without it (``pip install duckdb``) its column stays empty.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from tests.benchmarks.test_ratios import AXES, MODEL, OUTPUTS, ROUNDS, interleaved, show

pytestmark = pytest.mark.benchmark

QUESTIONS: dict[str, dict[str, Any]] = {
    "best": {"minimize": "flow_energy"},
    "top 10": {"minimize": "flow_energy", "top": 10},
    "best, power <= 20 W": {"minimize": "flow_energy", "where": "flow_power <= 20"},
    "best, time <= 50 ms": {"minimize": "flow_energy", "where": "time <= 50 ms"},
    "fastest, power <= 20 W": {"minimize": "time", "where": "flow_power <= 20"},
    "best, power >= 40 W": {"minimize": "flow_energy", "where": "flow_power >= 40"},
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
    text = question.get("where")
    if not text:
        return None
    name, sign, value = text.replace("50 ms", "0.05").split()
    return columns[name] <= float(value) if sign == "<=" else columns[name] >= float(value)


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
        return dse.pareto(path, minimize=question["front"])
    return dse.optimum(path, **question)


def by_dask(lazy, question):
    """The least value, or the lowest of each part; of a front there is none."""
    values = lazy[question["minimize"]]
    holds = condition(question, lazy)
    if holds is not None:
        values = values.where(holds, np.inf)
    if question.get("top"):
        import dask.array as da

        return da.topk(values.data.reshape(-1), -question["top"]).compute()
    return values.data.reshape(-1).argmin().compute()


def by_duckdb(connection, question):
    if "front" in question:
        first, second = question["front"]
        text = (
            f"select a, b from (select a, b, min(b) over (order by a rows between unbounded "
            f"preceding and 1 preceding) as least from (select {first} as a, min({second}) as b "
            f"from t group by {first})) where least is null or b < least"
        )
        return connection.execute(text).fetchall()
    text = f"select {question['minimize']} from t"
    if where := question.get("where"):
        text += f" where {where.replace('50 ms', '0.05')}"
    top = question.get("top", 1)
    text += f" order by {question['minimize']} limit {top}"
    if top == 1:
        text = text.split(" order by")[0]
        text = text.replace(f"select {question['minimize']}", f"select min({question['minimize']})")
    return connection.execute(text).fetchall()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expand", [False, True], ids=["natural", "expanded"])
def test_questions(folder, expand):
    study = dse.Study(model=MODEL, axes=AXES, outputs=OUTPUTS)
    path = folder / "a.zarr"
    study.run(store=path, expand=expand, fresh=path.exists()).close()
    lazy = dse.open(path)
    lines = []
    memory, names = study.run(expand=True), ("time", "flow_power", "flow_energy")
    columns = {name: memory[name].values.reshape(-1) for name in names}
    try:
        import duckdb
    except ImportError:
        duckdb = None
    if duckdb is not None:
        file = folder / "t.duckdb"
        connection = duckdb.connect(str(file))
        if not connection.execute("show tables").fetchall():
            kinds = ", ".join(f"{name} double" for name in names)
            connection.execute(f"create table t ({kinds})")
            for low in range(0, len(columns["time"]), 10**7):
                part = {name: values[low : low + 10**7] for name, values in columns.items()}
                connection.execute("insert into t select time, flow_power, flow_energy from part")
                del part
    shape = tuple(len(values) for values in AXES.values())
    for title, question in QUESTIONS.items():
        found = ours(path, question)
        if "front" in question:
            expected = dse.pareto(memory, minimize=question["front"])
            for name in (*AXES, *question["front"]):
                assert found[name].values.tolist() == expected[name].values.tolist(), title
        else:
            expected = scanned(question, columns)
            at = [
                np.searchsorted(values, np.atleast_1d(found[name].values))
                for name, values in AXES.items()
            ]
            assert np.ravel_multi_index(at, shape).tolist() == expected, title
        contenders = {"ours": lambda question=question: ours(path, question)}
        if "front" not in question:
            contenders["dask"] = lambda question=question: by_dask(lazy, question)
        if duckdb is not None:
            contenders["DuckDB"] = lambda question=question: by_duckdb(connection, question)
        median = interleaved(contenders, rounds=ROUNDS)
        told = "".join(
            f"{median[name] * 1e3:10.1f}" if name in median else f"{'':10}"
            for name in ("ours", "dask", "DuckDB")
        )
        read = f"{found.attrs['blocks_read']:,} of {found.attrs['blocks']:,}"
        lines.append(f"{title:28}{told}   {read}")
    heads = f"{'':28}{'ours':>10}{'dask':>10}{'DuckDB':>10}   blocks read"
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    where = "over all axes" if expand else "over their own axes"
    show(f"1e8 points, {size / 1e9:.2f} GB, outputs {where}; ms", [heads, *lines])
