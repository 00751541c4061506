"""The response store: what was asked of models outside, what came back, what it cost."""
