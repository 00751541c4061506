"""The project's colors, of figures, contact sheets and pages."""

INK, MUTED, GRID, PAPER = "#1b2430", "#6b7684", "#d9dee5", "#fefefe"
"""Text, secondary text, lines and background; the report swaps them for its own in dark mode."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Okabe and Ito's palette, which color-blind readers can tell apart."""
