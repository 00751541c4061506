"""Which images of a folder can be used, what is left out and why, and that none lies outside of it.

`init`, `doctor`, `estimate` and the steps that file images look at a folder by these functions alone.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import PIL.Image

from cfeval.core.errors import InputError
from cfeval.core.images import NO_FORMAT, check_image

# Endings of still images; case does not count.
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".mpo"),
    *(".avif", ".heic", ".heif", ".hif", ".jp2", ".jxl"),  # of some, Pillow may have no decoder
)
# Windows puts these into folders; they are never reported.
_SYSTEM = {"thumbs.db", "ehthumbs.db", "desktop.ini"}
# Folders of tools: what lies in them is none of the user's images.
_TOOLS = {".git", ".dvc", ".cfeval", ".snakemake", ".venv", ".ipynb_checkpoints"}
# Names that are listed one by one, of each kind.
_SHOWN = 5
Kind = Literal["unreadable", "without a decoder", "unusable", "in subfolders", "hidden", "other"]


@dataclass(frozen=True)
class LeftOut:
    """A file, or a row of a table, that is not used.

    Attributes:
        name: the file's path in its folder, or where the row stands.
        kind: what kind of trouble it is.
        why: the reason, in a few words; empty where the kind says it.
    """

    name: str
    kind: Kind
    why: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether somebody may have meant it to be used: `strict` then refuses."""
        return self.kind in ("unreadable", "without a decoder")

    def __str__(self) -> str:
        """The name with the reason."""
        return f"{self.name} ({self.why})" if self.why else self.name


@dataclass(frozen=True)
class Scan:
    """The images of a folder that can be used, in the order of their names, and what is left out."""

    images: list[Path] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def scan(folder: Path, recursive: bool = False, allow_outside: bool = False) -> Scan:
    """The usable images of a folder: every one is opened and decoded.

    Raises:
        InputError: like `list_images`.
    """
    listed = list_images(folder, recursive, allow_outside)
    readable, unreadable = read_faults(listed.images)
    named = [left_out(path.relative_to(folder), fault) for path, fault in unreadable]
    return Scan(readable, [*named, *listed.left_out])


def list_images(folder: Path, recursive: bool = False, allow_outside: bool = False) -> Scan:
    """The image files of a folder by their names alone; none is opened.

    Links to folders are not followed.

    Raises:
        InputError: no such folder, it cannot be read, or an image in it is a link to a file outside.
    """
    images: list[Path] = []
    others: list[LeftOut] = []
    for path in _files(folder, others):
        name, suffix = path.relative_to(folder), path.suffix.lower()
        if any(part.startswith(".") for part in name.parts):
            others += [LeftOut(str(name), "hidden")] * (suffix in SUFFIXES)
        elif suffix in SUFFIXES and len(name.parts) > 1 and not recursive:
            others.append(LeftOut(str(name), "in subfolders"))
        elif suffix in SUFFIXES and (fault := not_a_file(path)):
            others.append(LeftOut(str(name), "unreadable", fault))
        elif suffix in SUFFIXES:
            images.append(path if allow_outside else inside(path, [folder], str(path)))
        elif path.is_dir():
            others.append(LeftOut(str(name), "other", "a link to a folder"))
        elif path.name.lower() not in _SYSTEM:
            others.append(LeftOut(str(name), "other"))
    return Scan(images, others)


def _files(folder: Path, others: list[LeftOut]) -> Iterator[Path]:
    """All files below a folder, links to folders, and folders named like images, in the order of their paths.

    Subfolders that cannot be read are added to `others`.
    """

    def note(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise InputError(f"{folder}: cannot read the folder ({error.strerror})")
        others.append(LeftOut(str(Path(error.filename).relative_to(folder)), "unreadable", str(error.strerror)))

    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    for at, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if name not in _TOOLS)
        named_so = [
            name
            for name in folders
            if not name.startswith(".") and (Path(name).suffix.lower() in SUFFIXES or Path(at, name).is_symlink())
        ]
        yield from (Path(at, name) for name in sorted([*names, *named_so]))


