"""What would help, and what a real trace costs."""

__all__: list[str] = []
