"""The store of a sweep: a zarr group filled tile by tile, which survives what happens to it.

`folder` and `objects` touch files, as `medium` says; `zarr_format` says what is in them; `layout`
cuts a grid into tiles, `tiles` computes them, `chunks` are written, which `packing` compresses
(`earlier` mends what it once did wrong), `records` sum each tile up; `skeleton` begins a store,
`fill` runs and resumes, `growth` adds to it, `verify` finds damage; `reader` reads boxes and
single values of a finished one, of chunks as `decoded` holds them.
"""
