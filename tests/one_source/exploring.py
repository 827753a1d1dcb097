"""Compare the page of `dse explore` with NumPy, for every shipped model.

A study of each model under each label of its switches, random values given on the page:

    python -m tests.one_source.exploring 1000

:func:`check_study` compares the page of a study file at random points of its axes and inputs.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
from dse.page.data import _page_grid, add_goals, thin_axes
from dse.study.study import StudyData, read_best
from sweeps.bounds.statistics_as_formulas import expand_statistics
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


#: Moves to indices of the axes and to shares of sliders; reads inputs, quantities and conditions.
WALKER = """(at, shares) => {
  const { Point, LEVERS, data } = explorer;
  return at.map((places, n) => {
    const point = new Point(), given = {};
    data.axes.forEach(({ name }, k) => { LEVERS.get(name).move(point, places[k]); });
    [...LEVERS.values()].filter((lever) => !lever.axis).forEach((lever, k) => {
      const share = shares[n][k % shares[n].length];
      if (share < 0 || share > 1) return;
      given[lever.name] = lever.between(share);
      lever.move(point, given[lever.name]);
    });
    return [given, [...point.run()].map(String)];
  });
}"""


def check_study(path: Path, page: Browser, folder: Path, count: int, seed: int = 0) -> int:
    """Compare every quantity and condition of a study's page at random points; how many were.

    The other side evaluates one definition after the other, as the graph lists them.
    """
    page.open(dse.explore(path, folder / f"{path.stem}.html").as_uri())
    study = dse.Study.from_toml(path)
    assert isinstance(study, StudyData)
    best = read_best(study.best) if study.best else None
    grid = expand_statistics(_page_grid(study, best), inputs_move=True)
    graphs = add_goals(grid.graphs, best.goals if best else (), grid.model.quantities)
    shown = thin_axes(grid)
    rng = np.random.default_rng(seed)
    at = np.stack([rng.integers(len(shown[name]), size=count) for name in grid.axes], axis=1)
    shares = rng.uniform(-2, 1.1, size=(count, 97))  # most inputs stay, some are at their ends
    result = page.run(f"({WALKER})({at.tolist()}, {np.maximum(shares, -1).tolist()})")
    outputs = page.run("explorer.data.program.outputs")
    rules = page.run("explorer.data.conditions.map(({ text }) => text)")
    got = np.array([[float(value) for value in values] for _, values in result])
    places = {name: shown[name][at[:, k]] for k, name in enumerate(grid.axes)}
    labels = [grid.axes[name].labels for name in grid.switch_axes]
    keys = [
        tuple(each[i] for each, i in zip(labels, row, strict=True))
        for row in zip(*(places[name] for name in grid.switch_axes), strict=True)
    ] or [()] * count
    compared = 0
    for key, graph in graphs.items():
        mine = np.array([other == key for other in keys])
        known: dict[str, NDArray[Any]] = {}
        for name, definition in graph.definitions.items():
            leaf = grid.leaves[key].get(name)
            if definition.is_leaf and leaf is not None:
                if leaf.array.dtype.kind not in "biuf":
                    continue
                index = tuple(places[axis][mine] for axis in leaf.axes)
                value = np.broadcast_to(leaf.array[index].astype(float), mine.sum())
            elif set(references(definition.node)) <= known.keys():
                value = np.broadcast_to(interpret_arrays([definition.node], known)[0], mine.sum())
            else:
                continue
            given = [row[0].get(name) for row, one in zip(result, mine, strict=True) if one]
            off = np.array([other is not None for other in given])
            known[name] = np.where(off, [other or 0.0 for other in given], value.astype(float))
            if name in outputs:
                mid = got[mine, outputs.index(name)]
                np.testing.assert_allclose(mid, known[name], rtol=1e-9, err_msg=name)
                compared += mid.size
        for condition in graph.conditions:
            wanted = interpret_arrays([condition.node], known)[0]
            mid = got[mine, len(outputs) + rules.index(condition.text)]
            np.testing.assert_array_equal(mid, np.broadcast_to(wanted, mid.shape), condition.text)
            compared += mid.size
    assert compared >= count * len(outputs) * 0.9
    return compared


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
