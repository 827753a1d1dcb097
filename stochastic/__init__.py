"""Probability laws of the work that threads in lockstep do.

Empty in this version: the exact law of imbalance and its families come with the next one. Until
then ``imbalance_loss``, a quantity of the models, takes a value or an axis like any other.
"""

__all__: list[str] = []
