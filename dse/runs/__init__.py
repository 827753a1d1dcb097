"""Run studies in memory or into a store, and read and write the files of runs."""
