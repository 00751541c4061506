"""Diffusion models: noise in a noisy image."""
