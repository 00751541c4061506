"""Oracles of attributes: a network with an output for each, and tables of labels.

Tables of labels are read as CelebA and CelebA-HQ have them: a line of names (before it the number of lines, or not),
then a line an image: its name and 1 for what is there, else −1 or 0; between them commas or spaces.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import InputError
from cfeval.core.text_files import text_lines
from cfeval.vce.models.classifier import check_outputs

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Bools = npt.NDArray[np.bool_]
_PIECE = 16
"""Images that a processor is given at once."""
NOT = "not "
"""What stands before an attribute in the name of the class of images that lack it."""


class NetworkAttributes:
    """See `AttributeClassifier`; of a network that gives a logit for each attribute."""

    def __init__(
        self,
        network: "Module",
        size: int,
        mean: Sequence[float],
        std: Sequence[float],
        attributes: Sequence[str],
        labels: Bools | None,
        device: str,
        threshold: float = 0.5,
    ) -> None:
        """Freeze a network and put it on its device.

        Args:
            size: height and width of its inputs, pixels.
            mean, std: of red, green and blue, for values in [0, 1].
            attributes: names of its outputs.
            labels: (M, A), or None.
            device: where it computes.
            threshold: the probability above which an attribute is there.
        """
        import torch

        self.network = network.eval().requires_grad_(False).to(device)
        self.size, self.device = size, device
        self.attributes, self.labels = tuple(attributes), labels
        self.mean, self.std = (torch.tensor(value, device=device).view(1, 3, 1, 1) for value in (mean, std))
        self._least = float(torch.logit(torch.tensor(threshold, dtype=torch.float64)))

    def decisions(self, images: "Tensor") -> "Tensor":
        """See `AttributeClassifier.decisions`."""
        import torch

        size = _PIECE if self.device == "cpu" else max(1, len(images))
        with torch.inference_mode():
            return torch.cat([self._of_piece(piece) for piece in torch.split(images, size)])

    def of_class(self, name: str) -> frozenset[str]:
        """See `AttributeClassifier.of_class`."""
        return of_class(name, self.attributes)

    def _of_piece(self, images: "Tensor") -> "Tensor":
        from torch.nn.functional import interpolate

        values = images.to(self.device).float() / 255
        if values.shape[-2:] != (self.size, self.size):
            size = (self.size, self.size)
            values = interpolate(values, size=size, mode="bicubic", align_corners=False)
        logits: Tensor = self.network((values - self.mean) / self.std)
        check_outputs(logits.float().cpu().numpy(), "the oracle of attributes")
        return (logits > self._least).cpu()


def one_attribute(network: "Module", place: int) -> "Module":
    """A classifier of two classes from a network with an output for each attribute: it is there, it is not.

    The logits are the output and 0, so that softmax is the output's sigmoid.
    """
    import torch

    class OneAttribute(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: "Tensor") -> "Tensor":
            logits = self.network(images)[:, place]
            return torch.stack((logits, torch.zeros_like(logits)), dim=1)

    return OneAttribute()


def of_class(name: str, attributes: Sequence[str]) -> frozenset[str]:
    """The attribute that a class is named after; none of a class `not …`, or of another name.

    Case, spaces and `_` do not count.
    """
    return frozenset(attribute for attribute in attributes if _plain(attribute) == _plain(name))


def read_labels(path: Path, attributes: Sequence[str]) -> Bools:
    """The labels of a dataset's attributes, (M, A), in the order of `attributes`.

    Raises:
        InputError: the table cannot be read or lacks an attribute; one line that names it.
    """
    lines = [line.replace(",", " ").split() for line in text_lines(path)]
    rows = [line for line in lines if line]
    if rows and len(rows[0]) == 1:
        rows = rows[1:]
    width = len(rows[1]) - 1 if len(rows) > 1 else 0
    names = rows[0][-width:] if width else []
    if lacking := [name for name in attributes if name not in names]:
        raise InputError(f"{path}: no column '{lacking[0]}'; its columns must be the attributes, here {len(names)}")
    values = [row[1:] for row in rows[1:]]
    for number, row in enumerate(values, start=1):
        if len(row) != width or {*row} - {"1", "-1", "0"}:
            raise InputError(f"{path}: line {number} of the labels is not a name and {width} of 1, -1 or 0")
    table = np.array([[value == "1" for value in row] for row in values], dtype=np.bool_)
    return table[:, [names.index(name) for name in attributes]]


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").lower().split())
