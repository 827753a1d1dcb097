"""One published model per file, in the order of its paper."""
