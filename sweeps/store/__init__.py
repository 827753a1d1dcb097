"""Stores: a sweep as a plain zarr (v3) group that is filled shard by shard.

``layout`` cuts the outputs into tiles, ``compute`` computes one, ``create`` writes the metadata,
``fill`` the values, a shard an output of a tile, and ``records`` says what is complete. ``backend``
is the place (a folder or an object store) and puts a new store into the place of another, ``lock``
lets one process write there. ``open`` reads what a store says of itself, ``checked`` its arrays,
``verify`` finds damage and repairs it; ``foreign`` checks stores without records.
"""
