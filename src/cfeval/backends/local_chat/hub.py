"""A checkpoint on the Hugging Face hub: its copy on this machine, fetched where it is not there yet."""

from pathlib import Path

from cfeval.errors import BackendError

_WANTED = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja", "*.tiktoken"]
_UNWANTED = ["*/*", "consolidated*"]
"""Other formats of the same weights, which some repositories hold beside."""


def cached(model: str, revision: str | None) -> Path | None:
    """The copy on this machine, without asking the hub; None where there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        found = snapshot_download(
            model, revision=revision, local_files_only=True, allow_patterns=_WANTED, ignore_patterns=_UNWANTED
        )
    except (OSError, HFValidationError):
        return None
    return Path(found)


def fetched(model: str, revision: str | None) -> Path:
    """The copy on this machine, brought up to date where the hub can be reached.

    Raises:
        BackendError: one line: no such model or revision, gated, or not here and no way to get it.
    """
    from huggingface_hub import errors, snapshot_download

    named = f"model '{model}'" + (f" (revision '{revision}')" if revision else "")
    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except errors.GatedRepoError:
        raise BackendError(
            f"{named} is gated: accept its licence on its page on the hub, then set HF_TOKEN to a token of that account"
        ) from None
    except errors.RepositoryNotFoundError:
        raise BackendError(
            f"{named}: no such folder here, no such model on the hub; check the name, or set HF_TOKEN for a private one"
        ) from None
    except errors.RevisionNotFoundError:
        raise BackendError(f"{named}: the hub has the model but not this revision; check `revision`") from None
    except errors.HFValidationError:
        raise BackendError(
            f"{named}: no such folder here, and not a name on the hub (owner/name); check the path"
        ) from None
    except (OSError, errors.RevisionResolutionError) as error:
        raise BackendError(_unreachable(named, model, error)) from None


def _unreachable(named: str, model: str, error: Exception) -> str:
    if not isinstance(error, FileNotFoundError):
        lines = str(error).splitlines() or [type(error).__name__]
        return f"{named}: cannot be downloaded ({lines[0]}); check disk and network, and run the command again"
    why = "HF_HUB_OFFLINE is set" if offline() else "the hub cannot be reached"
    return (
        f"{named} is neither a folder here nor complete in the cache, and {why}; "
        f"run `hf download {model}` where there is a network, or give the path of a folder"
    )


def offline() -> bool:
    """Whether the user forbids asking the hub."""
    from huggingface_hub import is_offline_mode

    return is_offline_mode()
