"""The networks of the study's plug-ins, and their weights."""
