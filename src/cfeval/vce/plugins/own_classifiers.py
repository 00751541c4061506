"""Networks that the user brings: weights for an architecture, a file of TorchScript, or a Python function.

`state_dict` takes a file of safetensors or of torch.save; also the robust networks of the papers: the ResNet-50
checkpoints of the robustness library (Engstrom et al. 2019), and the multi-norm fine-tuned one of DVCE and DBVCE
(`l2_improved_3_ep.pt`; mean 0 and std 1). How files are read, and which names in them count:
`cfeval.vce.models.checkpoints`.

`torchscript` takes a file of `torch.jit.save`, the network and its weights together. Such a file is a program, which is
run: take only what you or people you trust have made.

`python` calls `MODULE:FUNCTION` once, which returns a torch.nn.Module. It takes images (N, 3, size, size), prepared by
`mean` and `std`, and returns logits (N, classes).
"""

import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PositiveFloat, model_validator

from cfeval.core import plugin
from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import checkpoints
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.attributes import NOT, one_attribute
from cfeval.vce.models.checkpoints import fit, outputs_in, stored
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    ArchitecturePlugin,
    Channels,
    ClassifierPlugin,
    Interpolation,
    NetworkClassifier,
    OutputsError,
    Preprocessing,
)

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Spread = tuple[PositiveFloat, PositiveFloat, PositiveFloat]


class StateDictPlugin(ArchitecturePlugin):
    """Own weights in an architecture of torchvision or timm: a file of safetensors or of torch.save."""

    path: str = plugin.file(min_length=1)
    """The file with the weights."""
    weights: str = ""
    """Which weights, of a file that holds several sets, such as raw and averaged ones (EMA): the keys that lead to
    them, joined by dots, such as `model_ema.module`. Empty: the first, which is told."""
    size: int | None = Field(None, ge=8)
    """Height and width of the network's inputs; none: as the library declares."""
    interpolation: Interpolation | None = None
    """How images are resized; none: as the library declares."""
    mean: Channels | None = None
    """Mean of red, green and blue, for values in [0, 1]; none: the file's normalizer, else as the library declares."""
    std: Spread | None = None
    """Their standard deviation, likewise."""
    attribute: str = ""
    """Of a network with an output for each of the attributes that `classes` names: the one that is explained. The
    classes are then it and `not` it, such as `Smiling` and `not Smiling`."""

    @model_validator(mode="after")
    def _attribute_is_named(self) -> "StateDictPlugin":
        if self.attribute and not self.classes:
            raise ValueError("attribute is one of those in `classes`; name the file with the names of the outputs")
        return self

    def dependencies(self) -> tuple[str, ...]:
        """The weights, then the names of the classes."""
        return tuple(reversed(super().dependencies()))

    def about(self) -> str:
        """The architecture, and how many classes."""
        check_name(self.library, self.architecture)
        return self._architecture(len(named(self.classes, self.num_classes)))

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's or numbers; of one attribute it and its absence."""
        names = named(self.classes, self.num_classes)
        return (self.attribute, f"{NOT}{self.attribute}") if self._place(names) is not None else names

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            InputError: the weights or the names of the classes cannot be read.
            PluginError: no such architecture, or the weights do not fit it.
        """
        path, classes = Path(self.path), named(self.classes, self.num_classes)
        place = self._place(classes)
        network, declared = untrained(self.library, self.architecture, len(classes), self.seed)
        file_weights = stored(path, network, self.weights)
        outputs = outputs_in(file_weights.weights, network)
        if outputs == 1 and len(classes) == 2:
            network, _ = untrained(self.library, self.architecture, 1, self.seed)
        elif outputs is not None and outputs != len(classes):
            raise OutputsError(f"{self.library}'s {self.architecture} in {path.name}", outputs, len(classes))
        fit(network, file_weights.weights, path.name, self._architecture(len(classes)))
        if outputs == 1:
            network = as_logits(network, len(classes))
        preprocessing = declared.but(
            size=self.size,
            interpolation=self.interpolation,
            mean=self.mean or file_weights.mean,
            std=self.std or file_weights.std,
        )
        if place is not None:
            network = one_attribute(network, place)
        return NetworkClassifier(network, preprocessing, self.class_names(), self, path.name, file_weights.notes)

    def _place(self, names: Sequence[str]) -> int | None:
        """The output of the attribute; None where all outputs are classes."""
        if not self.attribute:
            return None
        if self.attribute not in names:
            raise InputError(f"{self.classes}: no attribute '{self.attribute}'; {nearest(self.attribute, names)}")
        return names.index(self.attribute)

    def _architecture(self, classes: int) -> str:
        return f"{self.library}'s {self.architecture} with {classes} classes"


Outputs = Literal["logits", "probabilities"]
_CROPPED = 224 / 256
"""The share of the shorter side that `crop` leaves, as in the usual evaluation on ImageNet."""


class OwnNetworkPlugin(ClassifierPlugin):
    """How images are prepared, and what its outputs stand for."""

    classes: str = plugin.file("")
    """File with the names of the classes in the order of the outputs: a name a line, or a JSON list. Empty: ImageNet's.
    Of a network with one output, the first class is that of low values, the second that of high ones."""
    size: int = Field(224, ge=8)
    """Height and width of the network's inputs."""
    interpolation: Interpolation = "bilinear"
    """How images are resized."""
    mean: Channels = IMAGENET_MEAN
    """Mean of red, green and blue that is taken off, for values in [0, 1]."""
    std: tuple[PositiveFloat, PositiveFloat, PositiveFloat] = IMAGENET_STD
    """Their standard deviation, which they are then divided by."""
    outputs: Outputs = "logits"
    """What the network returns: logits, or probabilities that add up to 1."""

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's."""
        return named(self.classes, None)

    def classifier(self, network: "Module", name: str) -> NetworkClassifier:
        """The classifier of a network.

        Raises:
            PluginError: it takes no such images, or does not give an output for each class.
            InputError: the names of the classes cannot be read.
        """
        classes = self.class_names()
        preprocessing = Preprocessing(self.size, round(self.size / _CROPPED), self.interpolation, self.mean, self.std)
        made = as_logits(network.eval(), len(classes), self.outputs)
        _try(made, len(classes), self.size, self.outputs, name)
        return NetworkClassifier(made, preprocessing, classes, self, name)


