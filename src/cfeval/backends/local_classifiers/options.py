"""The options that every classifier has."""

from typing import Literal

from pydantic import Field

from cfeval.backends.local_models.devices import DEVICE
from cfeval.backends.registry import PluginOptions

Library = Literal["torchvision", "timm"]
"""Where an architecture is defined."""
Interpolation = Literal["bilinear", "bicubic"]


class ClassifierOptions(PluginOptions):
    """Where it computes, how, and what it is declared to be."""

    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """What the network computes in; images and logits are float32."""
    robust: bool = False
    """Whether it was trained against perturbed images, so that the cone may rest on it."""
    temperature: float = Field(1.0, gt=0)
    """Calibration temperature that the logits are divided by (docs/classifiers.md has DVCE's)."""
    crop: bool = False
    """Whether what lies at the edges is cut off, as in the network's own evaluation. Not needed where the image set
    has cropped its images, and a classifier then does not see all that a counterfactual changes."""
    perturbation: float = Field(0.0, ge=0, le=1)
    """Noise on every weight, as a share of the standard deviation of all weights together; `classifier_perturbation` in
    DBVCE's code."""
    seed: int = Field(0, ge=0)
    """Of what is drawn: the perturbation, and random weights."""


class ArchitectureOptions(ClassifierOptions):
    """An architecture by name, and the classes that its outputs stand for."""

    architecture: str = Field(min_length=1)
    """The name that the library has for it, such as resnet50."""
    library: Library = "torchvision"
    """Where it is defined: torchvision or timm."""
    classes: str = ""
    """File with the names of the classes in the order of the outputs: a name a line, or a JSON list. Empty: ImageNet's
    where there are 1000, else their numbers."""
    num_classes: int | None = Field(None, ge=2)
    """Number of classes; none: as many as `classes` names, else 1000."""
