"""Questions that pass over a grid without storing it: tile by tile, in memory that does not grow.

``tiles`` goes over the tiles of a loop nest and leaves out those of which ``enclosures`` tell
enough; ``values`` gives the values of a formula, of a grid or of a Dataset, some at a time;
``counting`` and ``spread`` are what is asked of them.
"""
