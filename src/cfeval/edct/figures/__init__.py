"""The figures of edct."""
