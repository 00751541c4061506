"""The judge exam: text cases with known scores, by which the error of any judge is measured before a run."""
