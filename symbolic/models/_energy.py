"""Energy of a run and its products with time, for every model that yields time and power."""

from __future__ import annotations

from symbolic.equation import equation


@equation(source="Hong 2012, Eq. 94", symbol="E")
def energy(power, time):
    """Energy of the run. [J]"""
    return power * time


@equation(source="energy-delay product", symbol="E T")
def edp(energy, time):
    """Energy-delay product: time counts as much as energy. [J s]"""
    return energy * time


@equation(source="energy-delay-squared product", symbol="E T^2")
def ed2p(edp, time):
    """Energy-delay-squared product: time counts twice as much as energy. [J s²]

    Dynamic power that is cubic in the clock, with time inverse to it, leaves this one unchanged.
    """
    return edp * time


EQUATIONS = (energy, edp, ed2p)
