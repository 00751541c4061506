"""Writers: explanation → cited concept → edit instruction."""
