"""Checkpoints of denoisers with random weights, small enough to run in a test.

`pipeline(FOLDER, …)` writes one of diffusers, `latent_pipeline(FOLDER, …)` one that works on latents,
`guided(FOLDER, VARIANT)` one of guided-diffusion, `bridge(FOLDER)` one of I2SB.
"""

import json
from pathlib import Path
from typing import Any

from tests.references.guided_diffusion import UNet, randomised
from tests.vce.models.variants import flags

SMALL: dict[str, Any] = {
    "sample_size": 16,
    "block_out_channels": (32, 32),
    "layers_per_block": 1,
    "norm_num_groups": 8,
    "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
    "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
}
TEXTLESS: dict[str, Any] = {
    **SMALL,
    "in_channels": 3,
    "out_channels": 3,
    "cross_attention_dim": 8,
    "down_block_types": ("DownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "UpBlock2D"),
    "mid_block_type": "UNetMidBlock2D",
}


def pipeline(folder: Path, kind: str = "UNet2DModel", scheduler: dict[str, Any] | None = None, **unet: Any) -> Any:
    """Write a checkpoint of diffusers; returns its UNet."""
    import diffusers
    import torch

    torch.manual_seed(0)
    network = getattr(diffusers, kind)(**{**(SMALL if kind == "UNet2DModel" else TEXTLESS), **unet})
    told = {"name": "DDPMScheduler", **(scheduler or {})}
    name = told.pop("name")
    network.save_pretrained(folder / "unet")
    getattr(diffusers, name)(**told).save_pretrained(folder / "scheduler")
    index = {"_class_name": "DDPMPipeline", "unet": ["diffusers", kind], "scheduler": ["diffusers", name]}
    (folder / "model_index.json").write_text(json.dumps(index))
    return network.eval()


LATENT: dict[str, dict[str, Any]] = {
    "UNet2DModel": {**SMALL, "in_channels": 4, "out_channels": 4, "sample_size": 8, "num_class_embeds": 3},
    "DiTTransformer2DModel": {
        **{"in_channels": 4, "out_channels": 8, "sample_size": 8, "num_embeds_ada_norm": 3, "num_layers": 1},
        **{"num_attention_heads": 2, "attention_head_dim": 8},
    },
    "AutoencoderKL": {"latent_channels": 4, "scaling_factor": 0.5},
    "VQModel": {"latent_channels": 4, "num_vq_embeddings": 64, "scaling_factor": 0.7},
}
_CODEC = {
    **{"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1},
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
}


def latent_pipeline(
    folder: Path, network: str = "UNet2DModel", codec: str = "AutoencoderKL", **changes: Any
) -> tuple[Any, Any]:
    """Write a checkpoint of diffusers that works on latents of 8 × 8 for images of 16 × 16; returns both networks."""
    import diffusers
    import torch

    torch.manual_seed(0)
    finder = getattr(diffusers, network)(**{**LATENT.get(network, {}), **changes})
    # A new transformer predicts 0 whatever it sees
    for weight in (weight for weight in finder.parameters() if not weight.any()):
        torch.nn.init.normal_(weight, std=0.1)
    autoencoder = getattr(diffusers, codec)(**LATENT[codec], **_CODEC)
    names = ("transformer" if "Transformer" in network else "unet", "vqvae" if codec == "VQModel" else "vae")
    finder.save_pretrained(folder / names[0])
    autoencoder.save_pretrained(folder / names[1])
    diffusers.DDIMScheduler().save_pretrained(folder / "scheduler")
    index = {names[0]: ["diffusers", network], names[1]: ["diffusers", codec], "scheduler": ["diffusers", "DDIM"]}
    (folder / "model_index.json").write_text(json.dumps({"_class_name": "LDMPipeline", **index}))
    return finder.eval(), autoencoder.eval()


def text_pipeline(folder: Path) -> tuple[Any, Any, Any]:
    """Write a checkpoint in the layout of Stable Diffusion, for images of 16 × 16; returns UNet, tokenizer, encoder."""
    from tests.tiny.editors import clip_text, clip_tokenizer

    kinds = ("DownBlock2D", "CrossAttnDownBlock2D"), ("CrossAttnUpBlock2D", "UpBlock2D")
    blocks = {"down_block_types": kinds[0], "up_block_types": kinds[1], "mid_block_type": "UNetMidBlock2DCrossAttn"}
    sizes = {"sample_size": 8, "in_channels": 4, "out_channels": 4, "cross_attention_dim": 32, "attention_head_dim": 4}
    sizes |= {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}
    unet, _ = latent_pipeline(folder, "UNet2DConditionModel", **blocks, **sizes)
    tokenizer = clip_tokenizer()
    encoder = clip_text(tokenizer).eval()
    tokenizer.save_pretrained(folder / "tokenizer")
    encoder.save_pretrained(folder / "text_encoder")
    index = json.loads((folder / "model_index.json").read_text())
    index |= {"tokenizer": ["transformers", "CLIPTokenizer"], "text_encoder": ["transformers", "CLIPTextModel"]}
    (folder / "model_index.json").write_text(json.dumps(index | {"safety_checker": [None, None]}))
    return unet, tokenizer, encoder


def original(variant: str) -> UNet:
    """The network of a variant of guided-diffusion with random weights."""
    given = flags(variant)
    network: UNet = randomised(
        UNet(
            given["image_size"],
            given["num_channels"],
            given["channel_mult"],
            given["num_res_blocks"],
            given["attention_resolutions"],
            given["num_heads"],
            given["num_head_channels"],
            given["use_scale_shift_norm"],
            given["resblock_updown"],
            given["use_new_attention_order"],
            given["classes"],
            out=6 if given["learn_sigma"] else 3,
        )
    )
    return network


def guided(folder: Path, variant: str) -> Path:
    """Write a checkpoint of guided-diffusion; returns its path."""
    import torch

    path = folder / "model.pt"
    torch.save(original(variant).state_dict(), path)
    return path


def bridge(folder: Path) -> Path:
    """Write a checkpoint as I2SB's training does, network, averages and optimizer; returns its path."""
    import torch

    path = folder / "latest.pt"
    own = {f"diffusion_model.{name}": value for name, value in original("no variance").state_dict().items()}
    network = {**own, "noise_levels": torch.linspace(1e-4, 1, 1000) * 1000}
    torch.save({"net": network, "ema": {"decay": 0.99}, "optimizer": {"state": {}}, "sched": None}, path)
    return path
