"""The pages that the site is built from: docs/, of which the code writes a part, and some files beside it."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.docs import columns, editors, reference

GENERATED: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": reference.commands,
    "reference/parameters.md": reference.parameters,
    "reference/plugins.md": reference.plugins,
    "reference/editors.md": editors.page,
    "reference/python.md": reference.python,
    "reference/interfaces.md": reference.interfaces,
}
"""Pages of docs/ of which every word is generated; they are kept in git, so that links to them lead somewhere."""
TAKEN = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Files of the repository that are pages too."""
TOOLTIPS = "abbreviations.md"
"""The glossary's terms as tooltips of every page; it lies beside the pages."""
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_TERM = re.compile(r"^\| \*\*(.+?)\*\* \| (.+?) \|", re.MULTILINE)


def generated(root: Path) -> Mapping[str, str]:
    """What the code writes of docs/, as it is now: whole pages, and pages that end in the columns of tables."""
    docs = root / "docs"
    ending = {
        place: columns.with_columns((docs / place).read_text(encoding="utf-8"), tables)
        for place, tables in columns.PAGES.items()
    }
    return {**{place: page() for place, page in GENERATED.items()}, **ending}


def renew(root: Path) -> None:
    """Write what is generated into docs/."""
    for place, text in generated(root).items():
        _put(root / "docs" / place, text)


def write(root: Path, folder: Path) -> None:
    """Write all pages, the images that they show and the tooltips.

    Raises:
        FileNotFoundError: a page links to a file that is not there.
    """
    pages = {path.relative_to(root).as_posix(): path for path in (root / "docs").rglob("*.md")}
    places = {name: name.removeprefix("docs/") for name in pages} | TAKEN
    for name, place in places.items():
        text = (root / name).read_text(encoding="utf-8")
        _put(folder / place, _moved(text, root, name, places, folder))
    for path in (root / "docs").rglob("*.ipynb"):
        place = path.relative_to(root / "docs").with_suffix(".md")
        _put(folder / place, notebook(json.loads(path.read_text(encoding="utf-8"))))
    shutil.copytree(root / "docs" / "images", folder / "images", dirs_exist_ok=True)
    _put(folder.parent / TOOLTIPS, tooltips((root / "docs/reference/glossary.md").read_text(encoding="utf-8")))


def notebook(content: Mapping[str, Any]) -> str:
    """A page of an executed notebook: its texts, its code and what the code printed."""
    parts = []
    for cell in content["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            printed = "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
            parts += [f"```text\n{printed.rstrip()}\n```"] if printed else []
    return "\n\n".join(parts) + "\n"


def tooltips(glossary: str) -> str:
    """The glossary's terms of several words or of capitals, in the form that makes them tooltips."""
    terms = {term: meaning for term, meaning in _TERM.findall(glossary) if " " in term or term.isupper()}
    plain = {term: re.sub(r"[`*]", "", re.sub(_LINK, r"\2", meaning)) for term, meaning in terms.items()}
    both = plain | {f"{term}s": meaning for term, meaning in plain.items() if not term.endswith("s")}
    return "".join(f"*[{term}]: {meaning}\n" for term, meaning in both.items())


def _moved(text: str, root: Path, name: str, places: Mapping[str, str], folder: Path) -> str:
    """A page with links that lead from its place on the site to the places of other pages and images."""
    here, there = Path(places[name]).parent, Path(name).parent

    def link(found: re.Match[str]) -> str:
        image, label, target, anchor = found.group(1), found.group(2), found.group(3), found.group(4) or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return found.group(0)
        named = os.path.normpath(there / target)
        place = places.get(named) or re.sub(r"\.ipynb$", ".md", named.removeprefix("docs/"))
        if not (root / named).exists():
            raise FileNotFoundError(f"{name} links to {target}, which is not there")
        if image and not named.startswith("docs/"):
            place = f"images/{Path(named).name}"
            (folder / "images").mkdir(parents=True, exist_ok=True)
            shutil.copy(root / named, folder / place)
        elif named not in places and not named.startswith("docs/"):
            return label  # a file of the repository, which the site does not hold
        return f"{image}[{label}]({os.path.relpath(place, here)}{anchor})"

    return re.sub(_LINK, link, text)


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
