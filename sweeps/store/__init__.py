"""Stores: a sweep as a plain zarr (v3) group that is filled shard by shard.

``layout`` cuts the outputs into tiles, and ``compute`` computes a tile. ``create`` writes the
metadata, and ``fill`` the values: one shard per output and tile. ``records`` reads and writes the
manifest and the records of complete tiles. ``backend`` accesses a folder or an object store, and
replaces stores atomically; ``lock`` admits one writer. ``checked_store`` reads the arrays,
``verify`` detects and repairs damage, and ``untrusted`` checks stores without records.
"""
