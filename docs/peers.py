"""Compare heuristic search with the certified optima; write docs/peers.csv, .md and .png.

    python docs/peers.py measure docs/peers.csv 0.1,1 sepia/gtx280/energy svm/8800gt/edp
    python docs/peers.py measure docs/peers.csv 1,10 energy      # every benchmark and GPU
    python docs/peers.py page docs/peers.csv > docs/peers.md
    python docs/peers.py draw docs/peers.csv docs/peers.png

On the spaces of ``docs/certified_merge.py`` Optuna's TPE and SciPy's differential evolution look
for the least energy, or energy × time, for as long as the certified search took and so many times
as long. Rows are added to the file. To measure takes ``pip install optuna``, and patience.
"""

from __future__ import annotations

import csv
import math
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from certified_merge import BENCHMARKS, GOALS, GPUS, study

SEEDS = (1, 2, 3)
METHODS = {"tpe": "TPE", "de": "differential evolution"}
SPACE = ["benchmark", "gpu", "goal"]
COLUMNS = (*SPACE, "settings", "method", "seed", "budget", "seconds", "points", "value")
#: What an infeasible setting is said to cost, and the share within which values are the same.
COSTLY, SAME = 1e9, 1e-12


# --- what is searched


class Space:
    """Settings of a study by their indices along the axes, evaluated by machine code."""

    def __init__(self, asked: Any, goal: str) -> None:
        from sweeps.grid.goals import objective_node, one_goal
        from sweeps.nest.emit import compile_nest, emit
        from symbolic.ops import walk

        grid = asked.grid()
        root, leaves = objective_node(grid, (), one_goal(goal, None)), grid.leaves[()]
        self.sizes = [axis.size for axis in grid.axes.values()]
        self.nest = emit(
            outer=[],
            row=["point"],
            leaves={name: ("point",) if leaf.axes else () for name, leaf in leaves.items()},
            outputs=[(root, "float")],
            names={id(node): f"t_{number}" for number, node in enumerate(walk((root,)))},
            constants={name: float(leaf.array) for name, leaf in leaves.items() if not leaf.axes},
        )
        self.function = compile_nest(self.nest)
        self.scalars = np.array([float(leaves[name].array) for name in self.nest.scalars])
        axes = list(grid.axes)
        self.along = [(axes.index(leaves[n].axes[0]), leaves[n].array) for n in self.nest.arrays]

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """The objective at points given as columns of indices; much where it is infeasible."""
        found = np.empty(indices.shape[1])
        arrays = [np.ascontiguousarray(values[indices[axis]]) for axis, values in self.along]
        shape = np.array(found.shape, dtype=np.int64)
        bounds = np.array([0, found.size], dtype=np.int64)
        self.function(bounds, shape, 0, self.scalars, *arrays, found)
        return np.minimum(found, COSTLY)


class Watch:
    """Space with a clock that records the best value at the end of each budget.

    Once the optimum is seen, which only we know, nothing better can come: the search is over.
    """

    def __init__(self, space: Space, budgets: Sequence[float], optimum: float) -> None:
        self.space, self.budgets, self.optimum = space, budgets, optimum
        self.best, self.points = math.inf, 0
        self.told: list[tuple[float, int]] = []
        self.began = time.perf_counter()

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """As the space; what comes after the end of a budget does not count for it."""
        found = self.space(indices)
        while not self.over and time.perf_counter() - self.began > self.budgets[len(self.told)]:
            self.told.append((self.best, self.points))
        self.best = min(self.best, float(found.min()))
        self.points += found.size
        if self.best <= self.optimum * (1 + SAME):
            self.told += [(self.best, self.points)] * (len(self.budgets) - len(self.told))
        return found

    @property
    def over(self) -> bool:
        """True if the last budget is spent or the optimum was reached."""
        return len(self.told) == len(self.budgets)


# --- the searches


def differential_evolution(watch: Watch, seed: int) -> None:
    """Search with SciPy's defaults, a generation at a time, restarted after convergence."""
    from scipy.optimize import differential_evolution as search

    def cost(indices: np.ndarray) -> np.ndarray:
        if watch.over:
            raise TimeoutError
        return watch(np.rint(indices.reshape(len(watch.space.sizes), -1)).astype(np.int64))

    bounds = [(0, size - 1) for size in watch.space.sizes]
    given = {"integrality": [True] * len(bounds), "vectorized": True, "updating": "deferred"}
    generator = np.random.default_rng(seed)
    try:
        while True:
            search(cost, bounds, rng=generator, polish=False, maxiter=10**9, **given)
    except TimeoutError:
        return


