"""Ids of items: names that are safe as file names on any system, and how they are made of other names.

Letters, marks and digits of any script stay, in Unicode's composed form (NFC). What else stands in a name becomes `-`;
where that loses what may tell names apart, a hash of the whole name is put behind it.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

# Bytes of an id in UTF-8, at most: file names have 255, and hold more than the id.
LONGEST = 100
RULE = f"use 1 to {LONGEST} letters, digits, '.', '_', '-' (bytes in UTF-8), a letter or digit first"
_ASCII = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MARKS = "._-"
# Letters and marks that show nothing: fillers of Hangul, joiners, selectors of variants.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def check_id(text: str) -> str:
    """An id itself; ValueError where it is not safe as a file name."""
    safe = _ASCII.fullmatch(text) or (not text.isascii() and _plain(text, _MARKS, "")[0] == composed(text))
    if not safe or len(text.encode()) > LONGEST:
        raise ValueError(f"id {text if len(text) <= 40 else text[:40] + '…'!r} cannot be a file name; {RULE}")
    return text


def composed(text: str) -> str:
    """A text in Unicode's composed form (NFC): systems write letters such as `é` in different ways."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def ids_of(
    names: Mapping[str, str], longest: int, other: str, marks: str = _MARKS, ends: str = "", hashed: int | None = None
) -> dict[str, str]:
    """An id for each of some names; one depends on other names only where both would get the same.

    Case does not tell ids apart, as some file systems know none. A hash stands behind an id that is shortened, that
    would be another's too, or that lacks a character outside ASCII.

    Args:
        names: what the ids are made of, by what tells the items apart, such as the paths of their files.
        longest: bytes of an id without a hash.
        other: the id of a name of which nothing stays.
        marks: signs that stay, beside letters and digits.
        ends: characters that are taken off the end.
        hashed: bytes of an id before its hash of nine; None: `longest`.
    """
    plain = {key: _plain(name, marks, ends) for key, name in names.items()}
    often = Counter(_folded(text or other) for text, lossy in plain.values() if not lossy)
    ids: dict[str, str] = {}
    for key, (text, lossy) in plain.items():
        item = text or other
        if lossy or often[_folded(item)] > 1 or len(item.encode()) > longest:
            digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            shortened = item.encode()[: longest if hashed is None else hashed].decode("utf-8", "ignore")
            item = f"{shortened}-{digest}"
        ids[key] = item
    return ids


def _plain(name: str, marks: str, ends: str) -> tuple[str, bool]:
    """A name with `-` for what cannot stand in an id, and whether some of that was outside ASCII."""
    kept, lossy, after_letter = "", False, False
    for character in composed(name):
        kind = "" if _INVISIBLE.match(character) else unicodedata.category(character)[0]
        is_letter = kind in ("L", "N") or (kind == "M" and after_letter)
        if is_letter or character in marks:
            kept += character
        else:
            lossy |= not character.isascii()
            kept += "\0"
        after_letter = is_letter
    text = re.sub("\0+", "-", kept).lstrip(_MARKS).rstrip(ends)
    return text, lossy


def _folded(text: str) -> str:
    """A text as a file system compares it that knows no case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
