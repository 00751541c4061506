"""Tiny random chat checkpoints of six architectures: five vision-language models and one of text alone.

Each is a folder that `AutoProcessor` or `AutoTokenizer`, the `AutoModel` classes and `transformers serve` load: about
0.1 million parameters over a vocabulary of the 256 bytes. Weights are random, but for three things: outputs vary
(`_liven`), a reply ends sooner or later and holds no special token (`_teach_manners`), and Mllama's gates are open,
without which a fresh model is blind.
"""

import atexit
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

Parts = tuple[Any, Any]
"""A model with fresh weights, and its processor or tokenizer."""

END, PAD, START = "<|im_end|>", "<|endoftext|>", "<|im_start|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{{ 'IMAGE' if part['type'] == 'image' else part['text'] }}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SMALL_TEXT = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
SMALL_VISION = {"hidden_size": 32, "intermediate_size": 48}


def qwen2_5_vl(heads: int = 4) -> Parts:
    """Qwen2.5-VL: images of any size, positions in three dimensions."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    names = ["<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer = _tokenizer("<|vision_start|><|image_pad|><|vision_end|>", *names)
    wide = 4 // heads
    rope = {"rope_type": "default", "mrope_section": [2 * wide, 3 * wide, 3 * wide], "rope_theta": 1e6}
    text = SMALL_TEXT | {"num_attention_heads": heads}
    vision = {"depth": 2, "num_heads": 2, "out_hidden_size": 64, "fullatt_block_indexes": [1], "window_size": 56}
    config = Qwen2_5_VLConfig(
        text_config={**text, **_ids(tokenizer), "rope_parameters": rope, "tie_word_embeddings": False},
        vision_config={**SMALL_VISION, **vision, "patch_size": 14},
        **{f"{name[2:-2]}_token_id": tokenizer.convert_tokens_to_ids(name) for name in names[:2]},
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
    )
    processor = Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=112 * 112),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=tokenizer.chat_template,
    )
    return Qwen2_5_VLForConditionalGeneration(config), processor


def qwen2_5_vl_wide() -> Parts:
    """Qwen2.5-VL with heads of 32, the least that vLLM takes on a CPU."""
    return qwen2_5_vl(heads=2)


def pixtral() -> Parts:
    """Pixtral in LLaVA: images of any size, a row of patches ends with a token of its own."""
    from transformers import LlavaConfig, LlavaForConditionalGeneration, PixtralImageProcessor, PixtralProcessor

    tokenizer = _tokenizer("[IMG]", "[IMG]", "[IMG_BREAK]", "[IMG_END]")
    vision = {"model_type": "pixtral", "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 16}
    config = LlavaConfig(
        vision_config={**SMALL_VISION, **vision, "image_size": 96},
        text_config={"model_type": "mistral", **SMALL_TEXT, **_ids(tokenizer), "head_dim": 16},
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    side = {"longest_edge": 96}
    processor = PixtralProcessor(
        image_processor=PixtralImageProcessor(size=side, patch_size={"height": 16, "width": 16}),
        tokenizer=tokenizer,
        patch_size=16,
        chat_template=tokenizer.chat_template,
    )
    return LlavaForConditionalGeneration(config), processor


def internvl() -> Parts:
    """InternVL: images of one size, each a fixed number of tokens."""
    from transformers import (
        GotOcr2ImageProcessor,
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLProcessor,
        InternVLVideoProcessor,
    )

    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    names["video_token"] = "<video>"
    tokenizer = _tokenizer("<IMG_CONTEXT>", *names.values(), extra_special_tokens=names)
    vision = {"num_hidden_layers": 2, "num_attention_heads": 2, "image_size": [56, 56], "patch_size": [14, 14]}
    config = InternVLConfig(
        vision_config={**SMALL_VISION, **vision},
        text_config={"model_type": "qwen2", **SMALL_TEXT, **_ids(tokenizer)},
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        tie_word_embeddings=False,
        image_seq_length=4,
    )
    size = {"height": 56, "width": 56}
    processor = InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(size=size, crop_to_patches=False),
        tokenizer=tokenizer,
        video_processor=InternVLVideoProcessor(size=size),
        image_seq_length=4,
        chat_template=tokenizer.chat_template,
    )
    return InternVLForConditionalGeneration(config), processor


def mllama() -> Parts:
    """Llama 3.2 Vision: the text looks at the tiles of an image through cross-attention."""
    from torch.nn.init import ones_
    from transformers import MllamaConfig, MllamaForConditionalGeneration, MllamaImageProcessor, MllamaProcessor

    tokenizer = _tokenizer("<|image|>", "<|image|>", "<|begin_of_text|>", bos_token="<|begin_of_text|>")
    vision = {"num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 2, "image_size": 56, "patch_size": 14}
    tiles = {"supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]], "max_num_tiles": 2}
    config = MllamaConfig(
        vision_config={**SMALL_VISION, **vision, **tiles, "vision_output_dim": 64, "intermediate_layers_indices": [1]},
        text_config={**SMALL_TEXT, **_ids(tokenizer), "cross_attention_layers": [1]},
        image_token_index=tokenizer.convert_tokens_to_ids("<|image|>"),
    )
    processor = MllamaProcessor(
        image_processor=MllamaImageProcessor(size={"height": 56, "width": 56}, max_image_tiles=2),
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )
    model = MllamaForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if name.endswith(("cross_attn_attn_gate", "cross_attn_mlp_gate")):
            ones_(weight)
    return model, processor


def smolvlm() -> Parts:
    """SmolVLM, whose first edition is an Idefics3: an image is cut into parts, and the parts are numbered."""
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3ImageProcessor, Idefics3Processor

    parts = [f"<row_{row}_col_{col}>" for row in range(1, 4) for col in range(1, 4)]
    tokenizer = _tokenizer(
        "<image>", "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *parts
    )
    vision = {"num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 56, "patch_size": 14}
    config = Idefics3Config(
        vision_config={**SMALL_VISION, **vision},
        text_config={"model_type": "llama", **SMALL_TEXT, **_ids(tokenizer)},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
        scale_factor=2,
    )
    sides = {"size": {"longest_edge": 112}, "max_image_size": {"longest_edge": 56}}
    processor = Idefics3Processor(
        image_processor=Idefics3ImageProcessor(**sides, do_image_splitting=True),
        tokenizer=tokenizer,
        image_seq_len=4,
        chat_template=tokenizer.chat_template,
    )
    return Idefics3ForConditionalGeneration(config), processor


def llama() -> Parts:
    """Llama: text alone, as a writer or a judge needs it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer("")
    return LlamaForCausalLM(LlamaConfig(**SMALL_TEXT, **_ids(tokenizer))), tokenizer


