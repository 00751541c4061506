"""cfeval: counterfactual evaluation of vision-language models."""

__version__ = "0.1.0"
