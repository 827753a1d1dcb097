"""Along which axes sums, products and quotients rise and fall."""

from __future__ import annotations

from typing import Any

from symbolic.primitives.words import INF, NONE, choose, every


# --- directions
def along(up: Any, down: Any, low: Any, high: Any) -> Any:
    """How something goes once multiplied by what lies between two ends."""
    if every(low >= 0):
        return up, down
    idle = up & down
    rises = choose(low >= 0, up, choose(high <= 0, down, idle))
    return rises, choose(low >= 0, down, choose(high <= 0, up, idle))


def together(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Along the axes along which both go."""
    return aup & bup, adn & bdn


def against(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """As the first, and as the second turned round."""
    return aup & bdn, adn & bup


def mul_trend(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Of a product."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    return au & bu, ad & bd


def div_trend(al: Any, ah: Any, aup: Any, adn: Any, bl: Any, bh: Any, bup: Any, bdn: Any) -> Any:
    """Of a quotient: none where the divisor may be zero, whose sign may vary."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    clear = (bl > 0) | (bh < 0)
    return choose(clear, au & bd, NONE), choose(clear, ad & bu, NONE)


def divide_trend(
    al: Any,
    ah: Any,
    aup: Any,
    adn: Any,
    bl: Any,
    bh: Any,
    bup: Any,
    bdn: Any,
    zl: Any,
    zh: Any,
    zup: Any,
    zdn: Any,
) -> Any:
    """Of a quotient with a value where the divisor is zero."""
    au, ad = along(aup, adn, bl, bh)
    bu, bd = along(bup, bdn, al, ah)
    up, down = au & bd, ad & bu
    clear = (bl > 0) | (bh < 0)
    if every(clear):
        return up, down
    # the quotient grows as the divisor falls to zero, where it is infinite
    falls_from = (bl >= 0) & (al >= 0) & (zl == INF)
    idle = aup & adn & bup & bdn & zup & zdn
    up = choose(clear, up, choose(falls_from, up & zup, idle))
    return up, choose(clear, down, choose(falls_from, down & zdn, idle))
