"""Compute laws of the loads of bins: experts, ranks, warps or rows that share items unevenly."""
