"""Benchmarks: each prints a table and writes nothing into the repository."""
