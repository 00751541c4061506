"""Estimates with their intervals, and tests; no study's own."""