def as_logits(network: "Module", classes: int, outputs: Outputs = "logits") -> "Module":
    """A network that gives logits (N, classes), from one that may return them among other things.

    One output, of two classes, is the logit of the second: softmax of 0 and it is its sigmoid.
    """
    import torch

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: "Tensor") -> "Tensor":
            values = _tensor_of(self.network(images))
            single = classes == 2 and values.shape[1:].numel() == 1
            if single:
                values = values.view(-1, 1)
            if outputs == "probabilities":
                values = torch.cat((1 - values, values), dim=1) if single else values
                return values.clamp_min(torch.finfo(values.dtype).tiny).log()
            return torch.cat((torch.zeros_like(values), values), dim=1) if single else values

    return Logits()


def _tensor_of(returned: Any) -> "Tensor":
    """The tensor of outputs in what a network returns: itself, `logits` or `out`, else the first of several."""
    for name in ("logits", "out"):
        if isinstance(returned, Mapping) and name in returned:
            return returned[name]  # type: ignore[no-any-return]
        if hasattr(returned, name) and not isinstance(returned, Mapping):
            return getattr(returned, name)  # type: ignore[no-any-return]
    outputs: Tensor = returned[0] if isinstance(returned, Sequence) else returned
    return outputs


def _try(network: "Module", classes: int, size: int, outputs: Outputs, name: str) -> None:
    """Show a network two images of noise."""
    import torch

    noise = torch.rand(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    first = next(network.parameters(), None)
    noise = noise if first is None else noise.to(first.device, first.dtype)
    try:
        with torch.no_grad():
            values = network(noise)
            shape = tuple(values.shape)
    except Exception as error:  # whatever the user's code lets through
        if out_of_memory(error):
            raise
        raise PluginError(
            f"'{name}' cannot be asked about images (N, 3, {size}, {size}): {first_line(error)}; set its `size`, or "
            "correct the network"
        ) from error
    if len(shape) == 2 and shape != (2, classes):
        raise OutputsError(f"'{name}'", shape[1], classes)
    if shape != (2, classes):
        raise PluginError(
            f"'{name}' returns {' × '.join(map(str, shape))} for two images; let it return a logit for each class, 2 × "
            f"{classes}"
        )
    if outputs == "logits" and values.min() >= 0 and torch.allclose(values.sum(1), values.new_ones(2), atol=1e-4):
        raise PluginError(
            f"'{name}' returns numbers that add up to 1, which are no logits; set its `outputs: probabilities`, or "
            "leave its softmax out"
        )


class TorchscriptPlugin(OwnNetworkPlugin):
    """Own network in a file of TorchScript (`torch.jit.save`): the network and its weights together."""

    path: str = plugin.file(min_length=1)
    """The file."""

    def about(self) -> str:
        """Whether the file is there, and for how many classes."""
        return f"{checkpoints.about(self.path)}, over {len(self.class_names())} classes"

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such file, no TorchScript, or outputs that are not those of the classes.
            InputError: the names of the classes cannot be read.
        """
        checkpoints.about(self.path)
        return self.classifier(_load_torchscript(Path(self.path).expanduser()), Path(self.path).name)


def _load_torchscript(path: Path) -> "Module":
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that TorchScript is no longer developed
            network: Module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # a broken file makes it raise almost anything
        if out_of_memory(error):
            raise
        raise PluginError(
            f"{path}: cannot be read as TorchScript ({first_line(error)[:80]}); weights alone are for state_dict, with "
            "their network in `architecture`"
        ) from error
    return network


class PythonPlugin(OwnNetworkPlugin):
    """Own network that a Python function makes: `MODULE:FUNCTION`, called once, returns a torch.nn.Module."""

    factory: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """The function, as MODULE:FUNCTION."""
    folder: str = ""
    """The folder in which the module lies; empty: an installed module."""
    weights: str = plugin.file("")
    """File that the function is called with; empty: it is called with nothing."""

    def dependencies(self) -> tuple[str, ...]:
        """The module where it lies in a folder, the weights, and the names of the classes."""
        source = self._source()
        return (*([f"{source}/" if source.is_dir() else str(source)] if source else []), *super().dependencies())

    def about(self) -> str:
        """The function, and where it is; nothing of it is run."""
        if self.folder and not self._exists():
            module = self.factory.partition(":")[0]
            raise PluginError(f"no module '{module}' in the folder '{self.folder}'; correct `folder` or `factory`")
        return f"{self.factory} makes the network, over {len(self.class_names())} classes"

    def build(self) -> Classifier:
        """The classifier, made.

        Raises:
            PluginError: the function cannot be imported, fails, or returns no network that gives a logit a class.
            InputError: the names of the classes cannot be read.
        """
        return self.classifier(self._network(), self.factory)

    def _network(self) -> Any:
        from torch.nn import Module

        try:
            network = self._function()(*([self.weights] if self.weights else []))
        except PluginError:
            raise
        except Exception as error:  # whatever the user's code lets through
            if out_of_memory(error):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            raise PluginError(f"'{self.factory}' fails: {first_line(error)} ({where}); correct it") from error
        if not isinstance(network, Module):
            raise PluginError(
                f"'{self.factory}' returns {type(network).__name__}, and a torch.nn.Module is needed; let the function "
                "make the network and return it"
            )
        return network

    def _function(self) -> Any:
        module, _, name = self.factory.partition(":")
        place = str(Path(self.folder).absolute())
        if self.folder:
            sys.path.insert(0, place)
        try:
            imported = import_module(module)
        finally:
            if self.folder:  # what the network imports later is still found, after what is installed
                sys.path.remove(place)
                sys.path.append(place)
        if not callable(getattr(imported, name, None)):
            functions = [key for key, value in vars(imported).items() if callable(value) and not key.startswith("_")]
            raise PluginError(f"'{module}' has no function '{name}'; {nearest(name, functions)}")
        return getattr(imported, name)

    def _source(self) -> Path | None:
        top = self.factory.partition(":")[0].partition(".")[0]
        if not self.folder:
            return None
        return Path(self.folder, top) if Path(self.folder, top).is_dir() else Path(self.folder, f"{top}.py")

    def _exists(self) -> bool:
        source = self._source()
        return source is not None and source.exists()
