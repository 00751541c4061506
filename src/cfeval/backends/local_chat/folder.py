"""A checkpoint's folder, looked at without loading it: what is missing, what counts, how large the weights are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INDEX = "model.safetensors.index.json"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "vocab.txt", "tekken.json")
_PROCESSORS = ("processor_config.json", "preprocessor_config.json")
_READ = (".json", ".safetensors", ".model", ".txt", ".jinja", ".tiktoken")
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes of a number of each type that weights come in."""


def files(folder: Path) -> tuple[str, ...]:
    """The files that the replies of a checkpoint depend on, sorted; a folder that is not there has none."""
    if not folder.is_dir():
        return ()
    return tuple(sorted(str(file) for file in folder.iterdir() if file.suffix in _READ and file.is_file()))


def fault(folder: Path) -> str:
    """What keeps a folder from being a whole checkpoint: one line, or empty."""
    return next(_faults(folder), "")


def config(folder: Path) -> dict[str, Any]:
    """config.json, or nothing where it cannot be read."""
    return _json(folder / "config.json")


def sees(folder: Path) -> bool:
    """Whether the checkpoint is of a model that takes images."""
    return "vision_config" in config(folder)


def shards(folder: Path) -> list[Path]:
    """The files of the weights: those that the index names, or the single one."""
    named = _json(folder / INDEX).get("weight_map", {})
    if named:
        return [folder / name for name in sorted(set(named.values()))]
    return sorted(folder.glob("*.safetensors"))


def weights_size(folder: Path, dtype: str) -> int:
    """Bytes that the weights take in memory when loaded as `dtype`; `auto` keeps the type they are stored in."""
    stored = sum(shard.stat().st_size for shard in shards(folder))
    its = config(folder)
    kind = its.get("dtype") or its.get("torch_dtype") or its.get("text_config", {}).get("dtype")
    if dtype == "auto" or kind not in BYTES or "quantization_config" in its:
        return stored
    return stored * BYTES[dtype] // BYTES[kind]


def _faults(folder: Path) -> Iterator[str]:
    if not (folder / "config.json").is_file():
        yield "config.json is missing (other formats, such as params.json or *.gguf, are not read)"
    elif not config(folder):
        yield "config.json is not JSON"
    found = shards(folder)
    if not found:
        pickled = any(folder.glob("*.bin"))
        yield "the weights (*.safetensors) are missing" + (
            "; pickled ones (*.bin) are not read: convert them to safetensors" if pickled else ""
        )
    for shard in found:
        if not shard.is_file():
            yield f"{shard.name} is missing, which {INDEX} names"
        elif not _whole(shard):
            yield f"{shard.name} is cut short or no safetensors file"
    if not _any(folder, _TOKENIZERS):
        yield f"the tokenizer is missing ({', '.join(_TOKENIZERS[:3])}, …)"
    if sees(folder) and not _any(folder, _PROCESSORS):
        yield f"the image processor is missing ({' or '.join(_PROCESSORS)})"


def _whole(shard: Path) -> bool:
    """Whether a safetensors file is as long as its header says; a pointer of Git LFS is not."""
    with shard.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length < shard.stat().st_size:
            return False
        try:
            header = json.loads(file.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, TypeError, LookupError):
            return False
    return shard.stat().st_size == 8 + length + max(ends, default=0)


def _any(folder: Path, names: tuple[str, ...]) -> bool:
    return any((folder / name).is_file() for name in names)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
