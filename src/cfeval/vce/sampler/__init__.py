"""Guided diffusion: counterfactuals by denoising a noised image under the gradient of a classifier.

`sampler.py` is the way in, and composes the parts that `cfeval.vce.method` names.

Variables and the symbols of the papers (Ho et al. 2020; DBVCE, Section 2):
    noisy                x_t (z_t in DiME), the image at step t
    x0                   x̂₀, the clean image predicted from x_t
    original             x, the image to be explained
    clean                DiME's clean estimate (x_t in its paper)
    noise                ε_θ(x_t, t)
    mean, variance       μ_θ(x_t, t), Σ_θ(x_t, t): the reverse step without guidance
    alphas_cumprod       ᾱ_t
    posterior_variance   β̃_t
    direction            what Σ_θ multiplies in μ' = μ + Σ_θ · direction
    index, timesteps     step of the respaced schedule; the training step it stands for
"""
