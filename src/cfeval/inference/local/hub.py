"""Checkpoints: a folder on this machine or a name on the Hugging Face hub, found and looked through, never loaded.

What is on the hub is fetched into its cache on this machine, and used from there. The hub is asked a question with a
short time limit first: its client repeats a download that fails for half a minute, but not a question. Where that is
not answered, a copy in the cache is as good.

Weights are safetensors, one file or those that an index names: are they whole, how large are they? Pickled ones, which
can hold code, are not read.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cfeval.core.errors import PluginError, as_output_error
from cfeval.inference.local.devices import Dtype
from cfeval.inference.local.libraries import first_line

# What is read where there is no index, whatever else is beside it.
_SINGLE = ("model.safetensors", "diffusion_pytorch_model.safetensors")
# Of a number, by the names that safetensors and torch have for its type.
_BYTES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "float32": 4, "bfloat16": 2, "float16": 2}


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is none, for which see `json_fault`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def json_fault(path: Path) -> str:
    """Why a file holds no JSON object: one line, or empty."""
    if not path.is_file():
        return f"{path.name} is missing"
    return "" if read_json(path) else f"{path.name} is not JSON, or empty"


def weight_files(folder: Path) -> list[Path]:
    """The files of the weights: those that an index names, there or not, or the single one."""
    if named := {name for index in _indexes(folder) for name in _named(index)}:
        return [folder / name for name in sorted(named)]
    single = [folder / name for name in _SINGLE if (folder / name).is_file()]
    return single or sorted(folder.glob("*.safetensors"))


def weights_fault(folder: Path) -> str:
    """What keeps the weights from being whole: one line, or empty."""
    files = weight_files(folder)
    faults = [*map(json_fault, _indexes(folder)), *map(safetensors_fault, files)]
    if not files:
        faults.append(
            "the weights (*.safetensors) are missing; in other formats (*.bin, *.gguf) they are not read, convert them"
        )
    return next(filter(None, faults), "")


def safetensors_fault(file: Path) -> str:
    """What keeps a file of weights from being whole: one line, or empty."""
    if not file.is_file():
        return f"{file.name} is missing, which the index names"
    try:
        _tensors(file)
    except (ValueError, TypeError, LookupError, AttributeError):
        return f"{file.name} is cut short or no safetensors file"
    return ""


def weights_size(folder: Path, dtype: Dtype) -> int:
    """Bytes that whole weights take in memory when loaded as `dtype`; `auto` keeps the types they are stored in."""
    sizes = [entry for file in weight_files(folder) for entry in _tensors(file)]
    if dtype == "auto":
        return sum(size for _, size in sizes)
    return sum(size * _BYTES[dtype] // _BYTES[stored] if stored in _BYTES else size for stored, size in sizes)


def _indexes(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors.index.json"))


def _named(index: Path) -> set[str]:
    weight_map = read_json(index).get("weight_map")
    return {str(name) for name in weight_map.values()} if isinstance(weight_map, dict) else set()


def _tensors(file: Path) -> list[tuple[str, int]]:
    """Type and bytes of every tensor, as the header says; ValueError or the like where it does not suit the file.

    A file may be cut short, or a pointer of Git LFS, whose first bytes are no sensible length of a header.
    """
    length = file.stat().st_size
    with file.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
        entries = json.loads(stream.read(header) if header < length else b"")
    tensors = [entry for name, entry in entries.items() if name != "__metadata__"]
    if length != 8 + header + max((entry["data_offsets"][1] for entry in tensors), default=0):
        raise ValueError("the header speaks of another length")
    return [(entry["dtype"], entry["data_offsets"][1] - entry["data_offsets"][0]) for entry in tensors]


# Of a question to the hub, in seconds.
TIMEOUT = 10.0
_READ = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken")
# Other forms of the same weights, which some repositories hold beside.
_UNREAD = ("consolidated*", "*.fp16*", "*.bf16*", "*.non_ema*")
# Called with `repo_id`, `revision` and `local_files_only`, gives the path of a folder or file in the cache.
Download = Callable[..., str]


def is_name(model: str) -> bool:
    """Whether a model can be on the hub: whether it is written `owner/name`, or as a name alone."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(model)
    except HFValidationError:
        return False
    return True


def file(name: str) -> Download:
    """What downloads one file of a model."""
    from huggingface_hub import hf_hub_download

    return partial(hf_hub_download, filename=name)


def checkpoint(parts: Sequence[str]) -> Download:
    """What downloads all that is read of a model: its folders of these names, or else what lies in no folder."""
    from huggingface_hub import snapshot_download

    allowed = ["*.json", *(f"{part}/{kind}" for part in parts for kind in _READ)] if parts else _READ
    ignored = _UNREAD if parts else (*_UNREAD, "*/*")
    return partial(snapshot_download, allow_patterns=list(allowed), ignore_patterns=list(ignored))


def cached(model: str, revision: str, download: Download) -> Path | None:
    """The folder in the cache, without asking the hub; None where there is none."""
    try:
        return _folder(download(repo_id=model, revision=revision or None, local_files_only=True))
    except OSError:
        return None


