"""Inverse queries; see :func:`dse.borders`, :func:`dse.meets`, :func:`dse.ranges`."""
