"""Read files of profilers; maps in ``dse/data/profiles`` compute quantities from the columns."""
