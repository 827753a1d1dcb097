"""Loop nests that evaluate a grid; ``emit`` writes and compiles them.

``run`` fills arrays with a grid's outputs tile by tile. ``tiles`` streams over tiles and skips the
tiles that bounds exclude. ``reduce`` selects the smallest values and the Pareto front.
``statistics`` computes statistics of rows of values, and their errors.
"""
