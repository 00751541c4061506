"""The documentation site: what is generated of it, and how it is built."""
