"""Datasets: where samples come from."""
