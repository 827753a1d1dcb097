"""Queries: what a source answers (`source`), and how answers are composed, whatever the source.

A source answers one objective at a time: its best, and all that is as good as some value. From that
``optimum`` composes objectives in order, ties, shares, ranks and labels; `spread` counts and folds,
`chances` asks over draws; the `matrix` says which options each verb supports on which source.
"""
