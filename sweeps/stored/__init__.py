"""Questions of a finished store, which read few of its values.

`blocks` cuts the axes of a question into blocks; `question` bounds these by the zones of the store,
and reads some; `winners` finds the best configurations and Pareto fronts, `streamed` counts, by the
`kernels`, which go through `rows`.
"""
