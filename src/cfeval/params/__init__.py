"""params.yaml, typed: unknown keys are errors. One file a study, what they share, and the reading of files."""
