"""A stranger's model, one file that imports dse alone: its regimes, borders and advice follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse

OVERLAP = '''
"""The {size} of three, each a quantity with a name."""
import dse

OUTPUTS = ("whole",)
one = dse.quantity("first_input", domain="(0, inf)")
two = dse.quantity("second_input", domain="whole [1, inf)")

@dse.equation(source="mine")
def first_part(first_input):
    return 2 * first_input

@dse.equation(source="mine")
def second_part(second_input):
    return dse.sqrt(second_input)

@dse.equation(source="mine")
def third_part(first_input):
    return dse.where(first_input > 1, 3.0, dse.exp(first_input))

@dse.equation(source="mine")
def inner_part(second_part, third_part):
    return dse.{op}(second_part, third_part)

@dse.equation(source="mine")
def whole(first_part, inner_part):
    return dse.{op}(first_part, inner_part)
'''


def write(folder: Path, op: str) -> str:
    path = folder / "mine.py"
    path.write_text(OVERLAP.format(op=op, size={"minimum": "smallest", "maximum": "largest"}[op]))
    return str(path)


@pytest.mark.parametrize("op", ["minimum", "maximum"])
def test_regimes_are_those_of_the_extreme_term(op: str, tmp_path: Path) -> None:
    model = dse.model(write(tmp_path, op))
    assert model.families == ()
    assert [family.of for family in model.regime_families] == ["whole"]
    result = {regime.label: regime for regime in model.regimes()}
    assert set(result) == {"first_part", "inner_part"}
    study = dse.Study(
        model=str(tmp_path / "mine.py"),
        axes={"first_input": [0.5, 1, 2, 4], "second_input": [1, 4, 25, 400]},
        outputs=["whole", "first_part", "inner_part"],
    )
    ds = study.run()
    case = study.borders("whole", along="second_input").whole_regime
    meanings = case.attrs["flag_meanings"].split()
    named = dict(zip(np.atleast_1d(case.attrs["flag_values"]).tolist(), meanings, strict=True))
    first = np.vectorize(named.get)(case.values) == "first_part"
    np.testing.assert_array_equal(first, (ds.whole == ds.first_part).values)


@pytest.mark.parametrize("op", ["minimum", "maximum"])
@pytest.mark.parametrize("first", [0.5, 0.9, 2.0, 6.0])
@pytest.mark.parametrize("second", [1, 7, 100])
def test_advice_is_of_the_extreme_term(op: str, first: float, second: int, tmp_path: Path) -> None:
    path = write(tmp_path, op)
    point = {"first_input": first, "second_input": second}
    names = ["whole", "first_part", "second_part", "third_part"]
    here = dse.evaluate(path, outputs=names, **point)
    least = min if op == "minimum" else max
    advice = dse.advise(path, **point)
    terms = {name: here[name].item() for name in names[1:]}
    assert advice.terms == terms
    assert terms[advice.bound] == least(terms.values()) == here.whole.item()
    for move in (m for m in advice.moves if 0 < m.until < np.inf):
        beyond = dse.evaluate(path, outputs=names, **{**point, move.quantity: move.until})
        ratio = beyond.whole.item() / here.whole.item()
        gain = ratio if op == "minimum" else 1 / ratio
        assert move.gain == pytest.approx(gain, rel=1e-9)
        assert move.helps == (move.gain > 1)
    helping = {move.quantity for move in advice.moves if move.helps}
    binding = {"first_part": "first_input", "second_part": "second_input"}.get(advice.bound)
    assert binding is None or binding in helping or second == 1


def test_a_border_is_where_another_term_takes_over(tmp_path: Path) -> None:
    path = write(tmp_path, "maximum")
    advice = dse.advise(path, first_input=8, second_input=16)
    assert advice.bound == "first_part"
    (move,) = [m for m in advice.moves if m.quantity == "first_input" and m.helps]
    assert move.direction == "lower"
    assert move.until == pytest.approx(2.0)
    assert move.next_limiter == ("second_part",)
    assert move.gain == pytest.approx(4.0)


def test_terms_without_a_name_are_no_regimes(tmp_path: Path) -> None:
    path = write(tmp_path, "minimum")
    text = Path(path).read_text()
    Path(path).write_text(text.replace("minimum(first_part, inner_part)", "minimum(first_part, 3)"))
    assert dse.model(path).regime_families == ()
    with pytest.raises(dse.DseError, match=r"is the minimum\(\.\.\.\) or maximum\(\.\.\.\)"):
        dse.advise(path, first_input=1, second_input=1)


def test_what_a_model_declares_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path, "minimum")
    text = 'FAMILIES = (dse.Family(of="whole", terms={"a": "first_part", "b": "inner_part"}),)\n'
    text += 'ADVICE = dse.Guide(state="whole", goal="whole", limits="whole", maximize=True,\n'
    text += '                   helps={"a": "first_input"})\n'
    Path(path).write_text(Path(path).read_text() + text)
    assert [regime.label for regime in dse.model(path).regimes()] == ["a", "b"]
    advice = dse.advise(path, first_input=1, second_input=100)
    assert (advice.bound, advice.terms["a"]) == ("a", 2.0)
    assert {move.quantity for move in advice.moves} == {"first_input"}
