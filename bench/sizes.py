"""Published sizes of models, as their configurations give them, and tiny ones of the same kinds.

A size names the parts that are not the tests' own tiny ones (tests/tiny): class, and what its configuration says. Where
each stands is written beside it. Sizes in tests are the tiny parts themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.tiny import vlms

Config = Mapping[str, Any]


@dataclass(frozen=True)
class ChatSize:
    """A vision-language model: its class in transformers, settings of its text and of its vision network."""

    name: str
    kind: str
    text: Config
    vision: Config
    pixels: int
    """Side of the image that it is shown."""


@dataclass(frozen=True)
class EditorSize:
    """An image editor: its pipeline in diffusers, and the parts that are not the tiny ones."""

    name: str
    pipeline: str
    readers: Mapping[str, str]
    """The parts that read the instruction, and what tables call them."""
    pixels: int
    """Side that it paints at."""
    steps: int
    parts: Mapping[str, tuple[str, Config]] = field(default_factory=dict)
    """By name: its class in diffusers or transformers, and its configuration, the tiny part's where it says nothing."""
    tokens: int = 512
    """Tokens of instruction, and of the image where the same model reads it, that the transformer is given."""
    calls: int = 1
    """Calls of the transformer a step: two where guidance needs them."""
    timed: int = 0
    """Steps that are run for a time, of which the others are taken to be as long; 0: all."""


