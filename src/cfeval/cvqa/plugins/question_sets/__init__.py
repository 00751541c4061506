"""Pairs of questions about images: what the cvqa study asks."""
