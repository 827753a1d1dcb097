"""Laws of the work of one item: families, their algebra, and fits to samples."""
