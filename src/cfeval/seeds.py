"""Seeds: every draw follows from the study's one seed, the item and the purpose."""

import hashlib


def derive(seed: int, *parts: str | int) -> int:
    """A seed in [0, 2³¹) for one purpose, independent of every other and of the order of the work."""
    text = "\x1f".join(str(part) for part in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
