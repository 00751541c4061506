"""Checkpoints with random weights, of published sizes and of small ones, as folders that the plugins load.

What makes the inputs (tokenizers, image processor) is that of the tests' tiny checkpoints: bytes for words. The
networks are what the published configurations say; where each stands is written beside it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tests.tiny import editors, vlms

Size = Mapping[str, Any]
VOCABULARY = 264
"""Tokens of the tests' tokenizer for Qwen2.5-VL, so that a small model says only what can be read."""


@dataclass(frozen=True)
class QwenSize:
    """A Qwen2.5-VL: settings of its text and of its vision network; `pixels` is the side of the image it is shown."""

    text: Size
    vision: Size
    pixels: int


@dataclass(frozen=True)
class FluxSize:
    """A FLUX.1 Kontext: transformer, autoencoder, T5 and CLIP; `pixels` is the side that it paints at."""

    transformer: Size
    autoencoder: Size
    words: Size
    pooled: Size
    pixels: int
    steps: int


# huggingface.co/Qwen/Qwen2.5-VL-7B-Instruct, config.json; the vision network's size is the default of transformers'
# Qwen2_5_VLVisionConfig but for out_hidden_size, which that file leaves to the text's.
QWEN_7B = QwenSize(
    text={
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "max_position_embeddings": 128000,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
    },
    vision={
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 3584,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "window_size": 112,
    },
    pixels=448,
)
# FLUX.1-dev, whose networks FLUX.1-Kontext-dev has too (diffusers' FluxKontextPipeline takes the same classes): its
# transformer and autoencoder, the encoder of T5 v1.1 XXL, and the text half of CLIP ViT-L/14.
FLUX_KONTEXT = FluxSize(
    transformer={
        "patch_size": 1,
        "in_channels": 64,
        "num_layers": 19,
        "num_single_layers": 38,
        "attention_head_dim": 128,
        "num_attention_heads": 24,
        "joint_attention_dim": 4096,
        "pooled_projection_dim": 768,
        "axes_dims_rope": [16, 56, 56],
        "guidance_embeds": True,
    },
    autoencoder={
        "block_out_channels": [128, 256, 512, 512],
        "layers_per_block": 2,
        "latent_channels": 16,
        "norm_num_groups": 32,
        "down_block_types": ["DownEncoderBlock2D"] * 4,
        "up_block_types": ["UpDecoderBlock2D"] * 4,
        "scaling_factor": 0.3611,
        "shift_factor": 0.1159,
        "use_quant_conv": False,
        "use_post_quant_conv": False,
        "sample_size": 1024,
    },
    words={
        "vocab_size": 32128,
        "d_model": 4096,
        "d_kv": 64,
        "d_ff": 10240,
        "num_layers": 24,
        "num_heads": 64,
        "feed_forward_proj": "gated-gelu",
    },
    pooled={
        "vocab_size": 49408,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "projection_dim": 768,
    },
    pixels=1024,
    steps=28,
)
QWEN_SMALL = QwenSize(
    text={
        **QWEN_7B.text,
        "hidden_size": 512,
        "intermediate_size": 1536,
        "num_hidden_layers": 8,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "vocab_size": VOCABULARY,
        "rope_parameters": {"rope_type": "default", "mrope_section": [8, 12, 12], "rope_theta": 1e6},
    },
    vision={"depth": 4, "hidden_size": 128, "intermediate_size": 384, "num_heads": 4, "out_hidden_size": 512}
    | {"fullatt_block_indexes": [3], "window_size": 112},
    pixels=112,
)
"""Of 26 million weights: large enough that reading them is what a token costs, small enough for one core."""
QWEN_TINY = QwenSize(
    text={**vlms.SMALL_TEXT, "vocab_size": VOCABULARY}
    | {"rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6}},
    vision={**vlms.SMALL_VISION, "depth": 2, "num_heads": 2, "out_hidden_size": 64, "fullatt_block_indexes": [1]},
    pixels=56,
)
FLUX_TINY = FluxSize(
    transformer={
        **FLUX_KONTEXT.transformer,
        "in_channels": 4,
        "num_layers": 1,
        "num_single_layers": 2,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": 32,
        "pooled_projection_dim": 32,
        "axes_dims_rope": [4, 4, 8],
    },
    autoencoder={
        **FLUX_KONTEXT.autoencoder,
        "block_out_channels": [4, 8],
        "layers_per_block": 1,
        "latent_channels": 1,
        "norm_num_groups": 1,
        "down_block_types": ["DownEncoderBlock2D"] * 2,
        "up_block_types": ["UpDecoderBlock2D"] * 2,
    },
    words={"vocab_size": 256, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4},
    pooled={
        "vocab_size": 600,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "projection_dim": 32,
    },
    pixels=64,
    steps=2,
)


def qwen(size: QwenSize, folder: Path, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Path:
    """Write a Qwen2.5-VL; its weights are drawn on `device`."""
    from transformers.utils import logging

    small, processor = vlms.qwen2_5_vl()
    with _drawing(device, dtype):
        drawn = qwen_network(size, small.config.to_dict())
    ends = {"eos_token_id": processor.tokenizer.eos_token_id, "pad_token_id": processor.tokenizer.pad_token_id}
    drawn.generation_config.update(**ends)
    processor.image_processor.size = {"shortest_edge": 56 * 56, "longest_edge": 16384 * 28 * 28}
    logging.disable_progress_bar()
    drawn.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def qwen_network(size: QwenSize, own: Size) -> Any:
    """The network of a Qwen2.5-VL on torch's current device; `own` is what the size leaves open."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    text = {**own["text_config"], **size.text, "layer_types": None}
    parts = {"text_config": text, "vision_config": {**own["vision_config"], **size.vision}}
    return Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(**{**own, **parts, "tie_word_embeddings": False}))


def flux(size: FluxSize, folder: Path, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Path:
    """Write a FLUX.1 Kontext; its weights are drawn on `device`."""
    import diffusers
    from transformers import CLIPTextConfig, CLIPTextModel, T5Config, T5EncoderModel

    small = editors.RECIPES["FluxKontextPipeline"]()
    pooled = CLIPTextConfig(**{**small["text_encoder"].config.to_dict(), **size.pooled})
    with _drawing(device, dtype):
        parts = {
            "vae": diffusers.AutoencoderKL(**size.autoencoder),
            "transformer": diffusers.FluxTransformer2DModel(**size.transformer),
            "text_encoder": CLIPTextModel(pooled),
            "text_encoder_2": T5EncoderModel(T5Config(**size.words)),
        }
    diffusers.FluxKontextPipeline(**{**small, **parts}).save_pretrained(folder)
    return folder


@contextmanager
def _drawing(device: str, dtype: torch.dtype) -> Iterator[None]:
    """Weights are drawn from one seed, on a device and of a type."""
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)
