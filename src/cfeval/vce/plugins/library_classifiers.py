"""Classifiers of torchvision, timm and transformers by name, with the libraries' own weights or random ones.

torchvision: weights are downloaded once into torch's cache (`TORCH_HOME`); preprocessing and classes are those declared
with them.

timm: weights come from the Hugging Face hub. A name can carry the tag of its weights, such as
convnext_large.fb_in22k_ft_in1k. Preprocessing is the one that timm declares for them. Networks over ImageNet's 1000
classes have torchvision's names for these; for others give `classes`.

transformers: what `AutoModelForImageClassification` loads, such as ViT, Swin, ConvNeXT, ResNet, from a folder with a
checkpoint or by a name on the hub. Classes are the `id2label` of its config.json. Preprocessing is read from
`preprocessor_config.json` as the library's fast processors apply it: images in [0, 1] are resized, the middle is cut
out, mean and standard deviation are those declared, divided by 255 · rescale_factor.

RandomNet (DBVCE, Section 4, Table 1) is an architecture whose weights were never trained: what is measured of it tells
what the denoiser and the cone do without any help from the explained classifier.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import hub
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.hub import Checkpoint, cached, file, read_json
from cfeval.inference.local.libraries import first_line, quiet
from cfeval.inference.local.pretrained import checkpoint_of
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import architectures
from cfeval.vce.models.architectures import NONE, check_name, untrained
from cfeval.vce.models.class_names import IMAGENET, imagenet, named
from cfeval.vce.models.classifier import (
    ArchitecturePlugin,
    Channels,
    ClassifierPlugin,
    NetworkClassifier,
    Preprocessing,
)


class TorchvisionPlugin(ClassifierPlugin):
    """Any classification network of torchvision, with the library's own trained weights (or random ones)."""

    model: str = Field(min_length=1)
    """The network's name, such as resnet50."""
    weights: str = ""
    """Entry of the library, such as IMAGENET1K_V2; empty: the default one; none: random weights."""

    def about(self) -> str:
        """Whether the network is known, and its weights here."""
        check_name("torchvision", self.model)
        if self.weights == NONE:
            return f"'{self.model}' with random weights"
        weights = architectures.torchvision_weights(self.model, self.weights)
        file = architectures.torchvision_file(weights)
        weights_are = f"weights {weights.name} of '{self.model}' are"
        if file.is_file():
            return f"{weights_are} here ({file.name})"
        return f"{weights_are} not on this machine; the first job downloads {file.name}"

    def is_here(self) -> bool:
        """Whether its weights are on this machine, or random."""
        if self.weights == NONE:
            return True
        return architectures.torchvision_file(architectures.torchvision_weights(self.model, self.weights)).is_file()

    def class_names(self) -> tuple[str, ...]:
        """ImageNet's, which all weights of the library are over."""
        return imagenet()

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such network or weights, or they cannot be had.
        """
        if self.weights == NONE:
            classes = imagenet()
            network, preprocessing = untrained("torchvision", self.model, len(classes), self.seed)
        else:
            check_name("torchvision", self.model)
            weights = architectures.torchvision_weights(self.model, self.weights)
            network = architectures.torchvision_trained(self.model, weights)
            preprocessing, classes = architectures.torchvision_preprocessing(weights), tuple(weights.meta["categories"])
        return NetworkClassifier(network, preprocessing, classes, self, self.model)


class TimmPlugin(ClassifierPlugin):
    """Any network of timm, with its own trained weights from the Hugging Face hub (or random ones)."""

    model: str = Field(min_length=1)
    """The network's name, such as swin_large_patch4_window7_224."""
    weights: str = Field("", pattern=f"^({NONE})?$")
    """Empty: the trained ones that the name stands for; none: random weights."""
    classes: str = plugin.file("")
    """File with the names of the classes, as of `state_dict`; empty: ImageNet's where there are 1000, else numbers."""

    def about(self) -> str:
        """Whether the network is known, and its weights here."""
        check_name("timm", self.model)
        if self.weights == NONE:
            return f"'{self.model}' with random weights"
        if architectures.timm_folder(self.model):
            return f"weights of '{self.model}' are here"
        model, file = architectures.timm_source(self.model)
        return f"weights of '{self.model}' are not on this machine; the first job downloads {file} of {model}"

    def is_here(self) -> bool:
        """Whether its weights are on this machine, or random."""
        return self.weights == NONE or architectures.timm_folder(self.model) is not None

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else what timm says of the weights."""
        check_name("timm", self.model)
        trained = None if self.weights == NONE else architectures.timm_class_count(self.model)
        return named(self.classes, trained)

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such network, no timm, or weights that cannot be had.
            InputError: names that are not as many as the network's classes.
        """
        if self.weights == NONE:
            classes = named(self.classes, None)
            network, preprocessing = untrained("timm", self.model, len(classes), self.seed)
        else:
            check_name("timm", self.model)
            network = architectures.timm_trained(self.model)
            preprocessing = architectures.timm_preprocessing(network)
            classes = named(self.classes, int(getattr(network, "num_classes", IMAGENET)))
        return NetworkClassifier(network, preprocessing, classes, self, self.model)


