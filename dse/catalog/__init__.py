"""Machines, workloads and models that are shipped or lie in the folders of DSE_PATH."""
