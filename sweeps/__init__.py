"""Grids over the design space, with their loop nests, tiles, labelled Datasets and queries."""
