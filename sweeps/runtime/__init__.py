"""How work goes on: in threads, as far as memory reaches, watched, and ended in order."""
