"""Editors of what sets two classes apart, for classifiers that are explained by counterfactuals."""
