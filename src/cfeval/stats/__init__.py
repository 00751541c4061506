"""Statistics: one method a file, pure functions, seeds explicit."""
