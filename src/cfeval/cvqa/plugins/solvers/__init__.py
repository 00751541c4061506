"""Whoever answers questions about images: a model that is asked, a program, chance."""
