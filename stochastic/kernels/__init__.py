"""Compiled functions: arrays in, arrays out, no checks. No file imports another."""
