"""What the presets of the vce study are made of: the figures of the papers and of their code (docs/vce-methods.md).

Sources: classifier guidance, Dhariwal & Nichol 2021; DVCE, Augustin et al. 2022; DBVCE, Vaeth et al. 2023; DiME,
Jeanneret et al. 2022; FastDiME, Weng et al. 2024; MaskDiME, Guo et al. 2026. The perceptual weights of the last three
are for the mean squared difference of VGG19 features.
"""

from collections.abc import Mapping
from typing import Any

_UNGUIDED = {"guidance": "none", "distance": "none"}

_DVCE = {
    "guidance": "x0",
    "norm": "noise",
    "scales": (0.1,),
    "projection": "cone",
    "angle": 30.0,
    "augmentations": 16,
    "distance": "denoiser",
    "lp_weight": 0.15,
    "output": "x0",
}

_DBVCE = {
    "guidance": "x0",
    "norm": "mean",
    "scales": (0.1,),
    "projection": "cone",
    "angle": 30.0,
    "distance": "x0",
    "lp_weight": 0.15,
}

_DIME = {
    "start": 0.3,
    "noise_ahead": 1,
    "clip_denoised": True,
    "guidance": "clean",
    "clean": "nested",
    "loss": "logit",
    "norm": "none",
    "scales": (8.0, 10.0, 15.0),
    "distance": "noisy",
    "lp_weight": 0.05,
    "perceptual_weight": 30.0,
}

_FASTDIME = {
    **_DIME,
    "clean": "one-step",
    "chain_rule": False,
    "mask": "difference",
    "mask_warmup": 0.5,
    "mask_threshold": 0.15,
    "mask_dilation": 5,
}

_MASKDIME = {
    **_DIME,
    "clean": "one-step",
    "stochastic": False,
    "scales": (64.0, 80.0, 120.0),
    "lp_weight": 0.4,
    "perceptual_weight": 240.0,
    "mask": "gradient",
    "mask_share": 0.05,
    "mask_inner": 0.5,
    "mask_dilation": 5,
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "unguided": _UNGUIDED,
    "classifier-guidance": {"guidance": "noisy", "norm": "none", "scales": (10.0,), "distance": "none"},
    "dvce": _DVCE,
    "dbvce": _DBVCE,
    "dime": _DIME,
    "fastdime": _FASTDIME,
    "maskdime": _MASKDIME,
}
"""By preset, the parts that differ from the defaults of `Parts`."""

MODES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"prepared": True, "classifier_time": "clean", "in_cone": "robust"},
    "reference": {"prepared": False, "classifier_time": "step", "in_cone": "classifier"},
}
"""By mode of dbvce, where paper and code of the sampler part ways."""
