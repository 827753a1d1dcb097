"""Queries from results to inputs: :func:`dse.borders`, :func:`dse.meets`, :func:`dse.ranges`."""
