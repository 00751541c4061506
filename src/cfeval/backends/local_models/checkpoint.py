"""Checkpoints: a folder on this machine or a model of the Hugging Face hub, found and looked through, never loaded.

A model is a folder where one of that name is there, else a name on the hub (`organisation/model`).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cfeval.errors import BackendError, CfevalError, as_output_error

ELSEWHERE = "connect to the network, or download the model elsewhere and give its folder"
TIMEOUT = 10.0
"""Of a question to the hub, in seconds."""


def locate(model: str, revision: str, download: Callable[..., Any]) -> Path:
    """The folder of a model.

    Args:
        model: a folder, or a name on the hub.
        revision: branch, tag or commit on the hub; empty: the main branch.
        download: called with the model, `revision` and `local_files_only`, brings a model of the hub into the hub's
            cache and returns where it is.

    Raises:
        BackendError: no such folder, no such model, no permission, or the hub cannot be reached; one line.
    """
    return Path(model) if is_folder(model) else from_hub(model, revision, download)


def is_folder(model: str) -> bool:
    """Whether a model is a folder on this machine.

    Raises:
        BackendError: it can only be a folder, and is not there.
    """
    if Path(model).is_dir():
        return True
    if model.startswith(("/", ".", "~")) or model.count("/") != 1:
        raise BackendError(f"{model}: no such folder; give a checkpoint's folder or a hub name (organisation/model)")
    return False


def from_hub(model: str, revision: str, download: Callable[..., Any]) -> Path:
    """What `download` brings from the hub, or from the hub's cache where the hub cannot be asked; see `locate`."""
    from huggingface_hub import HfApi

    wanted = revision or None
    with _hub_errors(model, revision):
        try:  # the hub's client repeats a failed download for half a minute, but not a question
            HfApi().model_info(model, revision=wanted, timeout=TIMEOUT)
        except Exception as error:  # not found, not allowed, no network: a cached model is as good
            try:
                return Path(download(model, revision=wanted, local_files_only=True))
            except Exception:
                raise error from None
        return Path(download(model, revision=wanted, local_files_only=False))


@contextmanager
def _hub_errors(model: str, revision: str) -> Iterator[None]:
    """Turn what can go wrong with the hub into one line each."""
    try:
        yield
    except (CfevalError, ModuleNotFoundError):
        raise
    except Exception as error:  # the hub's client lets errors of its HTTP library through, whichever that is
        if isinstance(error, OSError) and (unwritable := as_output_error(error)):
            raise unwritable from error
        raise BackendError(f"{model}: {_hub_fault(error, revision)}") from error


def _hub_fault(error: Exception, revision: str) -> str:
    from huggingface_hub import errors as hub

    if isinstance(error, hub.GatedRepoError):
        return "the hub gives this model only to those who accepted its licence; accept it there and set HF_TOKEN"
    if isinstance(error, hub.RevisionNotFoundError):
        return f"the hub has no revision '{revision}' of it; give a branch, tag or commit that is there"
    if isinstance(error, hub.RepositoryNotFoundError):
        return "no folder here and no public model on the hub; check the name, or set HF_TOKEN for a private one"
    if isinstance(error, hub.EntryNotFoundError) and not isinstance(error, hub.LocalEntryNotFoundError):
        return "the hub's model lacks a file that is needed; choose a checkpoint in the right format"
    if isinstance(error, hub.HFValidationError):
        return "neither a folder here nor a name that a hub model can have (organisation/model)"
    if isinstance(error, hub.HfHubHTTPError):
        return f"the hub failed ({first_line(error)}); try again later, or download it elsewhere and give its folder"
    return f"no folder here, not in the hub's cache, and the hub cannot be reached ({first_line(error)}); {ELSEWHERE}"


def read_json(path: Path) -> dict[str, Any]:
    """An object in a JSON file of a checkpoint.

    Raises:
        BackendError: missing or not such JSON.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BackendError(f"{path}: missing; the checkpoint is incomplete, copy or download it again") from None
    except (OSError, ValueError):
        raise BackendError(f"{path}: cannot be read as JSON; copy or download the checkpoint again") from None
    if not isinstance(content, dict):
        raise BackendError(f"{path}: a JSON object is needed; copy or download the checkpoint again")
    return content


def check_weights(folder: Path) -> None:
    """Check that the weights of a model in a folder are all there and whole, without reading them.

    Raises:
        BackendError: what is missing or cut off.
    """
    shards = {shard for index in folder.glob("*.index.json") for shard in read_json(index)["weight_map"].values()}
    for name in sorted(shards):
        if not (folder / name).is_file():
            raise BackendError(f"{folder / name}: missing; the checkpoint is incomplete, copy or download it again")
    weights = weight_files(folder)
    if not weights:
        raise BackendError(f"{folder}: no weights (*.safetensors); the checkpoint is incomplete, download it again")
    for path in weights:
        _check_whole(path)


def weight_files(folder: Path) -> list[Path]:
    """The files in a folder that hold weights."""
    return sorted(p for p in folder.glob("*") if p.suffix in (".safetensors", ".bin") and p.is_file())


def _check_whole(path: Path) -> None:
    from safetensors import SafetensorError, safe_open

    if path.suffix != ".safetensors":
        return
    try:
        with safe_open(path, framework="numpy"):  # reads the header and compares it with the file's length
            pass
    except (SafetensorError, OSError):
        raise BackendError(f"{path}: cut off or broken; copy or download the checkpoint again") from None


def quiet(*libraries: Any) -> None:
    """Keep what loading prints, bars and advice, off the user's screen; what matters becomes an error or a detail."""
    for library in libraries:
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()


def first_line(error: BaseException) -> str:
    """The first line of an error's text, at most 200 characters."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return text if len(text) <= 200 else f"{text[:199]}…"
