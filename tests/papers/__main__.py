"""Run every command of ``docs/papers.toml`` and tell which gives something else.

python -m tests.papers [WORD]      # of items whose paper or name holds the word
"""

import sys
import time

from tests.papers.items import differs, items, outcome

word, failed = " ".join(sys.argv[1:]), 0
for item in items():
    if item.run and word in f"{item.paper} {item.item}":
        began = time.perf_counter()
        try:
            fault = differs(item, outcome(item.run))
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        failed += bool(fault)
        seconds = f"{time.perf_counter() - began:6.2f} s"
        print(
            f"{seconds}  {item.paper}  {item.item}{'  FAILS: ' if fault else ''}{fault}", flush=True
        )
sys.exit(bool(failed))
