"""Distribution of the loss of 32 lanes with geometric work, and a simulation of it."""

from dse import plots
from stochastic import Pmf, imbalance

figure = plots.law_figure(imbalance(Pmf.geometric(0.05), lanes=32), groups=20_000)
figure.savefig("law.png")