class RandomPlugin(ArchitecturePlugin):
    """RandomNet (DBVCE, Section 4, Table 1): an architecture whose weights were never trained."""

    architecture: str = "alexnet"
    """The name that the library has for it; DBVCE's is AlexNet."""

    def about(self) -> str:
        """The architecture, and how many classes."""
        check_name(self.library, self.architecture)
        classes = named(self.classes, self.num_classes)
        return f"{self.library}'s {self.architecture} with random weights over {len(classes)} classes"

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's or numbers."""
        return named(self.classes, self.num_classes)

    def build(self) -> Classifier:
        """The classifier; the same seed gives the same weights.

        Raises:
            InputError: the names of the classes cannot be read.
            PluginError: no such architecture.
        """
        classes = named(self.classes, self.num_classes)
        network, preprocessing = untrained(self.library, self.architecture, len(classes), self.seed)
        return NetworkClassifier(network, preprocessing, classes, self, f"random {self.architecture}")


_WEIGHTS = "model.safetensors"


class TransformersPlugin(ClassifierPlugin):
    """Image classifiers of the transformers library: a folder with a checkpoint, or a name on the Hugging Face hub."""

    model: str = Field(min_length=1)
    """A folder with a checkpoint, or a name on the Hugging Face hub (owner/name)."""
    revision: str = ""
    """Branch, tag or commit on the hub, of which only a commit never changes; empty: the main branch."""
    classes: str = plugin.file("")
    """File with the names of the classes, as of `state_dict`; empty: those in the checkpoint."""

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder, and the names of the classes."""
        return (*map(str, self._checkpoint().files()), *super().dependencies())

    def class_names(self) -> tuple[str, ...] | None:
        """Those of the file, else of config.json; None where the hub has it and this machine has not."""
        return named(self.classes, None) if self.classes else self._declared()

    def is_here(self) -> bool:
        """Whether the checkpoint is on this machine."""
        own = self._checkpoint().own_folder() is not None
        return own or hub.cached(self.model, self.revision, hub.file(_WEIGHTS)) is not None

    def about(self) -> str:
        """Whether the checkpoint is here, and what it is of."""
        checkpoint = self._checkpoint()
        folder = checkpoint.here()
        config = config_here(checkpoint)
        kind = ", ".join(config.get("architectures") or ())
        if kind and "ForImageClassification" not in kind:
            raise PluginError(f"model '{checkpoint.name(folder)}' is a {kind}; a …ForImageClassification is needed")
        classes = self._declared() or ()
        return f"{checkpoint.about(folder)}{f'; {kind} over {len(classes)} classes' if kind else ''}"

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: the checkpoint is not there, incomplete, or of no image classifier.
            InputError: names that are not as many as the network's classes.
        """
        checkpoint = self._checkpoint()
        folder = checkpoint.whole()
        name = checkpoint.name(folder)
        declared = read_json(folder / PROCESSOR)
        if not declared:
            raise PluginError(f"model '{name}' lacks {PROCESSOR}; copy or download it again")
        own = classes_of(read_json(folder / "config.json")) or ()
        classes = named(self.classes, len(own)) if self.classes else own
        if len(set(classes)) < len(classes):
            raise PluginError(f"model '{name}' gives two classes one name; name all in a file, and set classes to it")
        prepared = declared_preprocessing(declared)
        return NetworkClassifier(load_transformers(folder, name), prepared, classes, self, name)

    def _declared(self) -> tuple[str, ...] | None:
        return classes_of(config_here(self._checkpoint()))

    def _checkpoint(self) -> Checkpoint:
        return checkpoint_of(self.model, self.revision)


