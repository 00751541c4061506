"""The sides of a comparison: the files of a revision, in git and in DVC's cache, or those that lie in the folder.

A side has one root of results: `results`, or `results/NAME` of a study with a name.
"""

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from cfeval.core.errors import InputError, nearest
from cfeval.core.folder import EVALUATIONS, PARAMS, RESULTS

# What DVC calls the working folder in the place of a revision.
WORKSPACE = "workspace"
# The study without a name.
DEFAULT = "default"
# A revision and a name; git allows no colon in the names of branches and tags.
_REVISION_AND_NAME = re.compile(r"(?P<revision>.+):(?P<name>[\w.-]+)")


class NotAtHandError(InputError):
    """Content that a side names but that is not here."""


class Side(Protocol):
    """Files by their paths relative to the project's folder."""

    name: str
    results: str
    """The root of the results."""

    def at(self, place: str) -> str:
        """The path of a place in the results, such as `edct/scores`."""
        return f"{self.results}/{place}"

    def parameters(self) -> str:
        """The path of what the results were made by."""
        return str(PARAMS) if self.results == RESULTS else self.at(str(PARAMS))

    def folders(self, folder: str) -> list[str]:
        """The paths of the folders in a folder, in order; none where there is no such folder."""
        return self.entries(folder)[1]

    def files(self, folder: str) -> list[str]:
        """The paths of all files beneath a folder, in order; none where there is no such folder."""

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        """The paths of the files and of the folders in a folder, in order; none where there is no such folder."""

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a text file; none where there is no such file. NotAtHandError where its content is not here."""

    def content_hash(self, path: str) -> str:
        """A hash of a file: files with equal marks need not be read."""

    def dvc_hash(self, folder: str) -> str:
        """The hash under which DVC knows a folder; empty where it lies here and may have been changed."""


def same(before: Side, after: Side, place: str) -> bool:
    """Whether DVC knows a folder of results by the same hash on both sides: nothing in it need be read, or be here."""
    return before.dvc_hash(before.at(place)) == after.dvc_hash(after.at(place)) != ""


def project() -> Path:
    """The project's folder: the one of DVC's that this process works in; InputError where there is none."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    try:
        return Path(Repo.find_root())
    except NotDvcRepoError:
        raise InputError(f"{Path.cwd()}: no project of DVC's; go to the study's folder, where .dvc lies") from None


class WorkingFolder(Side):
    """What lies in the project's folder now."""

    def __init__(self, root: Path, results: str = RESULTS) -> None:
        self._root, self.results = root, results
        self.name = f"{_prefix(results)}the working folder"

    def files(self, folder: str) -> list[str]:
        """See `Side`."""
        paths = (self._root / folder).rglob("*")
        return sorted(path.relative_to(self._root).as_posix() for path in paths if path.is_file())

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        """See `Side`."""
        if not (self._root / folder).is_dir():
            return [], []
        files, folders = list[str](), list[str]()
        with os.scandir(self._root / folder) as entries:
            for entry in entries:
                if entry.is_dir() or entry.is_file():
                    (folders if entry.is_dir() else files).append(f"{folder}/{entry.name}")
        return sorted(files), sorted(folders)

    def lines(self, path: str) -> Iterator[str]:
        """See `Side`."""
        file = self._root / path
        if file.is_file():
            with file.open(encoding="utf-8", newline="\n") as stream:
                yield from stream

    def content_hash(self, path: str) -> str:
        """See `Side`."""
        with (self._root / path).open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

    def dvc_hash(self, folder: str) -> str:  # noqa: ARG002
        """See `Side`."""
        return ""


