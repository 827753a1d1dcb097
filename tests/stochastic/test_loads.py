"""Laws of loads equal enumeration, published values and simulation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from stochastic import loads

#: Means of the largest, busiest, occupied, tiles and busiest_tiles.
MEANS = [
    (
        loads(6, 3, groups=3, tile=2),
        ("262/81", "262/81", "665/243", "911/243", "469/243"),
    ),
    (
        loads(8, probabilities=[1 / 2, 1 / 4, 1 / 8, 1 / 8], groups=2, tile=3),
        (
            "9071203/2097152",
            "49675/8192",
            "26917055/8388608",
            "33699867/8388608",
            "22669339/8388608",
        ),
    ),
    (
        loads(10, probabilities=[Fraction(1, 5)] * 5, groups=[2, 2, 1], tile=4),
        (
            "1467026/390625",
            "10187466/1953125",
            "8717049/1953125",
            "9037339/1953125",
            "20396563/9765625",
        ),
    ),
]


@pytest.mark.parametrize(("law", "means"), MEANS)
def test_means_are_those_of_the_reference(law, means):
    names = ("largest", "busiest", "occupied", "tiles", "busiest_tiles")
    for name, mean in zip(names, means, strict=True):
        assert getattr(law, name).mean() == pytest.approx(float(Fraction(mean)), rel=1e-14), name


def test_chances_are_those_of_the_reference():
    law = loads(6, 3).largest
    expected = [10 / 81, 140 / 243, 20 / 81, 4 / 81, 1 / 243]
    assert law.pmf([2, 3, 4, 5, 6]) == pytest.approx(expected, rel=1e-12)
    law = loads(8, probabilities=[1 / 2, 1 / 4, 1 / 8, 1 / 8]).largest
    assert law.pmf([2, 4]) == pytest.approx([315 / 32768, 3025155 / 8388608], rel=1e-12)


def test_large_laws_are_those_of_the_reference():
    busiest = loads(131_072, 256, groups=64).busiest
    assert busiest.mean() == pytest.approx(2154.8423659, abs=1e-6)
    assert busiest.quantile([0.5, 0.99]).tolist() == [2153, 2212]
    assert busiest.cdf([2160, 2200]) == pytest.approx([0.6542570422, 0.9752820388], abs=2e-10)
    law = loads(4096, 256, tile=16)
    assert law.largest.mean() == pytest.approx(28.4116912246, abs=2e-10)
    assert law.largest.quantile(0.99) == 34
    assert law.largest.cdf([30, 35]) == pytest.approx([0.8676612037, 0.9971439322], abs=1e-10)
    assert law.tiles.mean() == pytest.approx(367.1458605408, abs=1e-9)
    assert loads(400, 256).occupied.mean() == pytest.approx(202.5034205673, abs=1e-9)
