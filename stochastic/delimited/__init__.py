"""Tables in text (CSV and its relatives), whoever wrote them: cells, numbers, what was assumed."""

from stochastic.delimited.numerals import (
    Cell,
    TableError,
    decimal_mark,
    is_missing,
    is_numeric,
    number,
    numbers_of,
)
from stochastic.delimited.table import (
    USUAL,
    Delimited,
    bytes_of,
    lines_of_fields,
    parse,
    read,
    text_of,
)

__all__ = [
    "USUAL",
    "Cell",
    "Delimited",
    "TableError",
    "bytes_of",
    "decimal_mark",
    "is_missing",
    "is_numeric",
    "lines_of_fields",
    "number",
    "numbers_of",
    "parse",
    "read",
    "text_of",
]
