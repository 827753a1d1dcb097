"""Static power of a chip as a function of temperature, and its linear model (Hong 2012, §3.1.2).

The thesis cites both equations (Butts and Sohi; HotLeakage) and then uses a linear model, because
the range of chip temperatures is narrow. Here the line is the tangent at a reference temperature.
The slope is the derivative of Eq. 34 by temperature at a constant threshold voltage (a test derives
the slope). The slope times the static power is the σ of Eq. 56.

The sign of V_off is as in the text of the thesis, :math:`-(|V_{th}| - V_{off})/(n v_t)`.
"""

from symbolic.equation import Validity, equation
from symbolic.ops import exp

OUTPUTS = ("static_power", "linear_static_power", "leakage_slope")
VALIDITY = Validity(statement="its numbers are fitted to the chip at hand")

#: Boltzmann constant divided by elementary charge; both are exact in the SI. [V/K]
BOLTZMANN_OVER_CHARGE = 1.380649e-23 / 1.602176634e-19
KELVIN_AT_ZERO_CELSIUS = 273.15


@equation(source="Hong 2012, section 3.1.2", symbol="v_t")
def thermal_voltage(temperature):
    """Thermal voltage. [V]"""
    return BOLTZMANN_OVER_CHARGE * (temperature + KELVIN_AT_ZERO_CELSIUS)


@equation(source="Hong 2012, Eq. 34", symbol=r"\hat{I}_{leak}")
def leakage_current(
    leakage_scale, voltage_leakage_slope, supply_voltage, nominal_supply_voltage, thermal_voltage,
    threshold_voltage, offset_voltage, subthreshold_swing,
):  # fmt: skip
    """Leakage current of one transistor that is off; ``leakage_scale`` is μ₀ C_OX W/L. [A]"""
    raised = exp(voltage_leakage_slope * (supply_voltage - nominal_supply_voltage))
    drained = 1 - exp(-(supply_voltage / thermal_voltage))
    barrier = (threshold_voltage - offset_voltage) / (subthreshold_swing * thermal_voltage)
    return leakage_scale * raised * (thermal_voltage * thermal_voltage) * drained * exp(-barrier)


@equation(source="Hong 2012, Eq. 33", symbol=r"P_{static}")
def static_power(supply_voltage, transistors, design_factor, leakage_current):
    """Static power of the chip. [W]"""
    return supply_voltage * transistors * design_factor * leakage_current


@equation(
    source="Hong 2012, Eqs. 33 and 34 at the reference",
    inputs=(
        *("supply_voltage", "transistors", "design_factor", "leakage_scale"),
        *("voltage_leakage_slope", "nominal_supply_voltage", "reference_temperature"),
        *("threshold_voltage", "offset_voltage", "subthreshold_swing"),
    ),
)
def reference_static_power(supply, transistors, design, scale, slope, nominal, reference, *barrier):
    """Static power at the reference temperature. [W]"""
    volts = thermal_voltage(reference)
    current = leakage_current(scale, slope, supply, nominal, volts, *barrier)
    return static_power(supply, transistors, design, current)


@equation(source="Hong 2012, section 3.1.2, the derivative of Eq. 34")
def leakage_slope(
    reference_temperature, threshold_voltage, offset_voltage, subthreshold_swing, supply_voltage
):
    """Relative growth of static power per degree at the reference temperature. [1/K]

    The factor :math:`v_t^2` contributes 2/T, which the thesis calls "quadratic". The exponential of
    the threshold voltage contributes more.
    """
    volts = thermal_voltage(reference_temperature)
    barrier = (threshold_voltage - offset_voltage) / (subthreshold_swing * volts)
    left = exp(-(supply_voltage / volts))
    drained = (supply_voltage / volts) * (left / (1 - left))
    return (2 + barrier - drained) / (reference_temperature + KELVIN_AT_ZERO_CELSIUS)


@equation(source="Hong 2012, section 3.1.2, the linear model")
def linear_static_power(reference_static_power, leakage_slope, temperature, reference_temperature):
    """Static power on the tangent at the reference temperature. [W]"""
    rise = temperature - reference_temperature
    return reference_static_power * (1 + leakage_slope * rise)
