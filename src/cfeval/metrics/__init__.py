"""Metrics: one pure function a file, with its definition, range and source."""