def tpe(watch: Watch, seed: int) -> None:
    """Search with Optuna's defaults, one setting at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    search = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))

    def cost(trial: Any) -> float:
        indices = [
            [trial.suggest_int(str(axis), 0, size - 1)]
            for axis, size in enumerate(watch.space.sizes)
        ]
        found = watch(np.array(indices, dtype=np.int64))
        if watch.over:
            search.stop()
        return float(found[0])

    search.optimize(cost)


SEARCHES = {"tpe": tpe, "de": differential_evolution}


# --- the file


def measured(
    benchmark: str, gpu: str, goal: str, budgets: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a space: the certified optimum and the result of each search."""
    asked = study(benchmark, gpu)
    began = time.perf_counter()
    best = asked.optimum(minimize=goal, method="certified")
    taken = time.perf_counter() - began
    if best.attrs["gap"] != 0:
        raise SystemExit(f"{benchmark} on {gpu}: the optimum is not proven")
    row = {"benchmark": benchmark, "gpu": gpu, "goal": goal, "settings": asked.grid().points}
    looked = best.attrs["points_visited"]
    proven = {"method": "certified", "seed": "", "budget": 1, "seconds": f"{taken:.2f}"}
    yield row | proven | {"points": looked, "value": repr(float(best[goal]))}
    space = Space(asked, goal)
    for method, search in SEARCHES.items():
        for seed in SEEDS:
            watch = Watch(space, [taken * budget for budget in budgets], float(best[goal]))
            search(watch, seed)
            for budget, (value, points) in zip(budgets, watch.told, strict=True):
                spent = {"budget": f"{budget:g}", "seconds": f"{taken * budget:.2f}"}
                seen = {"points": points, "value": repr(value)}
                yield row | {"method": method, "seed": seed} | spent | seen


def measure(path: Path, budgets: Sequence[float], spaces: Sequence[Sequence[str]]) -> None:
    """Append the rows of some spaces to the file, each as soon as it is measured."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        if fresh:
            packages = ("optuna", "scipy", "numpy", "numba")
            versions = ", ".join(f"{name} {version(name)}" for name in packages)
            told = f"# python docs/peers.py measure; Python {platform.python_version()}, {versions}"
            file.write(f"{told}; {platform.machine()}, shared with other work\n")
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writeheader()
        for benchmark, gpu, goal in spaces:
            for row in measured(benchmark, gpu, goal, budgets):
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
                file.flush()


def read(path: Path) -> Any:
    """Return the table of the file with the ``excess`` of each value over the certified one."""
    import pandas as pd

    table = pd.read_csv(path, comment="#")
    proven = table[table.method == "certified"].set_index(SPACE).value.rename("best")
    table = table.join(proven, on=SPACE)
    return table.assign(excess=table.value / table.best - 1)


# --- the page and the figure

PAGE = """\
# Comparison with heuristic search

**In a minute.** Optuna (TPE) and SciPy (differential evolution) search the same spaces as the
[certified search](certified-merge.md), for the same time.

{words}

`python docs/peers.py measure` wrote the measurements into `docs/peers.csv`; the first line of this
file gives the versions. `python docs/peers.py page` and `python docs/peers.py draw` make this page
and the figure from the file.

![Energy found by each search, relative to the certified minimum](peers.png)

## How the searches run

* Each search uses the default options of its library and runs with {seeds} seeds, over the integer
  positions along the same axes.
* All searches evaluate the same equations, compiled to machine code. An evaluation takes
  microseconds; the time of the compilation is not counted.
* Differential evolution evaluates one generation at a time, and restarts when it has converged.
* A run also ends when it has found the optimum; the optimum is known from the certified search.
* Time 1 is the total time of the certified search. The certified search may use both cores of the
  machine; the heuristic searches use one. The machine was shared with other work.

A cell gives the median and the largest relative excess over the certified minimum, and the number
of runs that found the minimum.

