"""Checkpoints of image editors with random weights, small enough to run in a test: one for each pipeline, and CLIPSeg.

`checkpoint(NAME)` builds each once a session. The weights mean nothing; that a pipeline reads its prompt, its negative
prompt, its image, its mask and its seed shows all the same.
"""

import atexit
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

WORDS = ("change", "the", "red", "blue", "bus", "circle", "color", "of", "to", "keep", "everything", "else", "must")


@cache
def checkpoint(name: str) -> Path:
    """The folder of a checkpoint: a name from `RECIPES`, or `clipseg`."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(sum(name.encode()))
    folder = _folder() / name
    if name == "clipseg":
        _clipseg(folder)
    else:
        _pipeline(name)(**RECIPES[name]()).save_pretrained(folder)
    return folder


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="tiny-editors-")
    atexit.register(made.cleanup)
    return Path(made.name)


def _pipeline(name: str) -> Any:
    import diffusers

    return getattr(diffusers, name)


def _bytes() -> list[str]:
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def clip_tokenizer() -> Any:
    """Bytes, and bytes that end a word; 77 tokens are read."""
    from transformers import CLIPTokenizer

    tokens = [*_bytes(), *(f"{byte}</w>" for byte in _bytes()), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def _t5_tokenizer() -> Any:
    """Characters and a few words."""
    from transformers import T5Tokenizer

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -2.0)]
    pieces += [(chr(code), -3.0) for code in range(33, 127)]
    pieces += [(f"\u2581{word}", -4.0) for word in WORDS]
    return T5Tokenizer(vocab=pieces, extra_ids=0, model_max_length=512)


_CHAT = (
    "{% for said in messages %}<|im_start|>{{ said['role'] }}\n{% if said['content'] is string %}{{ said['content'] }}"
    "{% else %}{% for part in said['content'] %}{{ part['text'] }}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
)
"""A conversation as Qwen's models read it, of texts alone."""


def _qwen_tokenizer(*further: str) -> Any:
    """Bytes and the marks of a conversation."""
    from transformers import Qwen2Tokenizer

    names = ("endoftext", "im_start", "im_end", "vision_start", "vision_end", "image_pad", "video_pad")
    marks = [*(f"<|{name}|>" for name in names), *further]
    vocabulary = {token: number for number, token in enumerate([*marks, *_bytes()])}
    return Qwen2Tokenizer(vocab=vocabulary, merges=[], eos_token="<|im_end|>", additional_special_tokens=marks)


def clip_text(tokenizer: Any) -> Any:
    """A text encoder of CLIP with random weights."""
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        projection_dim=32,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return CLIPTextModel(config)


def _stable_diffusion(channels: int, depth: int = 2) -> dict[str, Any]:
    """The parts of Stable Diffusion; `channels` come into the network, attention is at its lowest level."""
    import diffusers

    tokenizer = clip_tokenizer()
    down = ["DownBlock2D"] * (depth - 1) + ["CrossAttnDownBlock2D"]
    up = ["CrossAttnUpBlock2D"] + ["UpBlock2D"] * (depth - 1)
    network = diffusers.UNet2DConditionModel(
        block_out_channels=(32,) * (depth - 1) + (64,),
        layers_per_block=1,
        sample_size=32,
        in_channels=channels,
        out_channels=4,
        down_block_types=down,
        up_block_types=up,
        cross_attention_dim=32,
        attention_head_dim=8,
    )
    autoencoder = diffusers.AutoencoderKL(
        block_out_channels=[32, 64],
        latent_channels=4,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        sample_size=512,
    )
    return {
        "tokenizer": tokenizer,
        "text_encoder": clip_text(tokenizer),
        "vae": autoencoder,
        "unet": network,
        "scheduler": diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
    }


def _flux() -> dict[str, Any]:
    import diffusers
    from transformers import T5Config, T5EncoderModel

    clip, t5 = clip_tokenizer(), _t5_tokenizer()
    network = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=[4, 4, 8],
        guidance_embeds=True,
    )
    autoencoder = diffusers.AutoencoderKL(
        block_out_channels=(4, 8),
        latent_channels=1,
        norm_num_groups=1,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        use_quant_conv=False,
        use_post_quant_conv=False,
        shift_factor=0.06,
        scaling_factor=1.5,
    )
    words = T5Config(vocab_size=len(t5), d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4)
    return {
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(),
        "vae": autoencoder,
        "text_encoder": clip_text(clip),
        "tokenizer": clip,
        "text_encoder_2": T5EncoderModel(words),
        "tokenizer_2": t5,
        "transformer": network,
    }


