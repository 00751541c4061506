"""Detectors and a segmenter with random weights, small enough to run in a test: Grounding DINO, OWLv2, SAM 2.

`checkpoint(KIND)` builds each once a session. Where they see something means nothing; that text, image and box are
read, and that boxes and outlines come back in the image's own pixels, shows all the same.
"""

import atexit
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.tiny.editors import clip_tokenizer

Parts = tuple[Any, Any]
"""A model with fresh weights, and its processor."""
SIDE = 64
"""Width and height that the models see."""


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
                weight.mul_(LIVELY[kind])
    folder = _folder() / f"tiny-{kind}"
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="tiny-detectors-")
    atexit.register(made.cleanup)
    return Path(made.name)


def _grounding_dino() -> Parts:
    from transformers import (
        BertConfig,
        BertTokenizer,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessor,
        GroundingDinoProcessor,
        SwinConfig,
    )

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(code) for code in range(33, 127)]
    words = [*marks, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = BertTokenizer(vocab={word: number for number, word in enumerate(words)})
    eyes = SwinConfig(
        image_size=SIDE,
        embed_dim=8,
        depths=[1, 1, 1],
        num_heads=[1, 2, 2],
        window_size=4,
        out_features=["stage2", "stage3"],
    )
    text = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    small = {f"{part}_{what}": n for part in ("encoder", "decoder") for what, n in (("layers", 2), ("ffn_dim", 16))}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_n_points": 2, "decoder_n_points": 2}
    config = GroundingDinoConfig(
        backbone_config=eyes, text_config=text, d_model=32, num_queries=9, num_feature_levels=3, **small, **heads
    )
    images = GroundingDinoImageProcessor(size={"height": SIDE, "width": SIDE}, do_pad=False)
    return GroundingDinoForObjectDetection(config), GroundingDinoProcessor(images, tokenizer)


def _owlv2() -> Parts:
    from transformers import Owlv2Config, Owlv2ForObjectDetection, Owlv2ImageProcessor, Owlv2Processor

    tokenizer = clip_tokenizer()
    tokenizer.model_max_length = 16
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = Owlv2Config(
        text_config={**small, **ends, "vocab_size": len(tokenizer), "pad_token_id": 0},
        vision_config={**small, "image_size": SIDE, "patch_size": 16},
        projection_dim=16,
    )
    images = Owlv2ImageProcessor(size={"height": SIDE, "width": SIDE})
    return Owlv2ForObjectDetection(config), Owlv2Processor(images, tokenizer)


def _sam2() -> Parts:
    from transformers import Sam2Config, Sam2Model, Sam2Processor

    return Sam2Model(Sam2Config(**_sam2_parts())), Sam2Processor(_sam2_images())


def _sam2_video() -> Parts:
    """As SAM 2 is published: weights, configuration and processor of the model for videos."""
    from transformers import Sam2VideoConfig, Sam2VideoModel, Sam2VideoProcessor, Sam2VideoVideoProcessor

    memory = {
        "memory_attention_hidden_size": 16,
        "memory_attention_num_layers": 1,
        "memory_attention_feed_forward_hidden_size": 16,
        "memory_attention_rope_feat_sizes": [4, 4],
        "memory_encoder_hidden_size": 16,
        "memory_encoder_output_channels": 8,
        "mask_downsampler_embed_dim": 16,
        "memory_fuser_num_layers": 1,
        "memory_fuser_embed_dim": 16,
        "memory_fuser_intermediate_dim": 16,
    }
    model = Sam2VideoModel(Sam2VideoConfig(**_sam2_parts(), **memory))
    return model, Sam2VideoProcessor(_sam2_images(), Sam2VideoVideoProcessor())


def _sam2_images() -> Any:
    from transformers import Sam2ImageProcessor

    size, quarter = ({"height": side, "width": side} for side in (SIDE, SIDE // 4))
    return Sam2ImageProcessor(size=size, mask_size=quarter)


def _sam2_parts() -> dict[str, Any]:
    eyes = {
        "model_type": "sam2_hiera_det_model",
        "hidden_size": 8,
        "image_size": [SIDE, SIDE],
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2],
        "window_size_per_stage": [4, 4, 2, 2],
        "global_attention_blocks": [3],
    }
    vision = {
        "backbone_config": eyes,
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "fpn_hidden_size": 16,
    }
    return {
        "vision_config": vision,
        "prompt_encoder_config": {"hidden_size": 16, "image_size": SIDE, "mask_input_channels": 4},
        "mask_decoder_config": {"hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2, "iou_head_hidden_dim": 16},
    }


RECIPES: dict[str, Callable[[], Parts]] = {
    "grounding-dino": _grounding_dino,
    "owlv2": _owlv2,
    "sam2": _sam2,
    "sam2_video": _sam2_video,
}
"""The parts of each checkpoint, by the kind of its model."""
LIVELY = {"grounding-dino": 2.0, "owlv2": 0.5, "sam2": 2.0, "sam2_video": 2.0}
"""Factors on the weights, so that scores differ and are not all 1."""
