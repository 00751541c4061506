"""A diffusers checkpoint: what is in its folder, which pipeline it is for, and its way into memory."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any, Literal

from cfeval.backends.diffusion_pipelines.kinds import KINDS
from cfeval.backends.local_models.checkpoint import (
    check_weights,
    first_line,
    from_hub,
    is_folder,
    locate,
    quiet,
    read_json,
    weight_files,
)
from cfeval.errors import BackendError

INDEX = "model_index.json"
Offload = Literal["none", "model", "sequential"]


def index_of(model: str, revision: str) -> dict[str, Any]:
    """The index of a checkpoint: the class of its pipeline, and library and class of each part.

    Raises:
        BackendError: the model is not there or is no diffusers checkpoint.
    """
    from huggingface_hub import hf_hub_download

    if is_folder(model):
        return read_json(Path(model) / INDEX)
    return read_json(from_hub(model, revision, partial(hf_hub_download, filename=INDEX)))


def pipeline_of(index: dict[str, Any], model: str, wanted: str) -> str:
    """The pipeline to use: the one that is wanted, else the checkpoint's own.

    Raises:
        BackendError: none is wanted, and the checkpoint's own edits no images here.
    """
    own = wanted or index.get("_class_name")
    if own not in KINDS:
        raise BackendError(
            f"{model}: a checkpoint of {own!r}, which is no editor here; set 'pipeline' to one that can use its parts: "
            f"{', '.join(sorted(KINDS))}"
        )
    return str(own)


def parts_of(index: dict[str, Any]) -> list[str]:
    """The names of a checkpoint's parts, each a folder."""
    return sorted(name for name, entry in index.items() if isinstance(entry, list) and entry and entry[0])


def check_folder(folder: Path) -> None:
    """Check that all parts of a checkpoint are there and whole, without reading weights.

    Raises:
        BackendError: what is missing or cut off.
    """
    for part in parts_of(read_json(folder / INDEX)):
        if not any((folder / part).glob("*.json")):
            raise BackendError(f"{folder / part}: missing; the checkpoint is incomplete, copy or download it again")
        if (folder / part / "config.json").is_file():
            check_weights(folder / part)


def files_of(folder: Path) -> list[Path]:
    """The files of a checkpoint that a pipeline is made from."""
    parts = parts_of(read_json(folder / INDEX))
    return [folder / INDEX, *sorted(p for part in parts for p in (folder / part).rglob("*") if p.is_file())]


def weight_of(folder: Path) -> int:
    """The size of a checkpoint's weights in bytes."""
    parts = parts_of(read_json(folder / INDEX))
    return sum(path.stat().st_size for part in parts for path in weight_files(folder / part))


def fetched(model: str, revision: str, pipeline: str) -> Path:
    """The folder of a checkpoint, complete; one of the hub is downloaded where the cache lacks it.

    Raises:
        BackendError: it is not there, incomplete, or the hub cannot be reached.
    """
    import diffusers

    quiet(diffusers)
    folder = locate(model, revision, getattr(diffusers, pipeline).download)
    check_folder(folder)
    return folder


def load(folder: Path, name: str, dtype: Any, device: str, offload: Offload) -> Any:
    """Load a checkpoint as a pipeline and put it where it computes.

    Raises:
        BackendError: the parts do not fit the pipeline.
    """
    import diffusers
    import transformers

    quiet(diffusers, transformers)
    pipe = _from_folder(getattr(diffusers, name), folder, dtype)
    pipe.set_progress_bar_config(disable=True)
    KINDS[name].prepare(pipe)
    if offload == "none":
        return pipe.to(device)
    getattr(pipe, f"enable_{offload}_cpu_offload")(device=device)
    return pipe


def _from_folder(pipeline: Any, folder: Path, dtype: Any) -> Any:
    try:
        with (
            warnings.catch_warnings()
        ):  # about old fields in a checkpoint's configuration, which the user did not write
            warnings.simplefilter("ignore")
            return pipeline.from_pretrained(folder, dtype=dtype, local_files_only=True)
    except (MemoryError, ModuleNotFoundError):
        raise
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if "out of memory" in str(error) or "can't allocate memory" in str(error):
            raise
        raise BackendError(
            f"{folder}: cannot be loaded as {pipeline.__name__} ({first_line(error)}); "
            "set 'pipeline' to the one it is for, or download it again"
        ) from error
