"""Explanation-Driven Counterfactual Testing: is a model's explanation faithful?"""