# huggingface.co/Qwen/Qwen2.5-VL-7B-Instruct, config.json; the vision network's size is the default of transformers'
# Qwen2_5_VLVisionConfig but for out_hidden_size, which that file leaves to the text's.
QWEN_7B = ChatSize(
    name="Qwen2.5-VL-7B",
    kind="Qwen2_5_VLForConditionalGeneration",
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
# huggingface.co/Qwen/Qwen3-VL-8B-Instruct, config.json.
QWEN3_8B = ChatSize(
    name="Qwen3-VL-8B",
    kind="Qwen3VLForConditionalGeneration",
    text={
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 262144,
        "rope_parameters": {"rope_type": "default", "mrope_section": [24, 20, 20], "rope_theta": 5e6},
    },
    vision={
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "out_hidden_size": 4096,
        "patch_size": 16,
        "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [8, 16, 24],
    },
    pixels=448,
)
_EIGHTHS = {
    "block_out_channels": [128, 256, 512, 512],
    "layers_per_block": 2,
    "norm_num_groups": 32,
    "down_block_types": ["DownEncoderBlock2D"] * 4,
    "up_block_types": ["UpDecoderBlock2D"] * 4,
}
"""The autoencoders of FLUX: an eighth of the image's side."""
# FLUX.1-dev, whose networks FLUX.1-Kontext-dev has too (diffusers' FluxKontextPipeline takes the same classes): its
# transformer and autoencoder, the encoder of T5 v1.1 XXL, and the text half of CLIP ViT-L/14.
FLUX_KONTEXT = EditorSize(
    name="FLUX.1-Kontext",
    pipeline="FluxKontextPipeline",
    readers={"text_encoder": "CLIP", "text_encoder_2": "T5"},
    parts={
        "transformer": (
            "FluxTransformer2DModel",
            {
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
        ),
        "vae": ("AutoencoderKL", {**_EIGHTHS, "latent_channels": 16, "scaling_factor": 0.3611, "shift_factor": 0.1159}),
        "text_encoder_2": (
            "T5EncoderModel",
            {
                "vocab_size": 32128,
                "d_model": 4096,
                "d_kv": 64,
                "d_ff": 10240,
                "num_layers": 24,
                "num_heads": 64,
                "feed_forward_proj": "gated-gelu",
                "is_gated_act": True,
                "dense_act_fn": "gelu_new",
            },
        ),
        "text_encoder": (
            "CLIPTextModel",
            {
                "vocab_size": 49408,
                "hidden_size": 768,
                "intermediate_size": 3072,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "projection_dim": 768,
            },
        ),
    },
    pixels=1024,
    steps=28,
    timed=7,
)
# huggingface.co/black-forest-labs/FLUX.2-klein-4B: transformer/config.json, vae/config.json (which are the defaults of
# diffusers' AutoencoderKLFlux2), and text_encoder/config.json, which is that of Qwen3-4B.
FLUX_KLEIN = EditorSize(
    name="FLUX.2-Klein-4B",
    pipeline="Flux2KleinPipeline",
    readers={"text_encoder": "Qwen3"},
    parts={
        "transformer": (
            "Flux2Transformer2DModel",
            {
                "in_channels": 128,
                "num_layers": 5,
                "num_single_layers": 20,
                "attention_head_dim": 128,
                "num_attention_heads": 24,
                "joint_attention_dim": 7680,
                "timestep_guidance_channels": 256,
                "axes_dims_rope": [32, 32, 32, 32],
                "guidance_embeds": False,
            },
        ),
        "vae": ("AutoencoderKLFlux2", {**_EIGHTHS, "latent_channels": 32}),
        "text_encoder": (
            "Qwen3ForCausalLM",
            {
                "vocab_size": 151936,
                "hidden_size": 2560,
                "intermediate_size": 9728,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "tie_word_embeddings": True,
                "layer_types": None,
            },
        ),
    },
    pixels=1024,
    steps=4,
)
# huggingface.co/Qwen/Qwen-Image-Edit-2511: transformer/config.json and vae/config.json (which are the defaults of
# diffusers' QwenImageTransformer2DModel and AutoencoderKLQwenImage); the instruction's reader is Qwen2.5-VL-7B, which
# gives the transformer some 1,369 tokens of a megapixel and the instruction's.
QWEN_EDIT = EditorSize(
    name="Qwen-Image-Edit",
    pipeline="QwenImageEditPipeline",
    readers={"text_encoder": "Qwen2.5-VL"},
    parts={
        "transformer": (
            "QwenImageTransformer2DModel",
            {
                "patch_size": 2,
                "in_channels": 64,
                "out_channels": 16,
                "num_layers": 60,
                "attention_head_dim": 128,
                "num_attention_heads": 24,
                "joint_attention_dim": 3584,
                "axes_dims_rope": [16, 56, 56],
            },
        ),
        "vae": (
            "AutoencoderKLQwenImage",
            {
                "base_dim": 96,
                "z_dim": 16,
                "dim_mult": [1, 2, 4, 4],
                "num_res_blocks": 2,
                "temperal_downsample": [False, True, True],
                "latents_mean": [0.0] * 16,
                "latents_std": [1.0] * 16,
            },
        ),
        "text_encoder": (
            QWEN_7B.kind,
            {
                "text_config": {**QWEN_7B.text, "layer_types": None},
                "vision_config": QWEN_7B.vision,
                "tie_word_embeddings": False,
            },
        ),
    },
    pixels=1024,
    steps=50,
    timed=5,
    tokens=1440,
    calls=2,
)
EDITORS = (FLUX_KLEIN, FLUX_KONTEXT, QWEN_EDIT)
CHATS = (QWEN_7B, QWEN3_8B)
KONTEXT_TINY = EditorSize("FLUX.1-Kontext", FLUX_KONTEXT.pipeline, FLUX_KONTEXT.readers, pixels=64, steps=2)
KLEIN_TINY = EditorSize("FLUX.2-Klein", FLUX_KLEIN.pipeline, FLUX_KLEIN.readers, pixels=128, steps=2)
QWEN_EDIT_TINY = EditorSize("Qwen-Image-Edit", QWEN_EDIT.pipeline, QWEN_EDIT.readers, pixels=64, steps=2, calls=2)
VOCABULARY = 264
"""Tokens of the tests' tokenizer of chat models, so that a small model says only what can be read."""
QWEN_SMALL = ChatSize(
    name="Qwen2.5-VL",
    kind=QWEN_7B.kind,
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
_ROPE = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6}
QWEN_TINY = ChatSize(
    name="Qwen2.5-VL",
    kind=QWEN_7B.kind,
    text={**vlms.SMALL_TEXT, "vocab_size": VOCABULARY, "rope_parameters": _ROPE},
    vision={**vlms.SMALL_VISION, "depth": 2, "num_heads": 2, "out_hidden_size": 64, "fullatt_block_indexes": [1]},
    pixels=56,
)
QWEN3_TINY = ChatSize(
    name="Qwen3-VL",
    kind=QWEN3_8B.kind,
    text={**vlms.SMALL_TEXT, "head_dim": 16, "vocab_size": VOCABULARY, "rope_parameters": _ROPE},
    vision={**vlms.SMALL_VISION, "depth": 2, "num_heads": 2, "out_hidden_size": 64, "patch_size": 16}
    | {"num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
    pixels=64,
)
