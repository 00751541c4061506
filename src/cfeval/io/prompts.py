"""Prompt templates: Markdown files with named placeholders, `{question}`."""

import re
from importlib import resources
from pathlib import Path

from cfeval.errors import InputError

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def load_prompt(name: str, *, protocol: str, study: str = "edct", folder: Path | None = None) -> str:
    """The template `name` of a protocol, from the package or from a folder of the user's own.

    Raises:
        InputError: there is no such template.
    """
    shipped = resources.files("cfeval") / "prompts" / study / protocol
    source = folder if folder is not None else shipped
    try:
        return (source / f"{name}.md").read_text(encoding="utf-8").strip()
    except OSError:
        where = folder if folder is not None else f"the protocol {protocol}"
        raise InputError(f"no prompt {name}.md in {where}") from None


def fill(template: str, **values: str) -> str:
    """Put values into a template in one pass, so that braces inside a value are left alone.

    Raises:
        InputError: the template names a placeholder that has no value.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise InputError(f"a prompt names {{{match[1]}}}; it may name {', '.join(sorted(values))}")
        return values[match[1]]

    return _PLACEHOLDER.sub(value, template)
