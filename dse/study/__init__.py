"""Studies as data; the queries on them are in :mod:`dse.verbs`."""
