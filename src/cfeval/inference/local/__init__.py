"""Models on this machine: found, checked, loaded and asked."""
