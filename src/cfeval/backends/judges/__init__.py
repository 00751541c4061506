"""Judges: the texts before and after the edit → PCS and NCC."""
