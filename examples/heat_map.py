"""Draw the temperature of a chip from a few sensors, as in Hong 2012, section 4.3.3.

    python examples/heat_map.py readings.csv heat-map.png

The file has the columns x, y and temperature, and a row for each sensor. At least three sensors
must not lie on one line. The temperature is linear in each triangle of neighbours; outside of all
triangles there is no value. The thesis draws its readings with MATLAB's contourf, and prints none.
"""

import sys

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.tri import LinearTriInterpolator, Triangulation


def temperature_map(readings, points=101):
    """Return x, y and the temperature on a grid over the sensors, NaN outside of them."""
    x, y = (np.linspace(readings[n].min(), readings[n].max(), points) for n in ("x", "y"))
    between = LinearTriInterpolator(Triangulation(readings.x, readings.y), readings.temperature)
    return x, y, between(*np.meshgrid(x, y)).filled(np.nan)


def hottest(readings):
    """Return x, y and the temperature of the hottest point of the map."""
    x, y, heat = temperature_map(readings)
    row, column = np.unravel_index(np.nanargmax(heat), heat.shape)
    return float(x[column]), float(y[row]), float(heat[row, column])


if __name__ == "__main__":
    readings = pd.read_csv(sys.argv[1])
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    filled = axes.contourf(*temperature_map(readings), levels=12, cmap="inferno")
    axes.plot(readings.x, readings.y, "wx")
    axes.set(xlabel="x", ylabel="y", aspect="equal")
    figure.colorbar(filled, label="temperature [°C]")
    figure.savefig(sys.argv[2])
    print("hottest: {2:.1f} °C at x = {0:g}, y = {1:g}".format(*hottest(readings)))
