"""Models on the Hugging Face hub: fetched into the hub's cache on this machine, and used from there.

The hub is asked a question with a short time limit first: its client repeats a download that fails for half a minute,
but not a question. Where that is not answered, a copy in the cache is as good.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from cfeval.backends.local_models.lines import first_line
from cfeval.errors import BackendError, as_output_error

TIMEOUT = 10.0
"""Of a question to the hub, in seconds."""
_READ = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken")
_UNREAD = ("consolidated*", "*.fp16*", "*.bf16*", "*.non_ema*")
"""Other forms of the same weights, which some repositories hold beside."""
Download = Callable[..., str]
"""Called with `repo_id`, `revision` and `local_files_only`, gives the path of a folder or file in the cache."""


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
        BackendError: one line: no such model or revision, no permission, or not here and no way to get it.
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


def _folder(found: str) -> Path:
    path = Path(found)
    return path if path.is_dir() else path.parent


@contextmanager
def _one_line(model: str, revision: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the hub's client lets errors of its HTTP library through, whichever that is
        if isinstance(error, OSError) and (unwritable := as_output_error(error)):
            raise unwritable from error
        raise BackendError(f"model '{model}' {_fault(error, model, revision)}") from error


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
