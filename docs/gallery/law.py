"""The law of what lockstep costs 32 lanes whose work is geometric, and what a simulation finds."""

from dse import plots
from stochastic import Pmf, imbalance

figure = plots.law_figure(imbalance(Pmf.geometric(0.05), lanes=32), groups=20_000)
figure.savefig("law.png")
