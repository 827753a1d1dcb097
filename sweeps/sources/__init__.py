"""What is asked: grids looked at or proven of, tables.

A source answers one objective at a time: its best, and all that is as good as some value; `best`
chooses between looking at a grid and proving of it.
"""
