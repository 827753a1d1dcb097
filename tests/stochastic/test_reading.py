"""Laws as they are spoken, and as they lie in files."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from stochastic import LawError, Pmf

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "imbalance"


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("geometric:0.05", Pmf.geometric(0.05)),
        ("geo:0.05", Pmf.geometric(0.05)),
        (" Poisson: 30 ", Pmf.poisson(30)),
        ("uniform:20,40", Pmf.uniform(20, 40)),
        ("binomial:40,0.5", Pmf.binomial(40, 0.5)),
        ("binomial:40,1/2", Pmf.binomial(40, Fraction(1, 2))),
        ("negative_binomial:5,0.3", Pmf.negative_binomial(5, 0.3)),
        ("negative-binomial:5,0.3", Pmf.negative_binomial(5, 0.3)),
        ("nb:2.5,0.3", Pmf.negative_binomial(2.5, 0.3)),
        ("bernoulli:0.25", Pmf.bernoulli(0.25)),
        ("bernoulli:1/4", Pmf.bernoulli(Fraction(1, 4))),
        ("weights:0.2,0.3,0.5", Pmf.from_weights([0.2, 0.3, 0.5])),
        ("weights:1/3,2/3", Pmf.from_weights([Fraction(1, 3), Fraction(2, 3)])),
    ],
)
def test_spoken_laws(text: str, law: Pmf) -> None:
    assert Pmf.parse(text) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b:0.5", "may be bernoulli or binomial"),
        ("gauss:3", "names no family: expected bernoulli, binomial"),
        (":3", "names no family"),
        ("", "no law"),
        ("geometric", "gives geometric 0 of its 1 numbers: expected geometric:P, such as geom"),
        ("uniform:20", r"1 of its 2 numbers: expected uniform:LOW,HIGH, such as uniform:20,40"),
        ("uniform:1,2,3", "3 of its 2"),
        ("weights:", "0 of its one or more numbers"),
        ("geometric:abc", "'abc' in 'geometric:abc' is no number"),
        ("bernoulli:1/0", "no number"),
        ("geometric:nan", "p = nan"),
        ("geometric:2", "p = 2"),
        ("uniform:1.5,3", "low = 1.5"),
        ("weights:0.2,0.3", "sum to 0.5"),
        ("nowhere.csv", "nowhere.csv cannot be read"),
        (3, "no law"),
    ],
)
def test_misspoken_laws(text: Any, message: str) -> None:
    with pytest.raises(LawError, match=message):
        Pmf.parse(text)


FILES = {
    "samples": ("3\n5\n5\n5\n", Pmf.from_samples([3, 5, 5, 5])),
    "samples with a header": ("steps\n3\n5\n5\n5\n", Pmf.from_samples([3, 5, 5, 5])),
    "probabilities": ("n,p\n3,0.25\n5,0.75\n", Pmf.from_weights({3: 0.25, 5: 0.75})),
    "probabilities, bare": ("3,0.25\r\n5,7.5e-1\r\n", Pmf.from_weights({3: 0.25, 5: 0.75})),
    "counts": ("value,count\n3,1\n5,3\n", Pmf.from_counts({3: 1, 5: 3})),
    "counts, bare": ("# steps, seen\n\n3;1\n5;3\n", Pmf.from_counts({3: 1, 5: 3})),
    "one of one": ("work,items\n3,1\n", Pmf.from_counts({3: 1})),
    "decimal commas": ("0;0,25\n1;0,75\n", Pmf.parse("weights:0.25,0.75")),
    "separators at the end": ("n;p;\n0;0.25;\n1;0.75;\n", Pmf.parse("weights:0.25,0.75")),
    "quotes and a mark": (
        '\ufeff"n"\t"p"\n"3"\t"0.25"\n5\t0.75',
        Pmf.parse("weights:0,0,0,0.25,0,0.75"),
    ),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_files(name: str, packed: bool, tmp_path: Path) -> None:
    text, law = FILES[name]
    path = tmp_path / ("law.csv.gz" if packed else "Law.CSV")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert Pmf.parse(str(path)) == law


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no numbers"),
        ("n,p\n", "holds no numbers"),
        ("n,d,p\n1,1,0.5\n", "line 2: 3 columns"),
        ("3,0.5\n4\n", "line 2: 1 fields where line 1 has 2"),
        ("3,0.5\n3,0.5\n", "line 2: the value 3 occurs a second time"),
        ("3,0.5\n4,0.6\n", "weights sum to 1.1"),
        ("n,p\n3,1\n4,2\n", "sum to 3"),
        ("n,count\n3,0.5\n4,0.5\n", "'count' holds fractions"),
        ("3\n4.5\n", "line 2: '4.5' is no whole number"),
        ("3\n-4\n", "line 2: '-4' is no whole number"),
        ("3\nx\n", "line 2: 'x' is no number"),
        ("3\nnan\n", "line 2: 'nan' is no whole number"),
        ("n,p\n3,nan\n", "hold nan"),
        ("n,p\n3,-1\n4,2\n", "hold -1"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "law.csv"
    path.write_text(text)
    with pytest.raises(LawError, match=message):
        Pmf.parse(str(path))


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "law.csv"
    path.write_bytes(b"\x80\x81")
    with pytest.raises(LawError, match="no text"):
        Pmf.parse(str(path))
    path = tmp_path / "short.csv.gz"
    path.write_bytes(gzip.compress(b"3\n4\n" * 1000)[:20])
    with pytest.raises(LawError, match="cannot be read"):
        Pmf.parse(str(path))


def test_the_measured_law_of_the_paper() -> None:
    path = SHARED / "acts_prop_freq.csv"
    if not path.is_file():
        pytest.skip("the data of the paper is not beside this checkout")
    law = Pmf.parse(str(path))
    assert law.support() == (13, 119)
    assert law.mean() == pytest.approx(38.5759, abs=1e-4)
    assert law.pmf(13) == pytest.approx(2.003931714022913e-06, rel=1e-15)
