"""Remedies of imbalance, and the cost of lockstep for real traces."""
