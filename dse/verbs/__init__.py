"""Define the verbs; each answers one kind of query on a study, comparison, Dataset or path."""
