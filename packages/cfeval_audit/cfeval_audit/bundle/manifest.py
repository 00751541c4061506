"""The manifest of a bundle: a line for each other file, `SHA-256  path`, as `sha256sum --check` reads it."""

import hashlib
from collections.abc import Mapping

from cfeval.core.errors import InputError
from cfeval.core.vouching import is_inside

NAME = "manifest-sha256.txt"


def text_of(files: Mapping[str, str]) -> str:
    """The manifest of some files, their hashes by path."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(files.items()))


def read(text: str, place: str) -> dict[str, str]:
    """The hashes of a manifest by path.

    Raises:
        InputError: it is not as `text_of` writes it, or names a path outside the bundle.
    """
    lines = (line.partition("  ") for line in text.splitlines())
    files = {name: sha256 for sha256, _, name in lines}
    if text_of(files) != text or not all(is_inside(name) for name in files):
        raise InputError(f"{place}: not a manifest as cfeval writes it; take the bundle from where it came from again")
    return files


def head_of(text: str) -> str:
    """One hash that stands for all files of a bundle: that of its manifest."""
    return hashlib.sha256(text.encode()).hexdigest()
