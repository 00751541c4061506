"""The networks of the study's plugins, and their weights."""
