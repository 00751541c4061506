"""Small networks of guided-diffusion, one for each way in which published checkpoints differ."""

from typing import Any

LIKE_256 = {"num_channels": 32, "channel_mult": (1, 1, 2), "num_res_blocks": 2, "num_head_channels": 16}
VARIANTS: dict[str, dict[str, Any]] = {
    "as 256, unconditional": {},
    "as 256, conditional": {"classes": 10},
    "as 128: a number of heads": {"num_head_channels": 0, "num_heads": 2},
    "as 64: queries first, cosine": {"use_new_attention_order": True, "num_res_blocks": 3, "noise_schedule": "cosine"},
    "as 512: half the width first": {"num_channels": 64, "channel_mult": (0.5, 1, 1), "classes": 3},
    "convolutions between levels": {"resblock_updown": False},
    "timestep added": {"use_scale_shift_norm": False},
    "timestep added, convolutions": {"use_scale_shift_norm": False, "resblock_updown": False, "num_res_blocks": 1},
    "no variance": {"learn_sigma": False},
    "attention nowhere but in the middle": {"attention_resolutions": ()},
}
"""By name: what differs from `LIKE_256` at 32 × 32 with attention at 16 and 8."""


def flags(variant: str) -> dict[str, Any]:
    """All of a variant's, guided-diffusion's and `classes`, `learn_sigma`."""
    common = {"image_size": 32, "attention_resolutions": (16, 8), "num_heads": 4, "use_new_attention_order": False}
    kinds = {"use_scale_shift_norm": True, "resblock_updown": True, "noise_schedule": "linear"}
    return {**LIKE_256, **common, **kinds, "classes": 0, "learn_sigma": True, **VARIANTS[variant]}


def options(variant: str, path: object) -> dict[str, Any]:
    """The options of the plugin for a variant whose weights lie at `path`."""
    own = {name: value for name, value in flags(variant).items() if name not in ("classes", "learn_sigma")}
    return {"plugin": "guided_diffusion", "path": str(path), "device": "cpu", **own}
