"""Questions: what is asked (`ask`), and how answers are composed, whatever the source.

A source answers one objective at a time: its best, and all that is as good as some value. From that
``optimum`` composes objectives in order, ties, shares, ranks and labels; the `matrix` says what may
be asked of which source.
"""
