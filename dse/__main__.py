"""``python -m dse``: the command line."""

from dse.cli import main

if __name__ == "__main__":
    main(prog_name="dse")
