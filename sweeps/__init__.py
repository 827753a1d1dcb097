"""Grids over the design space: loop nests, tiles, labelled datasets and the questions put to them."""
