"""Typed, frozen records: the only definition of every file the project reads or writes."""
