"""What regulators, standards and registries ask about an evaluation, filled in as far as a run knows it.

Every line is a figure of the run, a definition of it, or a place marked `[TO BE STATED: …]` for what only a person can
say. Nothing here says that a law or a standard is met.
"""
