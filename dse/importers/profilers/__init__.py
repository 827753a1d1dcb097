"""Readers of profilers' files; the maps in ``dse/data/profiles`` give meaning to their columns."""
