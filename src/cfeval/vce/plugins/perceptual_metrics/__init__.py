"""Perceptual distances between two images."""
