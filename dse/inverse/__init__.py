"""Inverse queries, from results to inputs: ``dse.borders``, ``dse.meets`` and ``dse.ranges``."""
