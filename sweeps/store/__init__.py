"""Stores: a sweep as a plain zarr (v3) group that is filled shard by shard.

``layout`` cuts the outputs into tiles, ``compute`` computes one, ``create`` writes the metadata and
``fill`` the values, a shard an output of a tile. ``records`` says whose a store is and what of it
is complete. ``backend`` is the place (a folder or an object store) and puts a new store into the
place of another, ``lock`` lets one process write there. ``checked`` reads the arrays, ``verify``
finds damage and repairs it; ``foreign`` checks stores without records.
"""
