"""Certified answers where terms, statistics and merged axes are NaN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from symbolic.errors import InfeasibleError

HEAD = """import dse
aa = dse.quantity("aa", domain="(-inf, inf)")
dd = dse.quantity("dd", domain="(-inf, inf)")
ee = dse.quantity("ee", domain="(-inf, inf)")
ss = dse.quantity("ss", domain="(-inf, inf)")
pick = dse.quantity("pick", labels=("alpha", "beta"), default="alpha")
"""


def study(folder: Path, equations: str, axes: dict[str, Any], **given: Any) -> dse.Study:
    """A study of a model written here."""
    lines = [f"@dse.equation(source='s'){line}" for line in equations.strip().split("@")[1:]]
    (folder / "model.py").write_text(HEAD + "\n".join(lines))
    outputs = given.pop("outputs", None)
    return dse.Study(model="model.py", axes=axes, folder=folder, outputs=outputs, **given)


def halves(count: int) -> list[float]:
    return [0.5 * k for k in range(-count, 0)]


@pytest.mark.parametrize(
    ("sense", "formula", "best"),
    [
        ("maximize", "maximum(mean(lim, ss), base)", 842.0),
        ("minimize", "minimum(mean(lim, ss), base)", 1.25),
    ],
)
def test_a_statistic_that_is_nan_everywhere_decides_nothing(
    sense: str, formula: str, best: float, tmp_path: Path
) -> None:
    one = study(
        tmp_path,
        """
@
def lim(ss, dd): return dse.sqrt(0 - dd) + 0 * ss
@
def base(aa, ee): return (aa - ee) * (aa - ee) + 1
""",
        {"dd": [1.0], "ss": [1, 2], "aa": list(range(20)), "ee": halves(20)},
        outputs=["base"],
    )
    for method in ("scan", "certified"):
        result = one.optimum(method=method, **{sense: formula})
        assert float(result.objective) == best
    for question in ({"within": 0.01}, {"ties": True}, {"top": 3}):
        scan, proof = (one.optimum(method=m, **{sense: formula}, **question) for m in _METHODS)
        assert proof.drop_attrs().identical(scan.drop_attrs()), question


_METHODS = ("scan", "certified")
_POWER = "maximum(power(0 * aa, minimum(-1, aa - 100)), -5) + ee"


def test_beyond_2_to_28_points_a_merged_axis_of_nan_excludes_nothing(tmp_path: Path) -> None:
    count = 700
    one = study(
        tmp_path,
        """
@
def bound(dd): return 0 - dse.sqrt(dd)
@
def cost(bound, aa, ee): return dse.maximum(dse.sqrt(bound), (aa - ee) * (aa - ee) + 1)
""",
        {"dd": list(range(-50, count - 50)), "aa": list(range(count)), "ee": halves(count)},
        outputs=["cost", "bound"],
    )
    assert one.grid().points > 2**28
    result = one.optimum(minimize="cost", where="bound <= -9", method="certified")
    assert (float(result.cost), float(result.dd)) == (1.25, 81.0)
    assert result.attrs["gap"] == 0


def test_beyond_2_to_28_points_the_certified_maximum_is_the_maximum(tmp_path: Path) -> None:
    count = 700
    one = study(
        tmp_path,
        """
@
def limit(dd): return dse.floor(dse.sqrt(dd)) + 100
@
def gain(limit, aa, ee): return dse.maximum(limit, (aa - ee) * (aa - ee) + 1)
""",
        {"dd": [-0.5 - k for k in range(count)], "aa": list(range(count)), "ee": halves(count)},
        outputs=["gain"],
    )
    result = one.optimum(maximize="gain", method="certified")
    assert float(result.gain) == 1100402.0
    assert result.attrs["bound"] == 1100402.0


@pytest.mark.parametrize("low", [0.5, -0.5])
def test_a_term_that_is_nan_everywhere_is_pruned_like_one_of_numbers(
    low: float, tmp_path: Path
) -> None:
    count = 200
    one = study(
        tmp_path,
        """
@
def level(dd): return dse.ceil(dse.log(dd)) + 7
@
def loss(level, aa, ee): return dse.minimum(level + aa, 5000 - aa * ee)
""",
        {
            "dd": [low + (k if low > 0 else -k) for k in range(count)],
            "aa": list(range(count)),
            "ee": [0.25 * k for k in range(count)],
        },
        outputs=["loss"],
    )
    result = one.optimum(minimize="loss", method="certified", time_limit=20)
    assert float(result.loss) == -4900.25
    assert result.attrs["gap"] == 0
    assert result.attrs["boxes"] <= 10


@pytest.mark.parametrize("signs", [[3.0, 1.0, -1.0, -2.0], [-1.0, 2.0], [1.0, -1.0, 5.0]])
def test_zeros_of_both_signs_are_not_taken_for_one_value(
    signs: list[float], tmp_path: Path
) -> None:
    """``1 / (0 * a)`` is inf or -inf by the sign of ``a``."""
    one = study(
        tmp_path,
        """
