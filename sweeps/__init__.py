"""Grids over the design space: loop nests, tiles, labelled datasets, queries."""
