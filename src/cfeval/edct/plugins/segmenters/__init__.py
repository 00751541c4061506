"""Segmenters: where in a picture does an edit belong? They serve the verifier `localised`."""
