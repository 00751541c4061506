"""Does what a model says it relied on matter? What it cites is changed and it is asked again (EDCT 2025)."""
