"""Shards: a record file cut into several by a hash of the id."""

import hashlib
from pathlib import Path


def shard_of(item: str, shards: int) -> int:
    """The shard an item belongs to: a hash of its id, so that adding an item moves no other."""
    return int.from_bytes(hashlib.sha256(item.encode()).digest()[:8], "big") % shards


def shard_files(path: Path, shards: int) -> list[Path]:
    """`X.jsonl` itself, or with more than one shard `X/000.jsonl`, `X/001.jsonl`, …"""
    if shards == 1:
        return [path]
    return [path.with_suffix("") / f"{number:03d}{path.suffix}" for number in range(shards)]