SEEING: dict[str, Callable[[], Parts]] = {
    made.__name__: made for made in (qwen2_5_vl, pixtral, internvl, mllama, smolvlm)
}
ARCHITECTURES: dict[str, Callable[[], Parts]] = {**SEEING, "llama": llama}
FOR_SERVERS: dict[str, Callable[[], Parts]] = {"qwen2_5_vl_wide": qwen2_5_vl_wide}


@cache
def checkpoint(architecture: str) -> Path:
    """The folder of a checkpoint, made once a session; the same weights every time."""
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(0)
    model, processor = (ARCHITECTURES | FOR_SERVERS)[architecture]()
    tokenizer = getattr(processor, "tokenizer", processor)
    with torch.no_grad():
        _liven(model)
        _teach_manners(model, tokenizer)
    stops = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model.generation_config.update(**stops, do_sample=True, temperature=1.0)
    path = _folder() / f"tiny-{architecture}"
    model.save_pretrained(path)
    processor.save_pretrained(path)
    return path


@cache
def _folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="tiny-vlms-")
    atexit.register(made.cleanup)
    return Path(made.name)


def _liven(model: Any) -> None:
    """Larger weights than a fresh model's, so that what it is shown changes what it says."""
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.mul_(7)
    model.get_output_embeddings().weight.mul_(2)


def _teach_manners(model: Any, tokenizer: Any) -> None:
    """Let a reply end after some visible letters, never where it begins, so that none is blank or endless.

    Every token that is heard points along `always`, and along `stop` or against it (a line break, with which a prompt
    ends, twice); special tokens are said only against `always`, that is never, and the end only along `stop`.
    """
    import torch

    heard, said = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    always, stop = torch.linalg.qr(torch.randn(heard.shape[1], 2)).Q.T
    heard_size, said_size = 1.3 * heard.norm(dim=1).mean(), 2 * said.norm(dim=1).mean()
    letters = _letters()
    enders = {letter for letter in letters[::4] if ord(letter) < 256}
    heard[tokenizer.encode("\n")] -= heard_size * stop
    for token, number in tokenizer.get_vocab().items():
        heard[number] += heard_size * (always + (stop if token in enders else -stop))
        if token not in letters:
            said[number] = -said_size * always
    said[tokenizer.eos_token_id] = 3 * said_size * stop


def _tokenizer(image: str, *names: str, **special: Any) -> Any:
    """One token a byte, beside the names; `image` is what the template writes for one."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    reserved = [PAD, START, END, *names]
    tokenizer = Tokenizer(models.BPE({token: n for n, token in enumerate([*reserved, *_letters()])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=reserved,
        chat_template=TEMPLATE.replace("IMAGE", image),
        model_max_length=SMALL_TEXT["max_position_embeddings"],
        **special,
    )


def _letters() -> list[str]:
    """The 256 bytes, as byte-level tokenizers write them: blanks and control characters over U+00FF."""
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


def _ids(tokenizer: Any) -> dict[str, Any]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    return {"vocab_size": len(tokenizer), **{name: getattr(tokenizer, name) for name in names}}
