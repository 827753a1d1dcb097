"""What Swatman 2022 claims in numbers, against what is computed here."""

from __future__ import annotations

import math
from fractions import Fraction

from stochastic import Pmf, imbalance
from tests.papers.claims import Claim
from tests.papers.test_imbalance import LANES, TABLE_1

DIE = Pmf.from_weights([Fraction(1, 6)] * 6, low=1)

CLAIMS = [
    *(
        Claim(
            claim=f"mean loss of {name.replace('_', ' ')} work in {lanes} lanes",
            source="Table I",
            printed=printed,
            within=5e-4,
            computed=lambda pmf=pmf, lanes=lanes: imbalance(pmf, lanes, eps=1e-6).mean(),
        )
        for name, (pmf, means) in TABLE_1.items()
        for lanes, printed in zip(LANES, means, strict=True)
    ),
    Claim(
        claim="most work of the geometric law that is kept, the cut at 1e-6",
        source="section IV",
        printed=270,
        computed=lambda: Pmf.geometric(0.05).cut(1e-6).high,
    ),
    Claim(
        claim="mean loss of a die in 2 lanes, 64877/49896",
        source="Eqs. 4-6, in fractions",
        printed=math.nan,
        worked=64877 / 49896,
        computed=lambda: float(imbalance(DIE, 2).mean()),
    ),
]
