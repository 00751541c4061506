"""Guided diffusion: counterfactuals by denoising a noised image under the gradient of a classifier."""