PROCESSOR = "preprocessor_config.json"
_KERNELS = {2: "bilinear", 3: "bicubic"}
"""Pillow's numbers of the two interpolations that there are here."""
_CONVNEXT_CROP = 224 / 256
"""The share that ConvNeXT's processor keeps where none is declared."""
_RESIZED_WHOLE = 384
"""From this size on it resizes without cutting anything off."""


def classes_of(config: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names in a checkpoint's config.json, in the order of the outputs; None where it has none."""
    named = {int(number): str(name) for number, name in (config.get("id2label") or {}).items()}
    return tuple(named[number] for number in sorted(named)) or None


def config_here(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint's config.json where it is on this machine, else empty; nothing is fetched."""
    own = checkpoint.own_folder()
    folder = own or cached(checkpoint.model, checkpoint.revision, file(checkpoint.index))
    return read_json(folder / checkpoint.index) if folder else {}


def declared_preprocessing(declared: Mapping[str, Any]) -> Preprocessing:
    """What a preprocessor_config.json declares.

    Raises:
        PluginError: something in it that is not understood.
    """
    if declared.get("rescale_offset"):
        raise PluginError("its processor shifts values when it rescales them (rescale_offset), which is not known here")
    size, resize = _sizes(declared)
    scale = 255 * float(declared.get("rescale_factor", 1 / 255)) if declared.get("do_rescale", True) else 255.0
    normalized = declared.get("do_normalize", True)
    means, stds = (declared["image_mean"], declared["image_std"]) if normalized else ([0.0] * 3, [1.0] * 3)
    kernel = declared.get("resample", 2)
    if kernel not in _KERNELS:
        raise PluginError(
            f"its processor resamples by Pillow's number {kernel}; 2 (bilinear) and 3 (bicubic) are known"
        )
    return Preprocessing(size, resize, _KERNELS[kernel], _divided(means, scale), _divided(stds, scale))


def _sizes(declared: Mapping[str, Any]) -> tuple[int, int]:
    """Side of the inputs, and what the shorter side is brought to before they are cut out."""
    sizes = declared.get("size", 224)
    sides = {"height": sizes, "width": sizes} if isinstance(sizes, int) else dict(sizes)
    crop = declared.get("crop_size", {}) if declared.get("do_center_crop") else {}
    crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
    side = sides.get("shortest_edge", sides.get("height"))
    inner = crop.get("height", side)
    if not isinstance(side, int) or not isinstance(inner, int):
        raise PluginError(f"its processor makes images of {sizes}, and squares are needed")
    if sides.get("width", side) != side or crop.get("width", inner) != inner:
        raise PluginError(f"its processor makes images of {sizes}, and squares are needed")
    if not crop and "shortest_edge" in sides and side < _RESIZED_WHOLE:  # ConvNeXT's processor, which ResNet has too
        return side, int(side / (declared.get("crop_pct") or _CONVNEXT_CROP))
    return inner, side


def _divided(values: Sequence[float], scale: float) -> Channels:
    red, green, blue = (float(value) / scale for value in values)
    return red, green, blue


def load_transformers(folder: Path, name: str) -> Any:
    """The network of a checkpoint, which gives logits (N, classes) for inputs (N, 3, H, W).

    Raises:
        PluginError: it is none of an image classifier, or cannot be loaded.
    """
    import torch
    from transformers import AutoModelForImageClassification

    class Logits(torch.nn.Module):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(pixel_values=images).logits
            return logits

    try:
        with quiet("transformers"):
            model, loading = AutoModelForImageClassification.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        raise PluginError(
            f"model '{name}' cannot be loaded as an image classifier ({first_line(error, folder, name)}); give another"
        ) from error
    if absent := sorted(loading["missing_keys"]):
        raise PluginError(f"model '{name}' has no weights for {absent[0]}; give a checkpoint of an image classifier")
    return Logits(model)
