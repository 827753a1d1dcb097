"""Workers of a dask.distributed cluster, which compute the tiles of a store or parts of a question.

``opened`` finds or starts the cluster, ``workers`` hands out tasks. Values go from the workers into
the store, and nowhere else; a worker needs no study and no model file.
"""
