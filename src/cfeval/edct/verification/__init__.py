"""The evidence chain: image → answer → explanation → instruction → counterfactual image → re-query → verdict → score.

Records that belong together are looked at again, without any model: does each follow from those that it names?
"""
