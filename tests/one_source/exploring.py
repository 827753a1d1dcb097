"""Compare the page of `dse explore` with NumPy, for every shipped model.

A study of each model under each label of its switches, random values given on the page:

    python -m tests.one_source.exploring 1000
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import dse
from symbolic.ops import interpret_arrays, references
from tests.browser import Browser, browser
from tests.one_source.javascript import LIBRARY, Subject, calls, distance, points, subjects

#: How far Python and the page may differ where no library is called.
PLAIN = 1e-12
#: Sets what the rows of numbers say, then reads every quantity off the page.
DRIVER = """(() => {{
  const {{ Point, data }} = explorer, point = new Point();
  const names = {names}, outputs = {outputs};
  const places = outputs.map((name) => data.program.outputs.indexOf(name));
  return (x, c, y) => {{
    names.forEach((name, k) => {{ point.set[name] = x[k]; }});
    point.fill();
    point.run();
    places.forEach((place, k) => {{ y[k] = point.y[place]; }});
  }};
}})()"""


def labels_of(subject: Subject) -> Iterator[dict[str, str]]:
    """Labels of all switches, so often that each label is there once."""
    model = subject.model
    names = dict.fromkeys(switch for eq in model.equations for switch in eq.when)
    known = {name: model.quantities[name].labels or () for name in names}
    for turn in range(max(map(len, known.values()), default=1)):
        yield {name: labels[turn % len(labels)] for name, labels in known.items()}


def check(subject: Subject, page: Browser, folder: Path, count: int, seed: int = 0) -> int:
    """Compare every output at random points; how many values were.

    Raises ``AssertionError`` where a value differs.
    """
    return sum(_check(subject, labels, page, folder, count, seed) for labels in labels_of(subject))


def _check(
    subject: Subject, labels: Mapping[str, str], page: Browser, folder: Path, count: int, seed: int
) -> int:
    graph = subject.graphs[tuple(labels.values())]
    outputs = [name for name in subject.program.outputs if name in graph.definitions]
    roots = [graph.flat(name) for name in outputs]
    columns = points(subject, count, seed)
    columns = {name: columns[name] for name in references(*roots)}
    study = dse.Study(
        model=subject.model.name,
        set={**{name: float(column[0]) for name, column in columns.items()}, **labels},
        outputs=outputs,
    )
    page.open(study.explore(folder / f"{subject.model.name}.html").as_uri())
    assert page.errors == [], page.errors
    driver = DRIVER.format(names=json.dumps(list(columns)), outputs=json.dumps(outputs))
    result = page.compute(driver, list(columns.values()), len(outputs))
    for place, (name, root) in enumerate(zip(outputs, roots, strict=True)):
        wanted = interpret_arrays([root], columns)[0]
        got = result[:, place]
        expected = np.broadcast_to(np.asarray(wanted, dtype=float), got.shape)
        off = distance(root, columns, got, expected)
        assert off.max() <= (LIBRARY if calls(root) else PLAIN), (subject.model.name, labels, name)
    return result.size


def main(arguments: Sequence[str]) -> None:
    """Compare the given number of points for each model."""
    count = int(arguments[0]) if arguments else 1_000
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    began, total = time.monotonic(), 0
    with browser() as page, tempfile.TemporaryDirectory() as folder:
        for subject in subjects():
            compared = check(subject, page, Path(folder), count, seed)
            total += compared
            print(f"{subject.model.name:20} {compared:>12,} values agree", flush=True)
    print(f"{total:,} values agree ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    main(sys.argv[1:])
