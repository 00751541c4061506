"""Segmenters: where in an image does an edit belong? They serve the verifier `localised`."""
