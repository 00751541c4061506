"""Vision-language models and other chat models."""
