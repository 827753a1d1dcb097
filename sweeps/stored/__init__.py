"""Questions of a finished store, which read few of its values.

`reader` reads chunks and single values; `blocks` cuts the axes of a question into blocks;
`question` bounds these by the zones of the store, and reads some; `ask` finds the best
configurations and Pareto fronts; `asked` puts the answers into Datasets.
"""
