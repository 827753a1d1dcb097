"""Loop nests, written and compiled by ``emit``.

``run`` fills arrays with a grid's outputs tile by tile; ``tiles`` streams over tiles and skips
those that bounds exclude; ``reduce`` selects the smallest values and the Pareto front;
``statistics`` computes statistics of rows, and their errors.
"""