def fetched(model: str, revision: str, download: Download, cache: bool = True) -> Path:
    """The folder in the cache, brought up to date where the hub can be asked.

    Args:
        model: a name on the hub.
        revision: branch, tag or commit; empty: the main branch.
        download: what is wanted of it.
        cache: whether a copy in the cache is as good as the hub's answer.

    Raises:
        PluginError: one line: no such model or revision, no permission, or not here and no way to get it.
        OutputError: the cache cannot be written, for instance because the disk is full.
    """
    from huggingface_hub import HfApi

    with _one_line(model, revision):
        try:
            HfApi().model_info(model, revision=revision or None, timeout=TIMEOUT)
        except Exception:
            if cache and (copy := cached(model, revision, download)):
                return copy
            raise
        return _folder(download(repo_id=model, revision=revision or None))


def _folder(downloaded: str) -> Path:
    path = Path(downloaded)
    return path if path.is_dir() else path.parent


@contextmanager
def _one_line(model: str, revision: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the hub's client lets errors of its HTTP library through, whichever that is
        if isinstance(error, OSError) and (unwritable := as_output_error(error)):
            raise unwritable from error
        raise PluginError(f"model '{model}' {_fault(error, model, revision)}") from error


def _fault(error: Exception, model: str, revision: str) -> str:
    from huggingface_hub import errors, is_offline_mode

    if isinstance(error, errors.GatedRepoError):
        return "is gated: accept its licence on its page on the hub, then set HF_TOKEN to a token of that account"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "is no folder here and no public model on the hub; check the name, or set HF_TOKEN for a private one"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"has no revision '{revision}' on the hub; give a branch, tag or commit that is there"
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return "lacks a file on the hub that is needed; choose a checkpoint in the right format"
    nowhere = "is neither a folder here nor complete in the cache, and"
    if isinstance(error, errors.HfHubHTTPError):
        return f"{nowhere} the hub failed ({first_line(error)}); try again later, or give the path of a folder"
    why = "HF_HUB_OFFLINE is set" if is_offline_mode() else f"the hub cannot be reached ({first_line(error)})"
    return f"{nowhere} {why}; run `hf download {model}` where there is a network, or give the path of a folder"


@dataclass(frozen=True)
class Checkpoint:
    """A model as the user names it, and what makes its folder whole. PluginError, one line, where it is not."""

    model: str
    """A folder, or a name on the hub."""
    revision: str
    """On the hub; empty: the main branch."""
    index: str
    """The JSON file that says what it is."""
    fault: Callable[[Path], str]
    """What its folder lacks beside: one line, or empty."""
    parts: Callable[[dict[str, Any]], Sequence[str]] = lambda _: ()
    """The names of its folders, from the content of the index; none: it lies in no folder."""

    def own_folder(self) -> Path | None:
        """The user's own folder, there or not; None for what can only be a name on the hub."""
        folder = Path(self.model).expanduser()
        return None if not folder.is_dir() and is_name(self.model) else folder

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
        folder = self._folder() or fetched(self.model, self.revision, file(self.index))
        self._check(folder, json_fault(folder / self.index))
        return read_json(folder / self.index)

    def whole(self) -> Path:
        """Its folder, all there; one on the hub is fetched into the cache."""
        folder = self._folder() or fetched(self.model, self.revision, self._download)
        self._check(folder, self._lacking(folder))
        return folder

    def here(self) -> Path | None:
        """Its folder, all there, without fetching weights; None for one that the hub has and the cache lacks."""
        if self.own_folder():
            return self.whole()
        copy = cached(self.model, self.revision, self._download)
        if copy and not self._lacking(copy):
            return copy
        fetched(self.model, self.revision, file(self.index), cache=False)
        return None

    def files(self) -> list[Path]:
        """The files that results depend on where it is the user's own folder, with those that are missing, sorted.

        All that is not hidden counts: which files a library reads is the library's to decide.
        """
        folder = self.own_folder()
        if folder is None:
            return []
        parts = [folder / part for part in self.parts(read_json(folder / self.index))] or [folder]
        present = {
            file for part in parts for file in part.rglob("*") if _seen(file.relative_to(part)) and file.is_file()
        }
        return sorted({folder / self.index, *present, *(file for part in parts for file in weight_files(part))})

    def _folder(self) -> Path | None:
        folder = self.own_folder()
        if folder and not folder.is_dir():
            raise PluginError(
                f"model '{self.model}': no such folder here, and no name that the hub could have (owner/name); "
                "check the path"
            )
        if folder and self.revision:
            raise PluginError(f"model '{self.name()}' is a folder here, and a folder has no revision; leave it out")
        return folder

    def _download(self, **kwargs: Any) -> str:
        """A `hub.Download` of all that is read: the index first, which names the parts."""
        index = Path(file(self.index)(**kwargs))
        return checkpoint(self.parts(read_json(index)))(**kwargs)

    def _lacking(self, folder: Path) -> str:
        return json_fault(folder / self.index) or self.fault(folder)

    def _check(self, folder: Path, fault: str) -> None:
        if fault:
            raise PluginError(f"model '{self.name(folder)}' is incomplete: {fault}; copy or download it again")


def _seen(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)
