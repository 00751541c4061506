"""Matchers and depth estimators with random weights, small enough to run in a test: CLIP, SigLIP, DPT, Depth Anything,
GLPN. `checkpoint(KIND)` builds each once a session; see `tests.tiny.detectors`."""

import atexit
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.tiny.editors import clip_tokenizer

Parts = tuple[Any, Any]
"""A model with fresh weights, and its processor."""
SIDE = 32
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@cache
def checkpoint(kind: str) -> Path:
    """The folder of a checkpoint: a name from `RECIPES`."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(sum(kind.encode()))
    model, processor = RECIPES[kind]()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(LIVELY.get(kind, 8.0))
    folder = _folder() / f"tiny-{kind}"
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="tiny-visions-")
    atexit.register(made.cleanup)
    return Path(made.name)


def _clip() -> Parts:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    tokenizer = clip_tokenizer()
    tokenizer.model_max_length = 16
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    text = {**SMALL, **ends, "vocab_size": len(tokenizer), "max_position_embeddings": 16, "pad_token_id": 0}
    config = CLIPConfig(
        text_config=text, vision_config={**SMALL, "image_size": SIDE, "patch_size": 16}, projection_dim=16
    )
    images = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    return CLIPModel(config), CLIPProcessor(images, tokenizer)


def _siglip() -> Parts:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    tokenizer = clip_tokenizer()
    tokenizer.model_max_length = 16
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    text = {**SMALL, **ends, "vocab_size": len(tokenizer), "max_position_embeddings": 16, "projection_size": 16}
    config = SiglipConfig(text_config=text, vision_config={**SMALL, "image_size": SIDE, "patch_size": 16})
    images = SiglipImageProcessor(size={"height": SIDE, "width": SIDE})
    return SiglipModel(config), SiglipProcessor(images, tokenizer)


def _dpt() -> Parts:
    from transformers import DPTConfig, DPTForDepthEstimation, DPTImageProcessor

    config = DPTConfig(
        **(SMALL | {"num_hidden_layers": 4}),
        image_size=SIDE,
        patch_size=16,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        is_hybrid=False,
    )
    return DPTForDepthEstimation(config), DPTImageProcessor(size={"height": SIDE, "width": SIDE})


def _depth_anything(kind: str = "relative") -> Parts:
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config, DPTImageProcessor

    eyes = Dinov2Config(
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        mlp_ratio=1,
        image_size=28,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        apply_layernorm=True,
    )
    config = DepthAnythingConfig(
        backbone_config=eyes,
        patch_size=14,
        reassemble_hidden_size=16,
        neck_hidden_sizes=[8, 8, 8, 8],
        fusion_hidden_size=8,
        head_hidden_size=8,
        depth_estimation_type=kind,
        **({"max_depth": 20} if kind == "metric" else {}),
    )
    return DepthAnythingForDepthEstimation(config), DPTImageProcessor(size={"height": 28, "width": 28})


def _glpn() -> Parts:
    from transformers import GLPNConfig, GLPNForDepthEstimation, GLPNImageProcessor

    config = GLPNConfig(
        num_encoder_blocks=4,
        depths=[1, 1, 1, 1],
        hidden_sizes=[8, 8, 8, 8],
        num_attention_heads=[1, 1, 1, 1],
        mlp_ratios=[1, 1, 1, 1],
        decoder_hidden_size=8,
    )
    return GLPNForDepthEstimation(config), GLPNImageProcessor()


RECIPES: dict[str, Callable[[], Parts]] = {
    "clip": _clip,
    "siglip": _siglip,
    "dpt": _dpt,
    "depth_anything": _depth_anything,
    "depth_anything_metric": lambda: _depth_anything("metric"),
    "glpn": _glpn,
}
"""The parts of each checkpoint, by a name that says the kind of its model."""
LIVELY = {"clip": 2.0, "siglip": 2.0}
"""Factors on the weights, so that scores and depths differ; 8 for the others."""
