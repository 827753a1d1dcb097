"""Inputs of a study: values of machines, workloads and fits, and where they come from."""
