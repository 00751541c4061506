"""An oracle for own classes: a linear layer on EfficientNet-Lite's features, fitted to a folder of labelled images.

Where no other network knows the classes, it is a second opinion of another family that needs no download. It has never
seen a counterfactual, but it may have seen their originals. `cfeval check` says how many of the images it reads rightly
when they are left out of the fit.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.images import center_crop
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier
from cfeval.vce.models.linear_probe import fit_probe, with_last_layer
from cfeval.vce.originals import chance_of, limits
from cfeval.vce.plugins.classifiers import efficientnet_lite
from cfeval.vce.plugins.image_folders import opened
from cfeval.vce.plugins.image_sets import folder
from cfeval.vce.predictions import Images, from_bytes, pixels_of


class Plugin(ClassifierPlugin):
    """Which images, and on which network's features."""

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
        return f"features of {efficientnet_lite.weights_of(self.variant).name} for {classes}"

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

        trunk, preprocessing = efficientnet_lite.trained(self.variant)
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

    def _set(self) -> folder.Folder:
        return folder.Folder(folder.Plugin(path=self.path, classes=self.classes, enlarge=True, gray=True))

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
