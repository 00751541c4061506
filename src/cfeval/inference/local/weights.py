"""The weights of a model in a folder, looked at without loading them: are they whole, how large are they?

They are safetensors, one file or those that an index names. Pickled ones, which can hold code, are not read.
"""

import json
from pathlib import Path
from typing import Any

from cfeval.inference.local.devices import Dtype

_SINGLE = ("model.safetensors", "diffusion_pytorch_model.safetensors")
"""What is read where there is no index, whatever else is beside it."""
_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "float32": 4, "bfloat16": 2, "float16": 2}
"""Of a number, by the names that safetensors and torch have for its type."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is none, for which see `json_fault`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def json_fault(path: Path) -> str:
    """Why a file holds no JSON object: one line, or empty."""
    if not path.is_file():
        return f"{path.name} is missing"
    return "" if read_json(path) else f"{path.name} is not JSON, or empty"


def weight_files(folder: Path) -> list[Path]:
    """The files of the weights: those that an index names, there or not, or the single one."""
    if named := {name for index in _indexes(folder) for name in _named(index)}:
        return [folder / name for name in sorted(named)]
    single = [folder / name for name in _SINGLE if (folder / name).is_file()]
    return single or sorted(folder.glob("*.safetensors"))


def weights_fault(folder: Path) -> str:
    """What keeps the weights from being whole: one line, or empty."""
    files = weight_files(folder)
    faults = [*map(json_fault, _indexes(folder)), *map(safetensors_fault, files)]
    if not files:
        faults.append(
            "the weights (*.safetensors) are missing; in other formats (*.bin, *.gguf) they are not read, convert them"
        )
    return next(filter(None, faults), "")


def safetensors_fault(file: Path) -> str:
    """What keeps a file of weights from being whole: one line, or empty."""
    if not file.is_file():
        return f"{file.name} is missing, which the index names"
    try:
        _tensors(file)
    except (ValueError, TypeError, LookupError, AttributeError):
        return f"{file.name} is cut short or no safetensors file"
    return ""


def weights_size(folder: Path, dtype: Dtype) -> int:
    """Bytes that whole weights take in memory when loaded as `dtype`; `auto` keeps the types they are stored in."""
    sizes = [entry for file in weight_files(folder) for entry in _tensors(file)]
    if dtype == "auto":
        return sum(size for _, size in sizes)
    return sum(size * _BYTES[dtype] // _BYTES[stored] if stored in _BYTES else size for stored, size in sizes)


def _indexes(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors.index.json"))


def _named(index: Path) -> set[str]:
    weight_map = read_json(index).get("weight_map")
    return {str(name) for name in weight_map.values()} if isinstance(weight_map, dict) else set()


def _tensors(file: Path) -> list[tuple[str, int]]:
    """Type and bytes of every tensor, as the header says; ValueError or the like where it does not suit the file.

    A file may be cut short, or a pointer of Git LFS, whose first bytes are no sensible length of a header.
    """
    length = file.stat().st_size
    with file.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
        entries = json.loads(stream.read(header) if header < length else b"")
    tensors = [entry for name, entry in entries.items() if name != "__metadata__"]
    if length != 8 + header + max((entry["data_offsets"][1] for entry in tensors), default=0):
        raise ValueError("the header speaks of another length")
    return [(entry["dtype"], entry["data_offsets"][1] - entry["data_offsets"][0]) for entry in tensors]
