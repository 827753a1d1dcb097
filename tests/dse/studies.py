"""Random small studies of shipped models, drawn from the typical ranges of their inputs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import dse
from sweeps.bounds.checks import check_grid
from symbolic.errors import DseError
from tests.one_source.points import draw


def draw_study(
    model: str, rng: random.Random, *, sizes: tuple[int, ...] = (4, 3), **more: Any
) -> Any:
    """A study with an axis of so many values for each size; None where no point is feasible."""
    read = dse.model(model)
    rows = {name: read.quantity(name) for name in read.needs()}
    numbers = [name for name, row in rows.items() if not row.is_label]
    axes: dict[str, Any] = {}
    for name, size in zip(rng.sample(numbers, len(numbers)), sizes, strict=False):
        values = {float(draw(rows[name], rng)) for _ in range(size)}
        axes[name] = rng.sample(sorted(values), len(values))
    given = {name: float(draw(rows[name], rng)) for name in numbers if name not in axes}
    given |= {k: v for k, v in more.pop("set", {}).items() if k not in axes}
    try:
        study = dse.Study(model=model, axes=axes, set=given, **more)
        check_grid(study.grid())
        return study
    except DseError:
        return None


def dense(study: Any, name: str, values: Any, outputs: list[str], at: dict[str, Any]) -> Any:
    """The outputs along many values of one quantity, at one value of each axis."""
    axes = {axis: [value] for axis, value in at.items() if axis != name}
    given = {key: value for key, value in study.set.items() if key != name}
    return dse.Study(
        model=study.model,
        machine=study.machine,
        workload=study.workload,
        axes=axes | {name: np.asarray(values)},
        set=given,
        where=study.where,
        outputs=outputs,
    ).run()
