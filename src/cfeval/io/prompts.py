"""Prompt templates: Markdown files with named placeholders, `{question}`."""

import hashlib
import re
from importlib import resources
from pathlib import Path

from cfeval.errors import InputError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def prompt_file(name: str, *, protocol: str, study: str = "edct", folder: Path | None = None) -> Path:
    """The file of the template `name` of a protocol, in the package or in a folder of the user's own."""
    shipped = Path(str(resources.files("cfeval"))) / "prompts" / study / protocol
    return (folder if folder is not None else shipped) / f"{name}.md"


def load_prompt(name: str, *, protocol: str, study: str = "edct", folder: Path | None = None) -> str:
    """The template `name` of a protocol, from the package or from a folder of the user's own.

    Raises:
        InputError: there is no such template, it is not text, or it is empty.
    """
    where = f"{name}.md in {folder if folder is not None else f'the protocol {protocol}'}"
    try:
        text = prompt_file(name, protocol=protocol, study=study, folder=folder).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise InputError(f"the prompt {where} is not UTF-8 text; save it as UTF-8") from None
    except OSError:
        raise InputError(f"no prompt {where}") from None
    if not text:
        raise InputError(f"the prompt {where} is empty; write it, or leave the folder out for the package's")
    return text


def fill(template: str, **values: str) -> str:
    """Put values into a template in one pass, so that braces inside a value are left alone.

    Raises:
        InputError: the template names a placeholder that has no value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            begins = " ".join(template[:40].split())
            allowed = ", ".join(sorted(values))
            raise InputError(f"the prompt that begins {begins!r} names {{{match[1]}}}; it may name {allowed}")
        return values[match[1]]

    return _PLACEHOLDER.sub(value, template)


def fill_marked(template: str, **values: str) -> str:
    """Like `fill`, with one value more: `{mark}`, eight hexadecimal digits that occur in none of the values.

    A template that ends its delimiters in {mark} holds texts that no text can break out of. The same values have the
    same mark.
    """
    texts = [value.lower() for value in values.values()]
    mark = _digest("\x1f".join(texts))
    while any(mark in text for text in texts):
        mark = _digest(mark)
    return fill(template, mark=mark, **values)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
