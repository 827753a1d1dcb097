"""The laws put to the test: by simulation, and on a GPU."""

__all__: list[str] = []
