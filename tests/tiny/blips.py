"""Tiny random checkpoints of the BLIP family: BLIP-VQA, BLIP-2 over T5 and over OPT, InstructBLIP over T5.

`checkpoint(KIND)` builds each once a session, as the library's own classes save them; weights are random and outputs
vary with image and question.
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
SIDE, TOKENS = 32, 4
SEEDS = {"blip-2-t5": 1}
"""With which not all replies are empty."""
VISION = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION |= {"image_size": SIDE, "patch_size": 16}
FORMER = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@cache
def checkpoint(kind: str) -> Path:
    """The folder of a checkpoint: a name from `RECIPES`."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(SEEDS.get(kind, 0))
    model, processor = RECIPES[kind]()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(8.0)
        if hasattr(model, "query_tokens"):
            model.query_tokens.normal_()
    folder = _folder() / f"tiny-{kind}"
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="tiny-blips-")
    atexit.register(made.cleanup)
    return Path(made.name)


def blip_vqa() -> Parts:
    """BLIP-VQA: an encoder of the question that sees the image, and a decoder of the answer."""
    from transformers import BlipConfig, BlipForQuestionAnswering, BlipProcessor

    tokenizer = clip_tokenizer()
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    text = {**FORMER, **ends, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    text |= {"sep_token_id": tokenizer.eos_token_id, "encoder_hidden_size": 16, "max_position_embeddings": 64}
    config = BlipConfig(text_config=text, vision_config=VISION, projection_dim=16)
    return BlipForQuestionAnswering(config), BlipProcessor(_images(), tokenizer)


def blip2(text: dict[str, Any]) -> Parts:
    """BLIP-2 over a language model."""
    from transformers import Blip2Config, Blip2ForConditionalGeneration, Blip2Processor

    tokenizer = _with_image(clip_tokenizer())
    config = Blip2Config(
        vision_config=VISION,
        qformer_config={**FORMER, "encoder_hidden_size": 16, "vocab_size": 30},
        text_config={**text, **_ids(tokenizer)},
        num_query_tokens=TOKENS,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    return Blip2ForConditionalGeneration(config), Blip2Processor(_images(), tokenizer, num_query_tokens=TOKENS)


def instructblip() -> Parts:
    """InstructBLIP over T5: its Q-Former reads the question too."""
    from transformers import InstructBlipConfig, InstructBlipForConditionalGeneration, InstructBlipProcessor

    tokenizer, question = _with_image(clip_tokenizer()), clip_tokenizer()
    config = InstructBlipConfig(
        vision_config=VISION,
        qformer_config={**FORMER, "encoder_hidden_size": 16, "vocab_size": len(question)},
        text_config={**T5, **_ids(tokenizer)},
        num_query_tokens=TOKENS,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = InstructBlipProcessor(_images(), tokenizer, question, num_query_tokens=TOKENS)
    return InstructBlipForConditionalGeneration(config), processor


T5 = {"model_type": "t5", "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
OPT = {"model_type": "opt", "hidden_size": 16, "ffn_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
OPT |= {"word_embed_proj_dim": 16, "max_position_embeddings": 128}
RECIPES: dict[str, Callable[[], Parts]] = {
    "blip-vqa": blip_vqa,
    "blip-2-t5": lambda: blip2(T5),
    "blip-2-opt": lambda: blip2(OPT),
    "instructblip-t5": instructblip,
}


def _images() -> Any:
    from transformers import BlipImageProcessor

    return BlipImageProcessor(size={"height": SIDE, "width": SIDE})


def _with_image(tokenizer: Any) -> Any:
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    return tokenizer


def _ids(tokenizer: Any) -> dict[str, Any]:
    ends = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": tokenizer.bos_token_id}
    pad = tokenizer.pad_token_id
    return {**ends, "vocab_size": len(tokenizer), "pad_token_id": pad, "decoder_start_token_id": pad}
