"""Looks at a study as a whole: before it runs, how it stands, what changed and why."""
