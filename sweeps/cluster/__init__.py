"""Workers of a dask.distributed cluster compute tiles of a store and parts of a question."""
