"""Pages: one HTML file each, with its style and its script inside and nothing from elsewhere."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def rendered(template: str, styles: Sequence[str], scripts: Sequence[str], **content: object) -> str:
    """A page; what the template shows is escaped, and the same arguments give the same text.

    Args:
        template: its file in `templates/`, which also gets `style` and `script` and, for its content security policy,
            their hashes `style_hash` and `script_hash`.
        styles: the style sheets' files, in order.
        scripts: the scripts' files, in order.
        content: what the template shows.
    """
    style, code = "".join(map(_text, styles)), "".join(map(_text, scripts))
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(code),
            script_hash=_hash(code),
            **content,
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("cfeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _text(name: str) -> str:
    return (resources.files("cfeval.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a content security policy names what may run."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
