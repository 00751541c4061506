"""What a user calls a side: a revision, the name of a study in this folder, or both."""

import re
from pathlib import Path

from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import RESULTS
from cfeval.study.outcomes import KINDS
from cfeval.study.revisions import Revision, Side, WorkingFolder

WORKSPACE = "workspace"
"""What DVC calls the working folder in the place of a revision."""
DEFAULT = "default"
"""The study without a name."""
_BOTH = re.compile(r"(?P<revision>.+):(?P<name>[\w.-]+)")
"""A revision and a name; git allows no colon in the names of branches and tags."""


def open_side(root: Path, word: str) -> Side:
    """A side: REVISION (`workspace` is the working folder), NAME (a folder `results/NAME` there), or REVISION:NAME.

    Raises:
        InputError: there is no such side, or the word is both a revision and a name.
    """
    if word == WORKSPACE:
        return WorkingFolder(root)
    if both := _BOTH.fullmatch(word):
        return _exact(root, both["revision"], both["name"])
    names = named(root)
    if word not in (DEFAULT, *names):
        return _revision(root, word, names)
    try:
        Revision(root, word)
    except InputError:
        return _exact(root, WORKSPACE, word)
    raise InputError(
        f"'{word}' is a revision and {_root(word)} of the working folder; say {word}:{DEFAULT} for the revision, "
        f"{WORKSPACE}:{word} for the folder"
    )


def named(root: Path) -> list[str]:
    """The names of the studies that have results in the working folder."""
    found = {path.parent for study in KINDS for path in (root / RESULTS).glob(f"*/{study}") if path.is_dir()}
    return sorted(path.name for path in found)


def _exact(root: Path, revision: str, name: str) -> Side:
    if revision != WORKSPACE:
        return Revision(root, revision, _root(name))
    names = [DEFAULT, *named(root)]
    if name not in names:
        raise InputError(f"no results named '{name}' in the working folder; {nearest(name, names)}")
    return WorkingFolder(root, _root(name))


def _revision(root: Path, word: str, names: list[str]) -> Side:
    try:
        return Revision(root, word)
    except InputError as error:
        raise InputError(f"{error}; names of results here: {', '.join(names) or 'none'}") from None


def _root(name: str) -> str:
    return RESULTS if name == DEFAULT else f"{RESULTS}/{name}"
