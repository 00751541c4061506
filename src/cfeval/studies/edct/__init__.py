"""Explanation-Driven Counterfactual Testing (EDCT 2025): is a model's explanation faithful?

Stages, each a file: samples → baseline → instructions → counterfactuals → checks, requery → verdicts → scores.
"""
