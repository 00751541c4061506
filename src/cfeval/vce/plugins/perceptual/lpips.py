"""LPIPS, the learned perceptual distance (Zhang et al. 2018; DBVCE, Section 3.2, with AlexNet).

The heads come with the package lpips (version 0.1 of the weights). The trunk is torchvision's network with its
ImageNet weights, which no package carries: they are in torch's cache once torchvision has downloaded them, or in a file
that `weights` names. Without them there is no LPIPS: a random trunk gives other figures.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from cfeval.core.errors import BackendError
from cfeval.core.registry import Diagnostic, PluginOptions, Resources
from cfeval.inference.local import devices
from cfeval.inference.local.devices import DEVICE
from cfeval.inference.local.libraries import file_in, first_line
from cfeval.vce.interfaces import PerceptualDistance
from cfeval.vce.models import classifier
from cfeval.vce.models.lpips import load_lpips

if TYPE_CHECKING:
    from torchvision.models import WeightsEnum

PACKAGE = "lpips"


class Options(PluginOptions):
    """Which trunk, where its weights are, and where it computes."""

    net: Literal["alex", "vgg"] = "alex"
    """alex (the paper's) or vgg."""
    weights: str = ""
    """File with torchvision's weights of AlexNet or VGG-16; empty: the one in torch's cache."""
    download: bool = False
    """Whether torchvision may download them where they are not in torch's cache."""
    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The file of the trunk's weights, where it is named."""
    return (options.weights,) if options.weights else ()


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether heads, trunk and device are there."""

    def about() -> str:
        path = _trunk_file(options)
        if path.is_file():
            return f"weights {_heads(options).name} and {path.name} are here"
        if not options.download or options.weights:
            raise _missing(options, path)
        return f"weights {path.name} are downloaded when they are first needed"

    return classifier.findings(options.device, about)


def build(options: Options) -> PerceptualDistance:
    """The distance, its network loaded.

    Raises:
        BackendError: heads, trunk or device are not there; a file does not fit.
    """
    from cfeval.vce.models import lpips as trunks
    from cfeval.vce.models.lpips import PerceptualNetwork

    path = _trunk_file(options)
    if not path.is_file():
        _download(options, path)
    trunk = {"alex": trunks.alexnet, "vgg": trunks.vgg16}[options.net]()
    network = PerceptualNetwork(trunk, f"lpips ({options.net})")
    load_lpips(network, path, _heads(options))
    return network.eval().requires_grad_(False).to(devices.chosen(options.device))


def _heads(options: Options) -> Path:
    return file_in(PACKAGE, f"weights/v0.1/{options.net}.pth")


def _published(options: Options) -> "WeightsEnum":
    from torchvision.models import AlexNet_Weights, VGG16_Weights

    found: WeightsEnum = {"alex": AlexNet_Weights, "vgg": VGG16_Weights}[options.net].IMAGENET1K_V1
    return found


def _trunk_file(options: Options) -> Path:
    import torch

    if options.weights:
        return Path(options.weights)
    return Path(torch.hub.get_dir()) / "checkpoints" / Path(_published(options).url).name


def _download(options: Options, path: Path) -> None:
    if options.weights or not options.download:
        raise _missing(options, path)
    try:
        _published(options).get_state_dict(progress=False, check_hash=True)
    except (OSError, RuntimeError) as error:
        raise BackendError(f"weights of LPIPS ({options.net}) cannot be downloaded: {first_line(error)}") from error


def _missing(options: Options, path: Path) -> BackendError:
    if options.weights:
        return BackendError(f"{path}: no such file of weights for LPIPS ({options.net})")
    return BackendError(
        f"LPIPS ({options.net}) needs torchvision's weights {path.name}, which are not in torch's cache; name their "
        "file (weights), allow the download (download: true), or take st_lpips"
    )
