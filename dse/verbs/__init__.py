"""Verbs: each answers one query on a study, a comparison, a Dataset, or the path of one."""
