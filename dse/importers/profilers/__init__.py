"""Files of profilers: readers of columns, which maps of ``dse/data/profiles`` name."""
