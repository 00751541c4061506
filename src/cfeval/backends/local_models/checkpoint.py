"""A checkpoint: a folder on this machine or a name on the Hugging Face hub, found and looked through, never loaded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval.backends.local_models import hub
from cfeval.backends.local_models.weights import json_fault, read_json, weight_files
from cfeval.errors import BackendError


def _no_parts(content: dict[str, Any]) -> Sequence[str]:
    del content
    return ()


@dataclass(frozen=True)
class Checkpoint:
    """A model as the user names it, and what makes its folder whole. BackendError, one line, where it is not."""

    model: str
    """A folder, or a name on the hub."""
    revision: str
    """On the hub; empty: the main branch."""
    index: str
    """The JSON file that says what it is."""
    fault: Callable[[Path], str]
    """What its folder lacks beside: one line, or empty."""
    parts: Callable[[dict[str, Any]], Sequence[str]] = _no_parts
    """The names of its folders, from the content of the index; none: it lies in no folder."""

    def own_folder(self) -> Path | None:
        """The user's own folder, there or not; None for what can only be a name on the hub."""
        folder = Path(self.model).expanduser()
        return None if not folder.is_dir() and hub.is_name(self.model) else folder

    def name(self, folder: Path | None = None) -> str:
        """What records and errors call it: its folder's name, or its name on the hub and the commit; never a path."""
        if own := self.own_folder():
            return own.resolve().name
        return f"{self.model}@{folder.name}" if folder else self.model

    def about(self, folder: Path | None) -> str:
        """What can be said about what `here` found."""
        if folder is None:
            return f"model '{self.name()}' is not on this machine; the first job downloads it from the hub"
        return f"model '{self.name(folder)}' is complete"

    def content(self) -> dict[str, Any]:
        """What the index says; of a model on the hub only that file is fetched."""
        folder = self._folder() or hub.fetched(self.model, self.revision, hub.file(self.index))
        self._check(folder, json_fault(folder / self.index))
        return read_json(folder / self.index)

    def whole(self) -> Path:
        """Its folder, all there; one on the hub is fetched into the cache."""
        folder = self._folder() or hub.fetched(self.model, self.revision, self._download)
        self._check(folder, self._lacking(folder))
        return folder

    def here(self) -> Path | None:
        """Its folder, all there, without fetching weights; None for one that the hub has and the cache lacks."""
        if self.own_folder():
            return self.whole()
        copy = hub.cached(self.model, self.revision, self._download)
        if copy and not self._lacking(copy):
            return copy
        hub.fetched(self.model, self.revision, hub.file(self.index), cache=False)
        return None

    def files(self) -> list[Path]:
        """The files that results depend on where it is the user's own folder, with those that are missing, sorted.

        All that is not hidden counts: which files a library reads is the library's to decide.
        """
        folder = self.own_folder()
        if folder is None:
            return []
        parts = [folder / part for part in self.parts(read_json(folder / self.index))] or [folder]
        found = {file for part in parts for file in part.rglob("*") if _seen(file.relative_to(part)) and file.is_file()}
        return sorted({folder / self.index, *found, *(file for part in parts for file in weight_files(part))})

    def _folder(self) -> Path | None:
        folder = self.own_folder()
        if folder and not folder.is_dir():
            raise BackendError(
                f"model '{self.model}': no such folder here, and no name that the hub could have (owner/name); "
                "check the path"
            )
        if folder and self.revision:
            raise BackendError(f"model '{self.name()}' is a folder here, and a folder has no revision; leave it out")
        return folder

    def _download(self, **how: Any) -> str:
        """A `hub.Download` of all that is read: the index first, which names the parts."""
        index = Path(hub.file(self.index)(**how))
        return hub.checkpoint(self.parts(read_json(index)))(**how)

    def _lacking(self, folder: Path) -> str:
        return json_fault(folder / self.index) or self.fault(folder)

    def _check(self, folder: Path, fault: str) -> None:
        if fault:
            raise BackendError(f"model '{self.name(folder)}' is incomplete: {fault}; copy or download it again")


def _seen(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)
