"""A diffusers checkpoint: a folder for each part of its pipeline, and its way into memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cfeval.backends.diffusion_pipelines.kinds import KINDS
from cfeval.backends.local_models.checkpoint import Checkpoint
from cfeval.backends.local_models.devices import Dtype
from cfeval.backends.local_models.lines import first_line
from cfeval.backends.local_models.memory import out_of_memory
from cfeval.backends.local_models.options import LocalOptions
from cfeval.backends.local_models.quiet import quiet
from cfeval.backends.local_models.weights import read_json, weights_fault, weights_size
from cfeval.errors import BackendError

if TYPE_CHECKING:
    import torch

INDEX = "model_index.json"
Offload = Literal["none", "model", "sequential"]


def checkpoint_of(options: LocalOptions) -> Checkpoint:
    """The checkpoint that options name."""
    return Checkpoint(options.model, options.revision, INDEX, _fault, _parts)


def pipeline_of(checkpoint: Checkpoint, wanted: str) -> str:
    """The pipeline to use: the one that is wanted, else the checkpoint's own.

    Raises:
        BackendError: none is wanted, and the checkpoint's own edits no images here; or it cannot be found.
    """
    content = checkpoint.content()
    own = wanted or content.get("_class_name")
    if own not in KINDS:
        raise BackendError(
            f"model '{checkpoint.name()}' is a checkpoint of {own!r}, which is no editor here; set 'pipeline' to one "
            f"that can use its parts: {', '.join(sorted(KINDS))}"
        )
    return str(own)


def dtype_on(device: str, wanted: Dtype) -> Dtype:
    """The type of a pipeline's numbers; auto is bfloat16 on a GPU, and float32 on a processor."""
    if wanted != "auto":
        return wanted
    return "float32" if device == "cpu" else "bfloat16"


def size(folder: Path, dtype: Dtype) -> int:
    """Bytes that the weights of all parts take in memory."""
    return sum(weights_size(folder / part, dtype) for part in _parts(read_json(folder / INDEX)))


def load(folder: Path, model: str, pipeline: str, dtype: Dtype, device: str, offload: Offload) -> Any:
    """Load a checkpoint as a pipeline and put it where it computes.

    Raises:
        BackendError: the parts do not fit the pipeline.
    """
    import diffusers
    import torch

    with quiet("diffusers", "transformers"):
        pipe = _from_folder(getattr(diffusers, pipeline), folder, model, getattr(torch, dtype))
        pipe.set_progress_bar_config(disable=True)
        KINDS[pipeline].prepare(pipe)
        if offload == "none":
            return pipe.to(device)
        getattr(pipe, f"enable_{offload}_cpu_offload")(device=device)
        return pipe


def _parts(content: dict[str, Any]) -> list[str]:
    return sorted(name for name, entry in content.items() if isinstance(entry, list) and entry and entry[0])


def _fault(folder: Path) -> str:
    """What a folder lacks of a whole checkpoint: one line, or empty."""
    for part in _parts(read_json(folder / INDEX)):
        if not any((folder / part).glob("*.json")):
            return f"{part} is missing"
        if (folder / part / "config.json").is_file() and (fault := weights_fault(folder / part)):
            return f"{part}: {fault}"
    return ""


def _from_folder(pipeline: Any, folder: Path, model: str, dtype: "torch.dtype") -> Any:
    try:
        return pipeline.from_pretrained(folder, dtype=dtype, local_files_only=True, use_safetensors=True)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        raise BackendError(
            f"model '{model}' cannot be loaded as {pipeline.__name__} ({first_line(error, folder, model)}); "
            "set 'pipeline' to the one it is for, or download it again"
        ) from error
