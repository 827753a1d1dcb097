"""Run every command of ``docs/papers.toml``, and print those with another result or label.

python -m tests.papers [WORD]      # of items whose paper or name holds the word
"""

import sys
import time

from tests.papers.items import differs, find_misses, items, outcome

word, failed = " ".join(sys.argv[1:]), 0
for item in items():
    if item.run and word in f"{item.paper} {item.item}":
        began = time.perf_counter()
        try:
            result = outcome(item.run)
            fault = differs(item, result)
            misses = find_misses(item, result) if item.printed else []
            if not fault and item.label != "needs hardware" and bool(misses) != bool(item.cause):
                fault = f"{item.label}, but the printed {misses} are not met"
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        failed += bool(fault)
        seconds = f"{time.perf_counter() - began:6.2f} s"
        print(
            f"{seconds}  {item.paper}  {item.item}{'  FAILS: ' if fault else ''}{fault}", flush=True
        )
sys.exit(bool(failed))
