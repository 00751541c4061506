"""Synthetic puzzles with exact truth: polygons with flowers, circles with dots (C-VQA-Synthetic, Section 3.3)."""
