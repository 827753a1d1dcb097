"""A family of laws is added by a row of the table and a constructor, and works everywhere."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

from stochastic import Pmf
from stochastic.work.families import FAMILIES
from stochastic.work.parse import LAW_SYNTAX

#: The two files that a new family touches: a row of the table, and a constructor of Pmf.
ADDED = """
import math
import numpy as np
from scipy.special import gammaln
from stochastic.work.families import FAMILIES, LawFamily, Parameter
from stochastic.work import arguments

def borel(k, rate):
    return np.exp(-rate * k + (k - 1) * np.log(rate * k) - gammaln(k + 1))

def tail(k, rate):
    later = np.asarray(k)[..., None] + np.arange(1, 3000)
    return borel(later, rate).sum(axis=-1)

FAMILIES["borel"] = LawFamily(
    name="borel",
    summary="Items of a tree in which each begets Poisson many.",
    example="borel:0.5",
    note="a whole tree",
    parameters=(
        Parameter(
            name="rate",
            check=lambda name, value: float(arguments.check_probability(name, value)),
            quantity="branching_rate",
            domain="(0, 1)",
            meaning="mean of those that an item begets",
            typical=(0.1, 0.9),
        ),
    ),
    support_ends=lambda rate: (1, math.inf),
    pmf=borel,
    sf=tail,
    estimate=lambda h: (1 - h.size / h.total,),
    errors=lambda h, rate: (math.sqrt(rate * (1 - rate) / h.size),),
    log_likelihood=lambda h, rate: float(
        h.counts[h.low :] @ np.log(borel(np.arange(h.low, h.high + 1.0), rate))
    ),
)
"""
USED = """
import click, dse
from click.testing import CliRunner
from dse.cli import main
from stochastic import Pmf, fit, imbalance

law = Pmf.of_family("borel", 0.5)
assert abs(law.mean() - 2) < 1e-9 and abs(law.var() - 4) < 1e-9, (law.mean(), law.var())
assert repr(law) == "Pmf.borel(0.5)" and law.quantile(0.5) == 1
assert Pmf.parse(" BOR: 1/2") == law and Pmf.parse("borel:0.5").cut(1e-9).high > 50
found = fit(law.sample(400, seed=1), replicates=5)
assert found[0].family == "borel" and abs(found[0].parameters["rate"] - 0.5) < 0.1
loss = imbalance(law, 4).mean()
run = CliRunner().invoke(main, ["imbalance", "borel:0.5", "--lanes", "4"])
assert run.exit_code == 0 and f"{loss:.6g}" in run.output, run.output
helped = CliRunner().invoke(main, ["imbalance", "--help"], terminal_width=200).output
assert "borel:RATE (a whole tree)" in " ".join(helped.split())
ds = dse.Study(
    model="imbalance",
    axes={"distribution": ["borel:0.5", "geometric:0.5"]},
    set={"lanes": 4},
    outputs=["imbalance_loss"],
).run()
assert ds.imbalance_loss.sel(distribution="borel:0.5").item() == loss
ds = dse.evaluate(
    "imbalance", work_law="borel", branching_rate=[0.25, 0.5], lanes=4, outputs=["imbalance_loss"]
)
assert ds.imbalance_loss[1].item() == loss
print("done")
"""


def test_a_new_family_works_in_python_text_commands_studies_and_fits(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ADDED + USED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr


def test_every_family_has_a_constructor_with_its_parameters_and_an_example() -> None:
    for name, row in FAMILIES.items():
        made = getattr(Pmf, name)
        assert tuple(inspect.signature(made).parameters) == row.names
        assert inspect.getdoc(made) == row.summary
        assert repr(Pmf.parse(row.example)).startswith(f"Pmf.{name}(")
        assert row.limit_family in ("", *FAMILIES)
        assert LAW_SYNTAX[name].numbers == row.names
