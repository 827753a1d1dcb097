"""The store of a sweep: a zarr group filled tile by tile, which survives what happens to it.

`medium` touches files and objects, `zarr_format` says what is in them, `layout` cuts a grid into
tiles, `records` sums each tile up, `tiles` computes, `skeleton` begins, `fill` runs and resumes,
`verify` finds damage.
"""
