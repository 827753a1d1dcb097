"""Dask workers that compute tiles of a store and parts of a query."""
