"""Counterfactual visual question answering: pairs of questions, answers, scores; building new pairs."""
