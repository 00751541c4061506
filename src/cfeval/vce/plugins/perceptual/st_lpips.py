"""ST-LPIPS, the shift-tolerant perceptual distance (Ghildyal and Liu 2022, "Shift-Tolerant Perceptual Similarity
Metric"). It is not LPIPS: its figures have a name of their own.

The weights of trunk and heads come with the package stlpips-pytorch (BSD 2-Clause), of whose modules nothing is
imported.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from cfeval.core.registry import Diagnostic, PluginOptions, Resources
from cfeval.inference.local import devices
from cfeval.inference.local.devices import DEVICE
from cfeval.inference.local.libraries import file_in
from cfeval.vce.interfaces import PerceptualDistance
from cfeval.vce.models import classifier
from cfeval.vce.models.lpips import load_st_lpips

PACKAGE = "stlpips_pytorch"


class Options(PluginOptions):
    """Which trunk, and where it computes."""

    net: Literal["alex", "vgg"] = "alex"
    """alex (2.5 M weights) or vgg (14.7 M, slower)."""
    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision; float64 gives the same figures on every processor, at about twice the time."""


def needs(options: Options) -> Resources:
    """A GPU, unless the processor is asked for."""
    return Resources(gpu=0 if options.device == "cpu" else 1)


def examine(options: Options) -> Iterator[Diagnostic]:
    """Whether the weights and the device are there."""
    return classifier.findings(options.device, lambda: f"weights {_weights(options).name} are here")


def build(options: Options) -> PerceptualDistance:
    """The distance, its network loaded.

    Raises:
        BackendError: the package or the device is not there.
    """
    from cfeval.vce.models import lpips as trunks
    from cfeval.vce.models.lpips import PerceptualNetwork

    trunk = {"alex": trunks.shift_tolerant_alexnet, "vgg": trunks.shift_tolerant_vgg16}[options.net]()
    network = PerceptualNetwork(trunk, f"st_lpips ({options.net})")
    load_st_lpips(network, _weights(options))
    ready = network.eval().requires_grad_(False).to(devices.chosen(options.device))
    return ready.double() if options.dtype == "float64" else ready


def _weights(options: Options) -> Path:
    return file_in(PACKAGE, f"weights/vST0.0/{options.net}_shift_tolerant.pth")
