"""Monte Carlo simulation of the losses of groups."""
