"""Answers of this tree compared with those of another, over random studies: equal, bit by bit.

    git worktree add --detach ../other 2fca731
    python -m tests.sweeps.compare_answers ../other 3000 1

asks 3,000 studies, the seeds from 1 on, what both trees can be asked (the best of one objective by
rank, label, ties or share, several in order, fronts, counts, histograms, quantiles; by scan, proof,
store and Dataset) in a process of each tree, and compares every variable of the answers, their
attributes, and of refusals the kind. The status is 1 where something differs. A fourth number
allows for last digits, as of the ``exp`` and ``log`` of two compilers: it is the largest
relative difference of two floats that still count as equal, 0 by default.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

#: Attributes that tell of the work, not of the answer.
_WORK = ("boxes", "points_visited", "points_excluded", "tiles_skipped", "points_skipped",
         "blocks_read", "blocks", "simt_dse_version", "boxes_bounded")  # fmt: skip


def question(one: Any, seed: int) -> tuple[str, str, list[Any], dict[str, Any]]:
    """A source, a verb, and what it is asked."""
    rng = random.Random(seed * 11 + 3)
    names = [n.split("@")[0] for n in one.equations if n != "letters"]
    formulas = [f"floor({n})" for n in names] + [f"minimum({n}, 1)" for n in names] + names
    verb = rng.choice(["optimum"] * 5 + ["pareto", "count", "histogram", "quantiles"])
    source = rng.choice(["scan", "certified", "store", "Dataset"])
    given: list[Any] = []
    options: dict[str, Any] = {}
    if rng.random() < 0.5 and "where" in one.question:
        options["where"] = one.question["where"]
    if verb in ("histogram", "quantiles"):
        given = [rng.choice(formulas)]
        key, value = ("bins", 7) if verb == "histogram" else ("q", [0.0, 0.3, 1.0])
        options[key] = value
    if verb == "pareto":
        options["minimize"] = rng.sample(formulas, 2)
    if verb == "optimum":
        kind = rng.choice(["one", "top", "per", "both", "ties", "within", "order", "order ties"])
        count = rng.choice([2, 3]) if kind.startswith("order") else 1
        goals = rng.sample(formulas, count)
        options[rng.choice(["minimize", "maximize"])] = goals if count > 1 else goals[0]
        if kind in ("top", "both"):
            options["top"] = rng.choice([2, 5])
        if kind in ("per", "both"):
            options["per"] = rng.choice(list(one.axes))
        if "ties" in kind:
            options["ties"] = True
        if kind == "within":
            options["within"] = rng.choice([0.0, 0.1, 1.0])
        if kind == "within" and source in ("store", "Dataset"):
            source = "scan"
        if "ties" in kind and source == "certified":
            source = "scan"
    if verb in ("optimum", "pareto") and source in ("scan", "certified"):
        options["method"] = source
    if verb not in ("optimum", "pareto") and source == "certified":
        source = "scan"
    return source, verb, given, options


def describe(answer: Any) -> dict[str, Any]:
    """An answer as text: every variable by the hash of its values, and what is said of it."""
    import numpy as np

    variables = {}
    for name, variable in answer.variables.items():
        values = np.ascontiguousarray(variable.values)
        data = repr(values.tolist()).encode() if values.dtype.kind in "OUT" else values.tobytes()
        digest = hashlib.sha256(data).hexdigest()[:16]
        numbers = values.dtype == np.float64 and values.size <= 100_000
        row = [list(map(str, variable.dims)), str(values.dtype), digest]
        variables[str(name)] = [*row, values.ravel().tolist() if numbers else None]
    attrs = {k: str(v) for k, v in answer.attrs.items() if k not in _WORK}
    return {"variables": dict(sorted(variables.items())), "attrs": dict(sorted(attrs.items()))}


def worker(first: int, count: int) -> None:
    """Answer some studies with the tree at hand, a line of JSON each."""
    import dse
    from symbolic.errors import DseError
    from tests.sweeps.attack_checks import Truth
    from tests.sweeps.attack_models import draw_study, make_study

    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, first + count):
            one, folder = draw_study(seed), Path(scratch)
            source, verb, given, options = question(one, seed)
            try:
                study = make_study(one, folder / f"model_{seed}.py")
                if "where" in options:
                    truth = Truth(one)
                    options["where"] = [truth._limit(*limit) for limit in options["where"]]
                if source == "store":
                    study.run(store=folder / f"{seed}.zarr")
                    result = getattr(dse, verb)(folder / f"{seed}.zarr", *given, **options)
                elif source == "Dataset":
                    result = getattr(dse, verb)(study.run(), *given, **options)
                else:
                    result = getattr(study, verb)(*given, **options)
                outcome: Any = describe(result)
            except DseError as error:
                outcome = type(error).__name__
            except Exception as error:
                outcome = f"crashed: {error!r}"
            line = {"seed": seed, "asked": f"{source} {verb} {options}", "told": outcome}
            print(json.dumps(line), flush=True)


def _close(old: Any, new: Any, relative: float) -> bool:
    """True if two variables are equal, or their floats differ by at most ``relative``."""
    if old[:3] == new[:3]:
        return True
    if old[:2] != new[:2] or old[3] is None or new[3] is None:
        return False
    pairs = list(zip(old[3], new[3], strict=True))
    return relative > 0 and all(
        math.isclose(a, b, rel_tol=relative) or (math.isnan(a) and math.isnan(b)) for a, b in pairs
    )


def _same(old: Any, new: Any, relative: float, source: str) -> bool:
    """True if two answers are the same; the newer may have more attributes.

    A store was searched by itself once; now its study answers, which also gives ``feasible``.
    """
    if isinstance(old, str) or isinstance(new, str):
        return bool(old == new)
    if source == "store":
        for one in (old, new):
            one["attrs"].pop("method", None)
            one["variables"].pop("feasible", None)
            for variable in one["variables"].values():  # zarr has texts of any length
                if variable[1].startswith(("StringDType", "<U")):
                    variable[1] = "text"
    before, after = old["variables"], new["variables"]
    attrs = {key: new["attrs"].get(key) for key in old["attrs"]}
    equal = before.keys() == after.keys() and old["attrs"] == attrs
    return equal and all(_close(before[name], after[name], relative) for name in before)


def main(other: str, count: int, first: int = 1, relative: float = 0.0) -> int:
    """Compare so many studies; the exit status."""
    began, wrong, kinds = time.monotonic(), 0, Counter[str]()
    here = Path(__file__).parents[2]
    lines = []
    room = tempfile.TemporaryDirectory()
    Path(room.name, "tests").symlink_to(here / "tests")  # the studies are drawn alike
    for tree in (Path(other).resolve(), here):
        path = os.pathsep.join([room.name, str(tree)])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [
            sys.executable,
            "-m",
            "tests.sweeps.compare_answers",
            "worker",
            str(first),
            str(count),
        ]
        process = subprocess.Popen(
            command, cwd=room.name, env=environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        lines.append(process.stdout)
    for old, new in zip(*lines, strict=True):
        before, after = json.loads(old), json.loads(new)
        kinds[" ".join(after["asked"].split()[:2])] += 1
        kinds["refused or nothing" if isinstance(after["told"], str) else "answers"] += 1
        if not _same(before["told"], after["told"], relative, after["asked"].split()[0]):
            wrong += 1
            print(f"seed {before['seed']}: {before['asked']}")
            print(*(f"  {str(one['told'])[:2000]}" for one in (before, after)), sep="\n")
    summary = {"studies": count, "differ": wrong, "seconds": round(time.monotonic() - began)}
    print(json.dumps({**summary, **dict(kinds.most_common())}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1], *map(int, sys.argv[2:4]), *map(float, sys.argv[4:])))
