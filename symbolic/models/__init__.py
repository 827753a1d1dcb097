"""One published model a file, in the order of its paper."""
