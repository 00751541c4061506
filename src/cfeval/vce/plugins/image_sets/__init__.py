"""Labelled images: what the vce study makes counterfactuals of."""