{rows}
"""


def cell(part: Any) -> str:
    """Return the median, the worst and the number of exact results of some runs."""
    if part.empty:
        return ""
    excess = part.excess.where(part.excess > SAME, 0) * 100
    exact = int((excess == 0).sum())
    return f"{excess.median():.2g} %, {excess.max():.2g} %, {exact} of {len(part)}"


def in_order(space: tuple[str, str, str]) -> tuple[int, int, int]:
    """Return the position of a space among the others."""
    benchmark, gpu, goal = space
    return list(GOALS).index(goal), list(BENCHMARKS).index(benchmark), list(GPUS).index(gpu)


def rows(table: Any) -> Iterator[str]:
    """Yield a row for each space, with a column for each method and time."""
    runs = table[table.method != "certified"]
    columns = [(m, budget) for m in METHODS for budget in sorted(runs.budget.unique())]
    heads = [f"{METHODS[method]}, time {budget:g}" for method, budget in columns]
    yield f"| minimize | benchmark | GPU | settings | proof [s] | {' | '.join(heads)} |"
    yield "|" + "---|" * (5 + len(columns))
    spaces = dict(iter(table.groupby(SPACE)))
    for benchmark, gpu, goal in sorted(spaces, key=in_order):
        here = spaces[benchmark, gpu, goal]
        proof = here[here.method == "certified"].iloc[0]
        cells = [
            cell(here[(here.method == method) & (here.budget == budget)])
            for method, budget in columns
        ]
        names = f"{goal} | {BENCHMARKS[benchmark]} | {GPUS[gpu]}"
        told = f"{proof.settings:.1e} | {proof.seconds:.1f}"
        yield f"| {names} | {told} | {' | '.join(cells)} |"


def words(table: Any) -> str:
    """Summarize the runs that had the time of the proof, as a list."""
    told = []
    for goal in table.goal.unique():
        for method, name in METHODS.items():
            runs = table[(table.goal == goal) & (table.method == method) & (table.budget == 1)]
            half, most = 100 * runs.excess.median(), 100 * runs.excess.max()
            hits = int((runs.excess <= SAME).sum())
            text = (
                f"* Least {goal}, {name}: median {half:.2g} % above the minimum, "
                f"worst {most:.2g} %; {hits} of {len(runs)} runs found the minimum."
            )
            told.append(fill(text, 98, subsequent_indent="  "))
    told.append(
        "\nA heuristic search cannot tell whether its result is the best, or how far it is from\n"
        "the best. Only the proof can."
    )
    return "\n".join(told)


def page(path: Path) -> str:
    """Return the whole page."""
    table = read(path)
    seeds = table.seed.nunique()
    return PAGE.format(rows="\n".join(rows(table)), words=words(table), seeds=seeds)


def draw(table: Any, picture: str) -> None:
    """Draw a panel for each GPU: the excess over the certified optimum in the time of its proof."""
    from dse.plots.axes import axes_of, new_figure
    from dse.plots.style import distinct_styles

    least, most = -6, 2
    runs = table[(table.method != "certified") & (table.budget == 1) & (table.goal == "energy")]
    figure = new_figure(10, 6.2)
    looks = dict(zip(METHODS.values(), distinct_styles(list(METHODS.values())), strict=True))
    for ax, (gpu, card) in zip(figure.subplots(2, 2, sharey=True).flat, GPUS.items(), strict=True):
        axes_of(ax)
        for number, (method, name) in enumerate(METHODS.items()):
            part = runs[(runs.gpu == gpu) & (runs.method == method)]
            at = [list(BENCHMARKS).index(one) - 0.12 + 0.24 * number for one in part.benchmark]
            height = (100 * part.excess).where(part.excess > SAME, 10.0**least)
            ax.plot(at, height, label=name, **looks[name].mark_options(8))
        ax.set(
            yscale="log",
            ylim=(10.0 ** (least - 0.5), 10.0**most),
            xlim=(-0.5, len(BENCHMARKS) - 0.5),
            title=card,
        )
        ax.set_xticks(range(len(BENCHMARKS)), BENCHMARKS.values(), rotation=20, ha="right")
        ticks = [10.0**power for power in range(least, most + 1)]
        ax.set_yticks(ticks, ["found", *(f"{tick:g} %" for tick in ticks[1:])])
        ax.minorticks_off()
    figure.axes[0].legend(loc="upper right")
    figure.supylabel("energy above the certified least")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", path, budgets, *spaces] if spaces:
            every = [f"{benchmark}/{gpu}" for benchmark in BENCHMARKS for gpu in GPUS]
            chosen = [
                space
                for given in spaces
                for space in ([given] if "/" in given else [f"{one}/{given}" for one in every])
            ]
            times = [float(budget) for budget in budgets.split(",")]
            measure(Path(path), times, [space.split("/") for space in chosen])
        case ["page", path]:
            print(page(Path(path)), end="")
        case ["draw", path, picture]:
            draw(read(Path(path)), picture)
        case _:
            raise SystemExit(__doc__)
