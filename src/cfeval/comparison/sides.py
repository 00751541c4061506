"""The sides of a comparison: the files of a revision, in git and in DVC's cache, or those that lie in the folder."""

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from cfeval.errors import InputError

WORKSPACE = "workspace"
"""What DVC calls the working folder in the place of a revision."""


class NotAtHandError(InputError):
    """Content that a side names but that is not here."""


class Side(Protocol):
    """Files by their paths relative to the project's folder."""

    name: str

    def files(self, folder: str) -> list[str]:
        """The paths of all files beneath a folder, in order; none where there is no such folder."""

    def folders(self, folder: str) -> list[str]:
        """The paths of the folders in a folder, in order; none where there is no such folder."""

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a text file; none where there is no such file. NotAtHandError where its content is not here."""

    def mark(self, path: str) -> str:
        """A hash of a file: files with equal marks need not be read."""

    def seal(self, folder: str) -> str:
        """The hash under which DVC knows a folder; empty where it lies here and may have been changed."""


def open_side(root: Path, revision: str) -> Side:
    """A revision: a commit, branch, tag or experiment; `workspace` is the working folder.

    Raises:
        InputError: no such revision, or the folder is no project.
    """
    return WorkingFolder(root) if revision == WORKSPACE else _revision(root, revision)


def same(before: Side, after: Side, folder: str) -> bool:
    """Whether DVC knows a folder by the same hash on both sides, so that nothing in it need be read, or be here."""
    return before.seal(folder) == after.seal(folder) != ""


def project() -> Path:
    """The project's folder: the one of DVC's that this process works in; InputError where there is none."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    try:
        return Path(Repo.find_root())
    except NotDvcRepoError:
        raise InputError(f"{Path.cwd()}: no project of DVC's; go to the study's folder, where .dvc lies") from None


class WorkingFolder:
    """What lies in the project's folder now."""

    name = "the working folder"

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self, folder: str) -> list[str]:
        """See `Side`."""
        found = (path for path in (self._root / folder).rglob("*") if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def folders(self, folder: str) -> list[str]:
        """See `Side`."""
        found = (path for path in (self._root / folder).glob("*") if path.is_dir())
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def lines(self, path: str) -> Iterator[str]:
        """See `Side`."""
        file = self._root / path
        if file.is_file():
            with file.open(encoding="utf-8", newline="\n") as stream:
                yield from stream

    def mark(self, path: str) -> str:
        """See `Side`."""
        with (self._root / path).open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

    def seal(self, folder: str) -> str:  # noqa: ARG002
        """See `Side`."""
        return ""


class Revision:
    """The files of a commit or experiment; nothing is checked out."""

    def __init__(self, name: str, system: Any) -> None:
        self.name, self._system = name, system

    def files(self, folder: str) -> list[str]:
        """See `Side`."""
        with self._reading(folder):
            return sorted(path.lstrip("/") for path in self._system.find(folder))

    def folders(self, folder: str) -> list[str]:
        """See `Side`."""
        with self._reading(folder):
            found = self._system.ls(folder, detail=True) if self._info(folder) else []
        return sorted(entry["name"].lstrip("/") for entry in found if entry["type"] == "directory")

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

    def mark(self, path: str) -> str:
        """See `Side`."""
        return self.seal(path) or _digest(self.lines(path))

    def seal(self, folder: str) -> str:
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


def _revision(root: Path, revision: str) -> Revision:
    from dvc.api import DVCFileSystem
    from dvc.scm import SCMError

    system: Any = DVCFileSystem(repo=str(root), rev=revision)
    try:
        commit = str(system.repo.get_rev())[:7]
    except SCMError:
        raise InputError(
            f"no revision '{revision}'; name a commit, branch, tag or experiment (`git log`, `dvc exp list`)"
        ) from None
    return Revision(revision if revision.startswith(commit) else f"{revision} ({commit})", system)


def _digest(lines: Iterator[str]) -> str:
    found = hashlib.md5(usedforsecurity=False)
    for line in lines:
        found.update(line.encode())
    return found.hexdigest()


Parse = Callable[[Iterator[str]], Iterator[dict[str, Any]]]
"""How the rows of a file are read from its lines."""
