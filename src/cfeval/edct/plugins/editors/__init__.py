"""Editors: an image and an instruction → the counterfactual."""
