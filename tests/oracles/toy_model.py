"""A user's model that uses every primitive, a table equation, a switch, flags and a rule."""

import math

import dse
from symbolic.ops import (
    absolute,
    both,
    ceil,
    divide,
    either,
    equal,
    exp,
    floor,
    log,
    log2,
    log10,
    maximum,
    minimum,
    negate,
    power,
    sqrt,
    where,
)

OUTPUTS = ("toy_cost", "toy_waste", "toy_state", "toy_growth")
RULES = ("toy_load <= toy_limit",)

toy_load = dse.quantity("toy_load", domain="[0, inf)", typical=(0, 100))
toy_limit = dse.quantity("toy_limit", domain="[0, inf)", typical=(0, 100), default=60)
toy_share = dse.quantity("toy_share", domain="[0, 1]", typical=(0, 1))
toy_unit = dse.quantity("toy_unit", unit="s", domain="(0, inf)", typical=(1e-3, 10))
toy_shape = dse.quantity("toy_shape", labels=("flat", "steep"), default="flat")
toy_kind = dse.quantity("toy_kind", labels=(), meaning="anything")


@dse.equation(source="made up", table=True)
def toy_letters(toy_kind, toy_load):
    return len(toy_kind) + math.floor(toy_load)


@dse.equation(source="made up", when={"toy_shape": "flat"})
def toy_slope(toy_share):
    return 1 - toy_share


@dse.equation(source="made up", name="toy_slope", when={"toy_shape": "steep"})
def toy_slope_steep(toy_share, toy_load):
    return power(1 - toy_share, 3) + sqrt(toy_load)


@dse.equation(source="made up", unit="s")
def toy_cost(toy_letters, toy_slope, toy_unit):
    return toy_letters * toy_slope * toy_unit


@dse.equation(source="made up")
def toy_waste(toy_load, toy_share):
    whole = ceil(toy_load / 7) * 7 - floor(toy_load)
    inside = both(toy_load > 3, negate(equal(floor(toy_load / 2) * 2, toy_load)))
    some = either(inside, toy_share < 0.25)
    return where(some, absolute(whole - 5), divide(toy_load, toy_share, at_zero=-1))


@dse.equation(source="made up", flags={0: "idle", 1: "in use", 2: "full"})
def toy_state(toy_load, toy_limit):
    return where(toy_load >= toy_limit, 2.0, where(toy_load > 0, 1.0, 0.0))


@dse.equation(source="made up")
def toy_growth(toy_share, toy_unit, toy_slope):
    logs = log(toy_unit) + log2(1 + toy_share) + log10(toy_unit)
    risen = power(1 + toy_unit, toy_share) + power(toy_unit, -2) + power(toy_unit, 0.5)
    return maximum(minimum(exp(-toy_unit), risen), logs) * toy_slope
