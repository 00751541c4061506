"""Models of the transformers library that look at pictures and do not talk: found, checked, loaded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cfeval.backends.local_models import devices, examining
from cfeval.backends.local_models.checkpoint import Checkpoint
from cfeval.backends.local_models.lines import first_line
from cfeval.backends.local_models.memory import out_of_memory
from cfeval.backends.local_models.quiet import quiet
from cfeval.backends.local_models.weights import weights_fault, weights_size
from cfeval.backends.registry import Diagnostic
from cfeval.errors import BackendError

SMALLER = "set device: cpu, or take a smaller model or a larger machine"
"""What to do where the weights do not fit."""


_HOW = {"local_files_only": True, "use_safetensors": True, "output_loading_info": True}


@dataclass(frozen=True)
class Loaded:
    """A model on its device, and what makes its inputs."""

    processor: Any
    model: Any
    device: str


def checkpoint_of(model: str, revision: str) -> Checkpoint:
    """The checkpoint of a folder or of a name on the hub."""
    return Checkpoint(model, revision, "config.json", weights_fault)


def check_kind(checkpoint: Checkpoint, kinds: Sequence[str]) -> str:
    """The kind of model that a checkpoint is of.

    Raises:
        BackendError: none of `kinds`, or it is not there.
    """
    kind = str(checkpoint.content().get("model_type"))
    if kind not in kinds:
        raise BackendError(
            f"model '{checkpoint.name()}' is a checkpoint of '{kind}', and one of {' or '.join(kinds)} is needed"
        )
    return kind


def load(checkpoint: Checkpoint, loader: str, device: str, reader: str = "AutoProcessor") -> Loaded:
    """Load a checkpoint by classes of transformers.

    Args:
        checkpoint: what to load.
        loader: the model's class, such as `CLIPSegForImageSegmentation`.
        device: where to.
        reader: the processor's class.

    Raises:
        BackendError: it is incomplete, or does not fit the class.
    """
    import transformers

    folder = checkpoint.whole()
    name = checkpoint.name(folder)
    try:
        with quiet("transformers"):
            processor = getattr(transformers, reader).from_pretrained(folder, local_files_only=True)
            model, found = getattr(transformers, loader).from_pretrained(folder, **_HOW)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, name)
        raise BackendError(f"model '{name}' cannot be loaded as {loader} ({reason}); give another") from error
    if absent := sorted(found["missing_keys"]):
        raise BackendError(
            f"model '{name}' is incomplete: {len(absent)} weights of its architecture are in no file "
            f"({absent[0]}, …); copy or download it again"
        )
    return Loaded(processor, model.eval().to(device), device)


def examine(checkpoint: Checkpoint, kinds: Sequence[str], device: str) -> Iterator[Diagnostic]:
    """What can be said about a model before any weight is read: device, checkpoint, memory, kind."""

    def room() -> examining.Room:
        found = devices.chosen(device)
        return examining.Room(found, found, devices.memory(found), SMALLER)

    if (yield from examining.findings(checkpoint, (), room, lambda folder: weights_size(folder, "float32"))):
        yield examining.finding(lambda: f"a checkpoint of {check_kind(checkpoint, kinds)}")
