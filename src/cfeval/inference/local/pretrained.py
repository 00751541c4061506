"""Checkpoints of the transformers library: what can be said before any weight is read, and how they are loaded.

Chat models are checked here and loaded by `cfeval.inference.local.chat_loading`; those that look and do not talk, here.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from cfeval.core.errors import CfevalError, PluginError
from cfeval.core.plugin import Plugin
from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.local import devices
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.hub import Checkpoint, weights_fault, weights_size
from cfeval.inference.local.libraries import LocalOptions, Package, check_packages, first_line, quiet

# What to do where the weights do not fit.
SMALLER = "set device: cpu, or take a smaller model or a larger machine"
_GIB = 2**30
_LOADING = {"local_files_only": True, "use_safetensors": True, "output_loading_info": True}


class Room(NamedTuple):
    """Where a model computes, where its weights lie, the bytes of memory there, and what to do if those are too few."""

    device: str
    place: str
    memory: int
    advice: str


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
        PluginError: none of `kinds`, or it is not there.
    """
    kind = str(checkpoint.content().get("model_type"))
    if kind not in kinds:
        raise PluginError(
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
        PluginError: it is incomplete, or does not fit the class.
    """
    import transformers

    folder = checkpoint.whole()
    name = checkpoint.name(folder)
    try:
        with quiet("transformers"):
            processor = getattr(transformers, reader).from_pretrained(folder, local_files_only=True)
            model, loading_info = getattr(transformers, loader).from_pretrained(folder, **_LOADING)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, name)
        raise PluginError(f"model '{name}' cannot be loaded as {loader} ({reason}); give another") from error
    check_complete(name, loading_info)
    return Loaded(processor, model.eval().to(device), device)


def check_complete(name: str, loading_info: Mapping[str, Any]) -> None:
    """Check that a checkpoint had all weights of its architecture.

    Raises:
        PluginError: some are in no file.
    """
    if absent := sorted(loading_info["missing_keys"]):
        raise PluginError(
            f"model '{name}' is incomplete: {len(absent)} weights of its architecture are in no file "
            f"({absent[0]}, …); copy or download it again"
        )


def findings(
    checkpoint: Checkpoint, packages: Iterable[Package], room: Callable[[], Room], size: Callable[[Path], int]
) -> Generator[Diagnostic, None, bool]:
    """Packages that are lacking, device, checkpoint, memory; returns whether the checkpoint is fine.

    Args:
        checkpoint: the model's.
        packages: those that not every setting needs.
        room: PluginError where there is no such device.
        size: bytes that the weights in a folder will take.
    """
    there = None
    try:
        check_packages(packages)
        there = room()
        slow = ", which takes minutes an item with models of billions of weights" if there.device == "cpu" else ""
        yield Diagnostic(True, f"computes on {there.device}{slow}")
    except CfevalError as error:
        yield Diagnostic(False, str(error))
    try:
        folder = checkpoint.here()
    except CfevalError as error:
        yield Diagnostic(False, str(error))
        return False
    yield Diagnostic(True, checkpoint.about(folder))
    if there and folder:
        need = size(folder)  # of the weights alone; what is computed needs some more
        place = "the host" if there.place == "cpu" else there.place
        text = f"the weights of '{checkpoint.name(folder)}' take {_gib(need)} of memory, {place} has "
        fine = need < there.memory
        yield Diagnostic(fine, f"{text}{_gib(there.memory)}" + ("" if fine else f"; {there.advice}"))
    return True


def finding(check: Callable[[], str]) -> Diagnostic:
    """What a check says: its line, or that of its error."""
    try:
        return Diagnostic(True, check())
    except CfevalError as error:
        return Diagnostic(False, str(error))


def diagnose_checkpoint(checkpoint: Checkpoint, kinds: Sequence[str], device: str) -> Iterator[Diagnostic]:
    """What can be said about a model before any weight is read: device, checkpoint, memory, kind."""

    def room() -> Room:
        chosen_device = devices.chosen(device)
        return Room(chosen_device, chosen_device, devices.memory(chosen_device), SMALLER)

    if (yield from findings(checkpoint, (), room, lambda folder: weights_size(folder, "float32"))):
        yield finding(lambda: f"a checkpoint of {check_kind(checkpoint, kinds)}")


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB"


class LocalPlugin(Plugin, LocalOptions):
    """One that computes with a checkpoint on this machine."""

    kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of checkpoint that it can use."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder."""
        return tuple(map(str, checkpoint_of(self.model, self.revision).files()))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device and checkpoint are there and fit."""
        yield from diagnose_checkpoint(checkpoint_of(self.model, self.revision), self.kinds, self.device)
