"""Errors of other libraries, told in one line."""

from pathlib import Path


def first_line(error: BaseException, folder: Path | None = None, name: str = "") -> str:
    """The first line of an error's text, at most 200 characters, in which a folder goes by its name."""
    text = str(error).replace(str(folder), name) if folder else str(error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= 200 else f"{line[:199]}…"
