"""Which examples are held out: all that share an image, whole or edited, stand on one side."""

import hashlib
from collections.abc import Iterable


def families(pictures: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The family of each picture, named by the least hash in it.

    Args:
        pictures: pairs of hashes that belong together: an image and what was made of it.
    """
    parent: dict[str, str] = {}

    def root(picture: str) -> str:
        while parent.setdefault(picture, picture) != picture:
            picture = parent[picture]
        return picture

    for one, other in pictures:
        least, most = sorted((root(one), root(other)))
        parent[most] = least
    return {picture: root(picture) for picture in parent}


def held_out(family: str, share: float, seed: int) -> bool:
    """Whether a family is held out: a hash of its name, so that a family more moves no other.

    Args:
        share: of the families, in [0, 1), on average.
    """
    digest = hashlib.sha256(f"{seed}\x1f{family}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
