"""Judges: the texts before and after the edit → the two scores of the protocol, and its grade."""
