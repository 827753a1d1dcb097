"""Laws as text, drawn and hostile: read as they are meant, or refused by one clear error.

    python -m tests.dse.law_texts 20000 1

Draws so many texts with the seed 1: families in any case, shortened, misspelt and absent; numbers
near 0, 2**53 and 1e±300, fractions, percents, units, NaN, foreign digits, control characters, very
long ones. Each is read as a law of work, and as a law of an input. A law must be that of the
constructor with the numbers as Python reads them; an error must be a ``LawError`` or ``DseError``
of at most two thousand characters that names what was given. Anything else ends it with status 1.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

from dse.uncertain.laws import read_input_law
from stochastic import LawError, Pmf
from stochastic.work.families import FAMILIES
from symbolic.errors import DseError
from symbolic.quantities import TABLE

NAMES = (
    *("bernoulli", "binomial", "geometric", "negative_binomial", "poisson", "uniform", "weights"),
    *("nb", "negbin", "normal", "lognormal", "triangular", "beta", "discrete"),
    *(
        "gauss",
        "",
        ":",
        "__class__",
        "from_samples",
        "of_family",
        "\x1b[31m",
        "geo\nmetric",
        "b" * 5000,
    ),
)
NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        "+2",
        "0.5",
        "1/4",
        "1/0",
        "2/1/3",
        "1e-300",
        "1e300",
        "1e400",
        "-0.0",
        "5e-324",
    ),
    *(
        "9007199254740992",
        "9007199254740993",
        "0.1e",
        "0x10",
        "1_000",
        "nan",
        "inf",
        "-inf",
        "٣",
        "５",
    ),
    *(
        "5 %",
        "5%",
        "450 cycles",
        "3 GHz",
        "450 cycles: 0.3",
        "",
        " ",
        "x",
        "2*3",
        "__import__('os')",
    ),
    *("1" * 5000, "0." + "3" * 400, "\x00", "1;2", "(1)", "[1]", "None", "True"),
)


#: Characters of a message, of which one number may take 500.
LONGEST = 2000


def plain(rng: random.Random) -> str:
    """Return the text of a law of work, or of an input, with as many numbers as it takes."""
    name = rng.choice((*FAMILIES, "normal", "lognormal", "triangular"))
    whole = sorted(rng.choice((0, 1, 2, 7, 40, 1000, 2**53)) for _ in range(3))
    shares = "0.5", "1/3", "1e-300", "0", "1", repr(rng.random())
    number = {"low": whole[0], "high": whole[1], "trials": whole[2], "r": rng.choice((0.3, 1, 1e4))}
    number |= {"q1": 1, "median": 2, "q3": 7, "mean": rng.choice((3, "63/4", 100))}
    number |= {"p": rng.choice(shares), "rate": rng.choice((0, 30, 1e-9, 1e9, 1e300))}
    names = FAMILIES[name].names if name in FAMILIES else ()
    words = [str(number[key]) for key in names]
    words = words or [f"{one + 1} cycles" for one in whole][: 3 if name == "triangular" else 2]
    return rng.choice((name, name.upper(), f" {name} ")) + rng.choice((":", ": ")) + ",".join(words)


def draw_text(rng: random.Random) -> str:
    """Return a text that may be a law."""
    if rng.random() < 0.5:
        return plain(rng)
    name = rng.choice(NAMES)
    name = rng.choice([name, name.upper(), name.title(), name[: rng.randint(1, 9)], f" {name} "])
    name = rng.choice([name, name.replace("_", "-"), name.replace("_", " ")])
    few = [rng.choice(NUMBERS) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 4)))]
    if rng.random() < 0.6:
        few = [rng.choice(("1", "2", "0.5", "1/3", "7", repr(rng.random()))) for _ in few]
    return (
        name + rng.choice((":", ":", ": ", " :", "", "::", "=")) + rng.choice((",", ", ")).join(few)
    )


def expected_law(text: str) -> Pmf | None:
    """Return the law that a plainly written text must mean; None where it is not so plain."""
    name, colon, rest = text.strip().partition(":")
    name = name.strip().lower().replace("-", "_")
    if name not in FAMILIES or not colon:
        return None
    try:
        numbers = [Fraction(word) if "/" in word else float(word) for word in rest.split(",")]
        return Pmf.of_family(name, *numbers)
    except (ValueError, ZeroDivisionError):  # among them LawError
        return None


def outcome(text: str) -> str:
    """Read a text both ways; return what happened, or raise AssertionError."""
    parts = []
    readers: tuple[Any, ...] = (
        Pmf.parse,
        lambda t: read_input_law(t, TABLE["mem_latency"], "random"),
    )
    for reader in readers:
        try:
            law = reader(text)
        except (LawError, DseError) as error:
            law, why = None, str(error)
        if law is None:
            assert 0 < len(why) <= LONGEST, f"{text!r:.80}: a message of {len(why)} characters"
        want = expected_law(text) if isinstance(law, Pmf) else None
        assert want is None or (want == law and repr(want) == repr(law)), f"{text!r}: {law!r}"
        parts.append("refused" if law is None else "read")
    return " and ".join(parts)


def attack(count: int, seed: int) -> Counter[str]:
    """Return how often each outcome came of so many texts."""
    rng = random.Random(seed)
    return Counter(outcome(draw_text(rng)) for _ in range(count))


if __name__ == "__main__":
    print(attack(int(sys.argv[1]), int(sys.argv[2])))
