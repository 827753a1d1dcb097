"""Stores: a sweep as a plain zarr (v3) group that is filled shard by shard.

``layout`` cuts the outputs into tiles, ``compute`` computes one, ``create`` writes the metadata and
``fill`` the values, one shard per output and tile. ``records`` holds manifest and completion
records. ``backend`` is the place (a folder or an object store) and replaces stores atomically,
``lock`` admits one writer. ``checked_store`` reads the arrays, ``verify`` detects and repairs
damage; ``untrusted`` checks stores without records.
"""
