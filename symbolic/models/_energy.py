"""Energy of a run and its products with time, for every model that yields time and a power."""

from symbolic.equation import equation


@equation(source="Hong 2012, Eq. 94", symbol="E")
def energy(power, time):
    """Energy of the run. [J]"""
    return power * time


@equation(name="energy", source="by definition: mean power times time", symbol="E")
def mean_energy(average_power, time):
    """Energy of the run; tensor units are left out, as in ``average_power``. [J]"""
    return average_power * time


@equation(source="energy-delay product", symbol="E T")
def edp(energy, time):
    """Energy-delay product: energy times run time. [J s]"""
    return energy * time


@equation(source="energy-delay-squared product", symbol="E T^2")
def ed2p(edp, time):
    """Energy-delay-squared product: energy times the square of the run time. [J s²]

    ED²P does not depend on the clock if power is cubic in the clock, and time inverse to it.
    """
    return edp * time


EQUATIONS = (energy, edp, ed2p)
MEAN_EQUATIONS = (mean_energy, edp, ed2p)
