"""The tables of providers in README and docs, from the one table in the code: `python -m bench.docs.providers`."""

import re
from collections.abc import Iterable, Sequence

from bench.docs import facts
from cfeval.core.files import write_text
from cfeval.inference.remote.provider_table import IN_PROCESS, PROVIDERS, way

BEGIN, END = "<!-- made by `python -m bench.docs.providers` -->", "<!-- until here -->"
FIRST = (
    *("openrouter", "openai", "anthropic", "gemini", "huggingface"),
    *("ollama", "lmstudio", "vllm", "transformers", "other"),
)
"""The rows of the README."""
_BLOCK = re.compile(rf"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(heading), f"|{'---|' * len(heading)}", *map(_row, rows)])


def short() -> str:
    """The table of the README."""
    return _table(("I use …", "I write …"), ((PROVIDERS[name].title, f"`{way(name)}`") for name in FIRST))


def whole() -> str:
    """The table of the docs: what is written, the key, the address, and what requests hold."""
    heading = ("I use …", "I write …", "key", "address", "seed", "schema", "edits images")
    return _table(heading, map(_cells, PROVIDERS))


def _cells(name: str) -> tuple[str, ...]:
    rules = PROVIDERS[name]
    yes = ("", "yes")
    plugin = rules.chat if rules.chat != "openai" else ""
    address = f"plugin `{plugin}`" if plugin else f"`{rules.base_url}`" if rules.base_url else "yours"
    address = address if rules.chat else "in this process" if name in IN_PROCESS else address
    key = f"`{rules.key_env}`" if rules.key_env else "none" if name != "litellm" else "the provider's"
    held = (yes[rules.seed], yes[rules.schema]) if rules.chat else ("", "")
    return rules.title, f"`{way(name)}`", key, address, *held, yes[bool(rules.edits)]


PAGES = {"README.md": short, "docs/guides/own-model.md": whole}
"""The pages that show a table of them, and which."""


def renewed(page: str, name: str) -> str:
    """A page with its table as it is now."""
    return _BLOCK.sub(lambda _: f"{BEGIN}\n\n{PAGES[name]()}\n\n{END}", page)


def main() -> None:
    """Write the tables."""
    for name in PAGES:
        path = facts.ROOT / name
        write_text(path, renewed(path.read_text(encoding="utf-8"), name))


if __name__ == "__main__":
    main()