@
def base(aa): return dse.maximum(1 / (0 * aa), -5)
""",
        {"aa": signs, "ee": [1.0, 2.0]},
    )
    for formula in ("base + ee", _POWER, "ee - base", "minimum(-base, 3) - ee"):
        for sense in ("minimize", "maximize"):
            result = [_answer(one, sense, formula, method) for method in _METHODS]
            assert result[0] == result[1], (sense, formula)


def _answer(one: dse.Study, sense: str, formula: str, method: str) -> Any:
    try:
        result = one.optimum(method=method, **{sense: formula})
    except InfeasibleError:
        return None
    return float(result.objective), float(result.aa), float(result.ee)


def test_a_term_that_is_nan_under_one_label_of_a_switch_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        HEAD
        + """
@dse.equation(source="s", when={"pick": "alpha"}, name="out")
def out_alpha(dd): return dse.sqrt(0 - dd)
@dse.equation(source="s", when={"pick": "beta"}, name="out")
def out_beta(aa, ee): return 0 * (aa + ee)
"""
    )
    one = dse.Study(
        model="m.py",
        axes={"pick": ["alpha", "beta"], "dd": [1.0, 2.0], "aa": [1, 2], "ee": [-1, 3]},
        outputs=["out"],
        folder=tmp_path,
    )
    for formula in ("maximum(mean(out, dd), aa)", "minimum(out, ee)", "out", "maximum(aa, out)"):
        for sense in ("minimize", "maximize"):
            scan, proof = (one.optimum(method=m, **{sense: formula}) for m in _METHODS)
            assert proof.drop_attrs().identical(scan.drop_attrs()), (sense, formula)


def test_inputs_within_ends_may_be_nan_at_some_configurations(tmp_path: Path) -> None:
    """Ranges, and what can be the best, of a quantity that is NaN at some points."""
    one = study(
        tmp_path,
        """
@
def limit(dd): return dse.sqrt(dd)
@
def cost(limit, aa): return dse.minimum(limit, aa)
""",
        {"dd": [-1.0, 4.0], "aa": [1.0, 9.0]},
        outputs=["cost"],
    )
    result = one.ranges({"limit": 0.5}, outputs="cost", minimize="cost")
    assert result.cost.sel(end="lower").values.tolist() == [[1.0, 9.0], [1.0, 1.5]]
    assert result.cost.sel(end="upper").values.tolist() == [[1.0, 9.0], [1.0, 2.5]]
    assert result.can_be_best.values.tolist() == [[True, False], [True, False]]


def test_statistics_are_certified_in_order_of_priority(tmp_path: Path) -> None:
    one = study(
        tmp_path,
        """
@
def base(aa, ss): return dse.sqrt(aa) + ss
""",
        {"aa": [-1.0, 4.0, 4.0 + 1e-9, 9.0], "ss": [1, 2], "ee": [2.0, 1.0]},
    )
    question = ["floor(mean(base, ss))", "-ee", "best_high(base, ss)"]
    scan, proof = (one.optimum(method=m, minimize=question) for m in _METHODS)
    assert proof.drop_attrs().identical(scan.drop_attrs())
    question = ["mean(base, ss)", "ee"]
    scan, proof = (one.optimum(method=m, minimize=question) for m in _METHODS)
    assert proof.drop_attrs().identical(scan.drop_attrs())
    assert proof.attrs["gap"] == [0, 0]


@pytest.mark.parametrize("hole", ["sqrt(-1 - 0 * aa)", "sqrt(dd - 0.4)", "0 * sqrt(dd - 0.4) - 9"])
@pytest.mark.parametrize("pick", ["maximum({0}, dd)", "minimum({0}, dd)"])
def test_a_proof_over_a_dense_grid_takes_no_trend_from_nan(
    hole: str, pick: str, tmp_path: Path
) -> None:
    one = study(
        tmp_path,
        f"""
@
def level(aa, dd): return {pick.format(hole.replace("sqrt", "dse.sqrt"))}
""".replace("return m", "return dse.m"),
        {"dd": [0.001 * k for k in range(1001)], "aa": [1.0, 2.0]},
    )
    for target in (0.7, 0.25):
        formula = f"(level - {target}) * (level - {target}) + aa"
        scan, proof = (one.optimum(minimize=formula, method=m) for m in _METHODS)
        assert proof.drop_attrs().identical(scan.drop_attrs())
        assert proof.attrs["bound"] == proof.objective.item()
