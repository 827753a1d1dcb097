"""Workers of a dask.distributed cluster as those who compute the tiles of a store.

`opened` finds or makes the cluster; `order` is all that a worker must know, sent once by
`delivery`; `bench` is where a worker computes; `workers` hand out tiles by their numbers, a few at
a time, and take back their records. Values go from the workers into the store, and nowhere else.
"""
