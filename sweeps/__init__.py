"""Grids over the design space: loop nests, tiles, labelled datasets, questions."""

__all__ = ["FACE"]

#: What others may use: of each room the modules.
FACE = {
    "ask": "answers ask chances differences draws fold information labels matrix spread",
    "bounds": "check expanding",
    "cluster": "opened shares",
    "files": "export lazy_outputs tabular whole written",
    "grid": "at build dataset failing flat_index goals grid laws leaf plain space",
    "nest": "errors reach run summarize",
    "prove": "borders rivals targets tolerances",
    "runtime": "loop progress stopping watching",
    "scan": "arrays choosing decompose",
    "sources": "best grids table",
    "store": "backend create fill layout lock open records verify",
}
