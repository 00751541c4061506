"""Models with random weights, of published sizes and of small ones (bench/sizes.py).

What makes the inputs (tokenizers, image processor) is that of the tests' tiny checkpoints: bytes for words. Weights are
drawn where they will be used, which takes a GPU no time; buffers, such as frequencies of positions, are as they should.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tests.tiny import editors, vlms

from bench.sizes import ChatSize, Config, EditorSize


def chat(size: ChatSize, folder: Path, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Path:
    """Write a vision-language model as a folder that the `transformers` plugin loads."""
    from transformers.utils import logging

    config, processor = _tiny(size.kind)
    with drawing(device, dtype):
        drawn = chat_network(size, config)
    ends = {"eos_token_id": processor.tokenizer.eos_token_id, "pad_token_id": processor.tokenizer.pad_token_id}
    drawn.generation_config.update(**ends)
    processor.image_processor.size = {"shortest_edge": 56 * 56, "longest_edge": 16384 * 28 * 28}
    logging.disable_progress_bar()
    drawn.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def chat_network(size: ChatSize, own: Config | None = None) -> Any:
    """The network of a vision-language model on torch's current device; `own` is what the size leaves open."""
    own = own or _tiny(size.kind)[0]
    text = {**size.text, "layer_types": None} if "layer_types" in own["text_config"] else size.text
    parts = {"text_config": text, "vision_config": size.vision}
    return _of_transformers(size.kind, merged(own, {**parts, "tie_word_embeddings": False}))


def _tiny(kind: str) -> tuple[dict[str, Any], Any]:
    """The configuration and the processor of the tests' tiny model of a kind."""
    model, processor = vlms.qwen2_5_vl()
    if kind == type(model).__name__:
        return model.config.to_dict(), processor
    from transformers import Qwen2VLImageProcessor, Qwen3VLConfig, Qwen3VLProcessor, Qwen3VLVideoProcessor

    own, names = model.config.to_dict(), ("image_token_id", "video_token_id")
    marks = {**{name: own[name] for name in names}, **{f"vision_{n}_token_id": 3 + i for i, n in enumerate(_ENDS)}}
    text = {name: own["text_config"][name] for name in ("vocab_size", "eos_token_id", "pad_token_id")}
    seeing = Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(patch_size=16),
        tokenizer=processor.tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=processor.tokenizer.chat_template,
    )
    return Qwen3VLConfig(text_config=text, **marks).to_dict(), seeing


_ENDS = ("start", "end")


def network(size: EditorSize, part: str, small: Mapping[str, Any] | None = None) -> Any:
    """A part of an editor on torch's current device: of its size, or the tests' tiny one where it names none.

    Args:
        size: the editor's.
        part: its name in the pipeline.
        small: the tiny parts, where they are made already.
    """
    tiny = (small or editors.RECIPES[size.pipeline]())[part]
    if part not in size.parts:
        return tiny
    kind, config = size.parts[part]
    import diffusers

    if hasattr(diffusers, kind):
        return getattr(diffusers, kind)(**merged(_plain(tiny.config), config))
    return _of_transformers(kind, merged(tiny.config.to_dict(), config))


def pipeline(size: EditorSize, device: str = "cpu", dtype: torch.dtype = torch.float32) -> Any:
    """An editor's pipeline, its networks on a device; it never lies on a disk, since the largest takes 57 GB."""
    import diffusers

    torch.manual_seed(0)
    small = editors.RECIPES[size.pipeline]()
    parts = {}
    for name in ("transformer", "vae", *size.readers):
        with drawing(device, dtype):
            parts[name] = network(size, name, small).to(device, dtype).eval()
    if "processor" in small and size.parts:
        small["processor"].image_processor.size = {"shortest_edge": 56 * 56, "longest_edge": 16384 * 28 * 28}
    pipe = getattr(diffusers, size.pipeline)(**{**small, **parts})
    pipe.set_progress_bar_config(disable=True)
    return pipe


def merged(own: Config, wanted: Config) -> dict[str, Any]:
    """A configuration with some values replaced, those of its parts one by one."""
    both: dict[str, Any] = {**own}
    for name, value in wanted.items():
        nested = isinstance(value, Mapping) and isinstance(own.get(name), Mapping) and name.endswith("_config")
        both[name] = merged(own[name], value) if nested else value
    return both


def _of_transformers(kind: str, config: Config) -> Any:
    import transformers

    made: Any = getattr(transformers, kind)
    return made(made.config_class(**config))


def _plain(config: Config) -> dict[str, Any]:
    return {name: value for name, value in config.items() if not name.startswith("_")}


@contextmanager
def drawing(device: str, dtype: torch.dtype) -> Iterator[None]:
    """Weights are drawn from one seed, on a device and of a type."""
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)