def not_a_file(path: Path) -> str:
    """Why a path cannot be an image file, without opening it; empty where it can."""
    try:
        if path.is_file():
            return ""
        if path.is_dir():
            return "a folder"
        if path.exists():
            return "not a file"  # a pipe, which would be waited for
        return "a link to nothing" if path.is_symlink() else "no such file"
    except OSError as error:  # such as of a name that is too long
        return str(error.strerror)


def read_faults(paths: Sequence[Path]) -> tuple[list[Path], list[tuple[Path, str]]]:
    """The images that can be read, in order, and the others, each with what is wrong with it."""
    with ThreadPoolExecutor() as pool:
        faults = list(pool.map(read_fault, paths))
    readable = [path for path, fault in zip(paths, faults, strict=True) if not fault]
    return readable, [(path, fault) for path, fault in zip(paths, faults, strict=True) if fault]


def read_fault(path: Path) -> str:
    """What is wrong with an image file, in a few words; empty where it can be read. It is decoded, and small."""
    if fault := not_a_file(path):
        return fault
    try:
        state = path.stat()
    except OSError as error:
        return str(error.strerror)
    return _read_fault(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _read_fault(path: Path, size: int, mtime_ns: int) -> str:
    """Like `read_fault`: a file that did not change is read once in a process."""
    del size, mtime_ns
    try:
        check_image(path)
    except InputError as error:
        return short_fault(str(error), path)
    return ""


def short_fault(message: str, path: Path) -> str:
    """What an error says of an image file, without its path, details in brackets, and what to do."""
    return message.removeprefix(f"{path}: ").partition(" (")[0].partition("; ")[0].partition(": ")[0]


def left_out(name: object, fault: str) -> LeftOut:
    """A file that cannot be read; one in a format without a decoder here is of a kind of its own."""
    suffix = Path(str(name)).suffix.lower()
    formats = PIL.Image.registered_extensions()
    if fault == NO_FORMAT and formats.get(suffix) not in PIL.Image.OPEN:
        return LeftOut(str(name), "without a decoder")
    return LeftOut(str(name), "unreadable", fault)


def summary(used: int, others: Iterable[LeftOut], what: str = "image") -> str:
    """One line: how many are used, and which are left out and why."""
    rest = reasons(others)
    joint = ", " if re.match(r"[\d,]+ unreadable:", rest) else "; "
    return f"{used:,} {what}{'s' * (used != 1)}{joint if rest else ''}{rest}"


def reasons(others: Iterable[LeftOut]) -> str:
    """What is left out and why, on one line; empty where nothing is."""
    by: dict[str, list[LeftOut]] = {}
    for entry in sorted(others, key=lambda entry: (get_args(Kind).index(entry.kind), entry.name)):
        kind = Path(entry.name).suffix[1:].upper() if entry.kind == "without a decoder" else entry.kind
        by.setdefault(kind, []).append(entry)
    return "; ".join(_reason(kind, entries) for kind, entries in by.items())


def _reason(kind: str, entries: Sequence[LeftOut]) -> str:
    number = f"{len(entries):,}"
    if kind == "unreadable":
        return f"{number} unreadable: {_names(entries)}"
    if kind == "in subfolders":
        return f"{number} in subfolders left out (--recursive, or recursive: true, takes them)"
    if kind == "other":
        return f"{number} other file{'s' * (len(entries) > 1)} left out: {_names(entries)}"
    why = " (no decoder here; convert them to JPEG or PNG)" if kind.isupper() else ""
    return f"{number} {kind} left out: {_names(entries)}{why}"


def _names(entries: Sequence[LeftOut]) -> str:
    more = f" and {len(entries) - _SHOWN:,} more" if len(entries) > _SHOWN else ""
    return ", ".join(map(str, entries[:_SHOWN])) + more


def inside(path: Path, folders: Sequence[Path], place: str) -> Path:
    """A path itself, if what it names lies in one of the folders, links followed.

    Raises:
        InputError: it lies outside; one line that begins with `place`.
    """
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        return path
    leads = "is a link that leads" if path.is_symlink() else "leads"
    raise InputError(
        f"{place}: {str(path)[:200]!r} {leads} out of {' and '.join(map(str, folders))}, and what lies there "
        "could be sent to a provider; copy the image into the folder, or set allow_outside: true (init: "
        "--allow-outside)"
    )
