"""Counterfactual questions: would the model still be right if something were different?"""
