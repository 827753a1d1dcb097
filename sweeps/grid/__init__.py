"""Design space: axes of values, and a graph of equations over these axes.

``build`` joins ``axes`` and a model into a ``grid``. ``goals`` reads objectives. ``dataset`` labels
results. ``lazy_statistics`` computes statistics over axes when they are first used.
"""
