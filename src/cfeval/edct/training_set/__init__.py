"""A fine-tuning set of counterfactual items: what was said about images, and how it stood the test.

EDCT-Bench 2026 fine-tuned on 48 such items made by hand.
"""
