"""Design space: axes of values, and a graph of equations over them.

``build`` joins ``axes`` with a model into a ``grid``; ``goals`` reads objectives;
``lazy_statistics`` computes statistics over axes on first use; ``dataset`` labels results.
"""
