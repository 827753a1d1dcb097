"""Drawn studies, each asked as a study, as a store and as a Dataset: the answers are the same.

    python -m tests.sweeps.asking_stores 400 1

A store and the Dataset opened from it answer as the study does, attributes included. A store whose
model is not at hand answers as the Dataset in memory does, with the values that the study gives. An
answer that is refused is refused alike. The exit status is 1 where something differs.
"""

from __future__ import annotations

import collections
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dse
from dse.runs.identity import stored_study
from symbolic.errors import DseError, UnknownNameError
from tests.sweeps.attack_checks import Truth
from tests.sweeps.attack_models import draw_study, make_study
from tests.sweeps.compare_answers import question
from tests.sweeps.without_model import without_model


def answer(ask: Callable[[Any], Any], source: Any) -> Any:
    """Return a Dataset, or the error that refuses one."""
    try:
        return ask(source)
    except DseError as error:
        return error


def is_same(one: Any, other: Any, *, attributes: bool = True) -> bool:
    """True if two answers are the same; without attributes, what both hold but ``feasible``."""
    if isinstance(one, DseError) or isinstance(other, DseError):
        return type(one) is type(other)
    if attributes:
        return bool(one.identical(other))
    names = {*one.variables, *other.variables} - {"feasible"}
    return all(
        name in one.variables
        and name in other.variables
        and np.array_equal(
            one[name].values, other[name].values, equal_nan=one[name].dtype.kind == "f"
        )
        for name in names
    )


def compare(seed: int, folder: Path) -> tuple[str, str]:
    """Return what a drawn study was asked, and what of its answers differs (nothing: empty)."""
    one = draw_study(seed)
    _, verb, given, options = question(one, seed)
    options.pop("method", None)
    path = folder / f"{seed}.zarr"
    try:
        study = make_study(one, folder / f"stored_{seed}.py")
        if "where" in options:
            truth = Truth(one)
            options["where"] = [truth._limit(*limit) for limit in options["where"]]
        study.run(store=path)
    except (DseError, ValueError) as error:
        return f"refused: {str(error)[:50]}", ""

    def ask(source: Any) -> Any:
        return getattr(dse, verb)(source, *given, **options)

    text = f"{verb} {options}"
    own, stored = answer(ask, study), answer(ask, path)
    if stored_study(path) is None:  # a long table is not kept
        return "a study that its store does not tell", "" if is_same(
            own, stored, attributes=False
        ) else f"{text}: {own} {stored}"
    opened = answer(ask, dse.open(path))
    with without_model():
        values = answer(ask, path)
    memory = answer(ask, study.run())
    if not (is_same(own, stored) and is_same(own, opened)):
        return "wrong", f"{text}\nstudy: {own}\nstore: {stored}\nopened: {opened}"
    if isinstance(memory, DseError) or isinstance(values, DseError):
        wrong = not (isinstance(values, DseError) and is_refused_alike(memory, values))
        return f"{verb}: refused", f"{text}\nDataset: {memory}\nvalues: {values}" if wrong else ""
    if not (is_same(values, memory) and is_same(own, values, attributes=False)):
        return "wrong", f"{text}\nstudy: {own}\nvalues: {values}\nDataset: {memory}"
    return verb, ""


def is_refused_alike(memory: Any, values: DseError) -> bool:
    """True if the model would be needed, or a Dataset in memory is refused, too."""
    needs = "the model is not at hand" in str(values) or isinstance(values, UnknownNameError)
    return needs or type(memory) is type(values)


def main(count: int, first: int = 1) -> int:
    """Compare so many studies; the exit status."""
    kinds, wrong = collections.Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            kind, what = compare(seed, Path(folder))
            kinds[kind] += 1
            if what:
                wrong += 1
                print(f"seed {seed}: {what}")
    print(json.dumps({"studies": count, "wrong": wrong, **dict(kinds.most_common())}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
