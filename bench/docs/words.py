"""How many words of the documentation are written by hand, page by page: `python -m bench.docs.words`.

Prose and hand-written tables count; code, shown output, tables that are generated and link targets do not. Neither do
README, the reference (but its glossary) and the benchmarks.
"""

import re
from pathlib import Path

from bench import edits
from bench.docs import facts

LIMIT = 15_000
"""Words of all pages together."""
_MADE = rf"<!-- made by `python -m bench[\w.]*` -->.*?{re.escape(edits.END)}"
_BLOCK = re.compile(rf"^ *```.*?^ *```|{_MADE}", re.DOTALL | re.MULTILINE)


def counts(root: Path = facts.ROOT) -> dict[str, int]:
    """Words of every page that is written by hand."""
    names = sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))
    return {name: words((root / name).read_text(encoding="utf-8"), _tables(name, root)) for name in names if _own(name)}


def words(page: str, generated: frozenset[str] = frozenset()) -> int:
    """Words of a page, without its code and those of its lines that are generated; a word has a letter or digit."""
    lines = (line for line in re.sub(_BLOCK, "", page).splitlines() if line not in generated)
    text = re.sub(r"\]\([^)]*\)", "]", "\n".join(lines)).replace("|", " ")
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def _own(name: str) -> bool:
    reference = name.startswith("docs/reference/") and name != "docs/reference/glossary.md"
    return not reference and name != "docs/project/benchmarks.md"


def _tables(page: str, root: Path) -> frozenset[str]:
    files = (root / "results" / f"{table}.md" for table, where in facts.SHOWN.items() if where == page)
    return frozenset(line for file in files for line in file.read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Print the pages, the longest first, and their sum."""
    found = counts()
    for name, number in sorted(found.items(), key=lambda pair: -pair[1]):
        print(f"{number:7,} {name}")
    print(f"{sum(found.values()):7,} of at most {LIMIT:,}")


if __name__ == "__main__":
    main()
