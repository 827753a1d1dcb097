"""Which axes an output depends on, and how strongly: see :func:`dse.sensitivity`."""