def _qwen_eyes(tokenizer: Any) -> Any:
    """The language model that reads instruction and image."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    number = tokenizer.convert_tokens_to_ids
    small = {"hidden_size": 16, "intermediate_size": 16}
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e6}
    heads = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = Qwen2_5_VLConfig(
        text_config={**small, **heads, "vocab_size": len(tokenizer), "rope_parameters": rope, "bos_token_id": 0}
        | {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": number("<|endoftext|>")},
        vision_config={**small, "depth": 1, "num_heads": 2, "out_hidden_size": 16, "fullatt_block_indexes": [0]},
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    return Qwen2_5_VLForConditionalGeneration(config)


def _qwen() -> dict[str, Any]:
    import diffusers
    from transformers import Qwen2VLImageProcessor, Qwen2VLProcessor, Qwen2VLVideoProcessor

    tokenizer = _qwen_tokenizer()
    latents = 4
    autoencoder = diffusers.AutoencoderKLQwenImage(
        base_dim=24,
        z_dim=latents,
        dim_mult=[1, 2, 4],
        num_res_blocks=1,
        temperal_downsample=[False, True],
        latents_mean=[0.0] * latents,
        latents_std=[1.0] * latents,
    )
    network = diffusers.QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=16,
        out_channels=latents,
        num_layers=3,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        axes_dims_rope=(8, 4, 4),
    )
    processor = Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=84 * 84),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
    )
    return {
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(),
        "vae": autoencoder,
        "text_encoder": _qwen_eyes(tokenizer),
        "tokenizer": tokenizer,
        "processor": processor,
        "transformer": network,
    }


def _flux2_parts(joint: int, guided: bool) -> dict[str, Any]:
    """Sampler, autoencoder and network of FLUX.2, whose text encoder gives three layers of a third of `joint` each."""
    import diffusers

    autoencoder = diffusers.AutoencoderKLFlux2(
        block_out_channels=(4, 8),
        layers_per_block=1,
        latent_channels=1,
        norm_num_groups=1,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    network = diffusers.Flux2Transformer2DModel(
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=joint,
        timestep_guidance_channels=32,
        axes_dims_rope=(4, 4, 4, 4),
        guidance_embeds=guided,
    )
    return {"scheduler": diffusers.FlowMatchEulerDiscreteScheduler(), "vae": autoencoder, "transformer": network}


def _klein() -> dict[str, Any]:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    tokenizer = _qwen_tokenizer()
    tokenizer.pad_token = "<|endoftext|>"
    tokenizer.chat_template = _CHAT
    words = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=28,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=8,
    )
    return {**_flux2_parts(48, guided=False), "text_encoder": Qwen3ForCausalLM(words), "tokenizer": tokenizer}


def _flux2() -> dict[str, Any]:
    from transformers import (
        Mistral3Config,
        Mistral3ForConditionalGeneration,
        MistralConfig,
        PixtralImageProcessor,
        PixtralProcessor,
        PixtralVisionConfig,
    )

    tokenizer = _qwen_tokenizer("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    tokenizer.pad_token = "<|endoftext|>"
    small = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "head_dim": 8}
    words = MistralConfig(**small, num_hidden_layers=30, num_key_value_heads=2, vocab_size=len(tokenizer))
    config = Mistral3Config(
        text_config=words,
        vision_config=PixtralVisionConfig(**small, num_hidden_layers=1, patch_size=14, image_size=56),
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
    )
    processor = PixtralProcessor(
        image_processor=PixtralImageProcessor(), tokenizer=tokenizer, patch_size=14, chat_template=_CHAT
    )
    text_encoder = Mistral3ForConditionalGeneration(config)
    return {**_flux2_parts(48, guided=True), "text_encoder": text_encoder, "tokenizer": processor}


def _longcat() -> dict[str, Any]:
    import diffusers

    parts = _qwen()
    autoencoder = diffusers.AutoencoderKL(
        block_out_channels=(4, 8),
        latent_channels=16,
        norm_num_groups=1,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        shift_factor=0.06,
        scaling_factor=1.5,
    )
    network = diffusers.LongCatImageTransformer2DModel(
        in_channels=64,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=16,
        pooled_projection_dim=16,
        axes_dims_rope=[4, 4, 8],
    )
    parts["tokenizer"].pad_token = "<|endoftext|>"
    return {
        "scheduler": parts["scheduler"],
        "vae": autoencoder,
        "text_encoder": parts["text_encoder"],
        "tokenizer": parts["tokenizer"],
        "text_processor": parts["processor"],
        "transformer": network,
    }


def _qwen_2() -> dict[str, Any]:
    import diffusers
    from transformers import (
        Qwen2VLImageProcessor,
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    tokenizer = _qwen_tokenizer()
    tokenizer.pad_token = "<|endoftext|>"
    number = tokenizer.convert_tokens_to_ids
    small = {"hidden_size": 16, "intermediate_size": 16}
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 1e6}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    vision = {"depth": 1, "num_heads": 2, "out_hidden_size": 16, "patch_size": 16, "deepstack_visual_indexes": [0]}
    eyes = Qwen3VLConfig(
        text_config={**small, **heads, "vocab_size": len(tokenizer), "rope_parameters": rope},
        vision_config={**small, **vision, "num_position_embeddings": 16},
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    processor = Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=32 * 32, max_pixels=96 * 96, patch_size=16),
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=_CHAT,
    )
    latents = 4
    autoencoder = diffusers.AutoencoderKLQwenImage21(
        base_dim=8,
        decoder_base_dim=8,
        z_dim=latents,
        dim_mult=[1, 1, 1, 1, 1],
        num_res_blocks=1,
        latents_mean=[0.0] * latents,
        latents_std=[1.0] * latents,
    )
    network = diffusers.QwenImage21Transformer2DModel(
        in_channels=latents,
        out_channels=latents,
        num_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        context_in_dim=16,
        axes_dims_rope=(4, 6, 6),
    )
    return {
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(),
        "vae": autoencoder,
        "text_encoder": Qwen3VLForConditionalGeneration(eyes),
        "processor": processor,
        "transformer": network,
    }


def safety_checker(flags: bool) -> dict[str, Any]:
    """The parts of a question validator that takes every image for unsafe, or none."""
    import torch
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig, CLIPImageProcessor

    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = {**small, "image_size": 32, "patch_size": 16}
    checker = StableDiffusionSafetyChecker(CLIPConfig(vision_config=vision, text_config=small, projection_dim=8))
    for weights in (checker.concept_embeds_weights, checker.special_care_embeds_weights):
        torch.nn.init.constant_(weights, -2.0 if flags else 2.0)
    size = {"height": 32, "width": 32}
    extractor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=size)
    return {"safety_checker": checker, "feature_extractor": extractor}


def _clipseg(folder: Path) -> None:
    from transformers import CLIPSegConfig, CLIPSegForImageSegmentation, CLIPSegProcessor, ViTImageProcessor

    tokenizer = clip_tokenizer()
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = CLIPSegConfig(
        text_config={**small, **ends, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id},
        vision_config={**small, "image_size": 32, "patch_size": 8},
        projection_dim=16,
        extract_layers=[1],
        reduce_dim=16,
        decoder_num_attention_heads=2,
        decoder_intermediate_size=16,
    )
    CLIPSegForImageSegmentation(config).save_pretrained(folder)
    images = ViTImageProcessor(size={"height": 32, "width": 32})
    CLIPSegProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)


RECIPES: dict[str, Callable[[], dict[str, Any]]] = {
    "Flux2KleinPipeline": _klein,
    "Flux2KleinInpaintPipeline": _klein,
    "Flux2Pipeline": _flux2,
    "LongCatImageEditPipeline": _longcat,
    "QwenImage21Pipeline": _qwen_2,
    "FluxKontextPipeline": _flux,
    "FluxKontextInpaintPipeline": _flux,
    "QwenImageEditPipeline": _qwen,
    "QwenImageEditPlusPipeline": _qwen,
    "StableDiffusionInstructPix2PixPipeline": lambda: _stable_diffusion(channels=8),
    "StableDiffusionInpaintPipeline": lambda: _stable_diffusion(channels=9),
    "StableDiffusionImg2ImgPipeline": lambda: _stable_diffusion(channels=4),
    "LEditsPPPipelineStableDiffusion": lambda: _stable_diffusion(channels=4, depth=3),
}
"""The parts of each pipeline, by its class."""
