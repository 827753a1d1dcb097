"""Questions of a finished store, which read few of its values.

`chunks` holds chunks, `reader` reads boxes and single values of them; `blocks` cuts the axes of a
question into blocks; `question` bounds these by the zones of the store, and reads some; `ask` finds
the best configurations and Pareto fronts, `spread` counts; `asked` puts the answers into Datasets.
"""
