"""Write the table of queries and sources into ``docs/asking.md``.

python docs/asking.py
"""

from pathlib import Path

from dse.verbs.query import verbs
from sweeps.query.support_table import support_table

MARK = "<!-- the table, by python docs/asking.py -->"

if __name__ == "__main__":
    page = Path(__file__).with_suffix(".md")
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    page.write_text(
        f"{before}{MARK}\n\n{support_table(verbs())}\n\n{MARK}{after}", encoding="utf-8"
    )