class Revision(Side):
    """The files of a commit or experiment; nothing is checked out.

    Raises:
        InputError: there is no such revision.
    """

    def __init__(self, root: Path, revision: str, results: str = RESULTS) -> None:
        from dvc.api import DVCFileSystem
        from dvc.scm import SCMError

        self._system: Any = DVCFileSystem(repo=str(root), rev=revision)
        try:
            commit = str(self._system.repo.get_rev())[:7]
        except SCMError:
            raise InputError(
                f"no revision '{revision}'; name a commit, branch, tag or experiment (`git log`, `dvc exp list`)"
            ) from None
        self.results = results
        self.name = _prefix(results) + (revision if revision.startswith(commit) else f"{revision} ({commit})")

    def files(self, folder: str) -> list[str]:
        """See `Side`."""
        with self._reading(folder):
            return sorted(path.lstrip("/") for path in self._system.find(folder))

    def entries(self, folder: str) -> tuple[list[str], list[str]]:
        """See `Side`."""
        with self._reading(folder):
            entries = self._system.ls(folder, detail=True) if self._info(folder) else []
        by_type: dict[str, list[str]] = {"file": [], "directory": []}  # what DVC calls them
        for entry in entries:
            by_type.get(entry["type"], []).append(entry["name"].lstrip("/"))
        return sorted(by_type["file"]), sorted(by_type["directory"])

    def lines(self, path: str) -> Iterator[str]:
        """See `Side`."""
        if not self._info(path):
            return
        with (
            self._reading(path),
            self._system.open(path, "rb") as stream,
            io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as text,
        ):
            yield from text

    def content_hash(self, path: str) -> str:
        """See `Side`."""
        if sha := self.dvc_hash(path):
            return sha
        digest = hashlib.md5(usedforsecurity=False)
        for line in self.lines(path):
            digest.update(line.encode())
        return digest.hexdigest()

    def dvc_hash(self, folder: str) -> str:
        """See `Side`."""
        return str(self._info(folder).get("dvc_info", {}).get("md5") or "")

    def _info(self, path: str) -> Any:
        """What DVC knows of a file or folder; nothing where there is none."""
        with self._reading(path):
            try:
                return self._system.info(path)
            except FileNotFoundError:
                return {}

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Says how to bring content that neither DVC's cache nor its remote holds."""
        from dvc.exceptions import DvcException
        from dvc_data.index.index import DataIndexDirError

        try:
            yield
        except (FileNotFoundError, DvcException, DataIndexDirError):
            raise NotAtHandError(
                f"{path} of {self.name} is neither in DVC's cache nor in a remote: where it was made, `dvc push "
                "--all-commits` (an experiment: `dvc exp push origin NAME`); here, `dvc fetch --all-commits` (`dvc exp "
                "pull origin NAME`)"
            ) from None


def _prefix(results: str) -> str:
    """What the name of a side says of a study with a name."""
    return "" if results == RESULTS else f"{results.removeprefix(f'{RESULTS}/')} in "


def open_side(root: Path, word: str) -> Side:
    """A side: REVISION (`workspace` is the working folder), NAME (a folder `results/NAME` there), or REVISION:NAME.

    Raises:
        InputError: there is no such side, or the word is both a revision and a name.
    """
    if word == WORKSPACE:
        return WorkingFolder(root)
    if parts := _REVISION_AND_NAME.fullmatch(word):
        return _exact(root, parts["revision"], parts["name"])
    names = named(root)
    if word not in (DEFAULT, *names):
        try:
            return Revision(root, word)
        except InputError as error:
            raise InputError(f"{error}; names of results here: {', '.join(names) or 'none'}") from None
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
    folders = (path for study in EVALUATIONS for path in (root / RESULTS).glob(f"*/{study}") if path.is_dir())
    return sorted({path.parent.name for path in folders})


def _exact(root: Path, revision: str, name: str) -> Side:
    if revision != WORKSPACE:
        return Revision(root, revision, _root(name))
    names = [DEFAULT, *named(root)]
    if name not in names:
        raise InputError(f"no results named '{name}' in the working folder; {nearest(name, names)}")
    return WorkingFolder(root, _root(name))


def _root(name: str) -> str:
    return RESULTS if name == DEFAULT else f"{RESULTS}/{name}"
