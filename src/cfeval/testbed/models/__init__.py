"""The small networks of the built-in world."""
