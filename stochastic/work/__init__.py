"""Laws of the work of one item: families, their algebra, and fits to samples."""

__all__: list[str] = []
