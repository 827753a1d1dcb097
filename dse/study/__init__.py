"""Represent studies as data; the queries on studies are in :mod:`dse.verbs`."""
