"""The encoder and the scene reader, to be trained: see `cfeval_testbed.models.vision`."""

import torch
from torch import Tensor, nn

from cfeval_testbed.models.vision import BLOCK, HEADS, SlotLogits
from cfeval_testbed.records import BACKGROUNDS


def _convolution(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class Encoder(nn.Module):
    """Images (N, 3, 64, 64) in [0, 1] to features (N, width, 8, 8)."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.unshuffle = nn.PixelUnshuffle(BLOCK)
        self.fine = _convolution(48, width // 2, 1)
        self.halve = _convolution(width // 2, width, 2)
        self.coarse = _convolution(width, width, 1)

    def fine_features(self, images: Tensor) -> Tensor:
        """Features (N, width / 2, 16, 16) before the last halving."""
        features: Tensor = self.fine(self.unshuffle(images * 2 - 1))
        return features

    def forward(self, images: Tensor) -> Tensor:
        """Features of images."""
        features: Tensor = self.coarse(self.halve(self.fine_features(images)))
        return features


class SlotPooling(nn.Module):
    """Features (N, width, 8, 8) to one vector per quadrant, (N, 4, slot_width)."""

    def __init__(self, width: int = 128, slot_width: int = 96) -> None:
        super().__init__()
        self.mix = nn.Sequential(
            nn.Conv2d(width, slot_width, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(slot_width, slot_width, 4, 4),
            nn.ReLU(inplace=True),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Vectors of quadrants."""
        slots: Tensor = self.mix(features).flatten(2).transpose(1, 2)
        return slots


class SceneReader(nn.Module):
    """Names presence, shape, color and size in each quadrant, and the background."""

    def __init__(self, width: int = 128, slot_width: int = 96) -> None:
        super().__init__()
        self.encoder = Encoder(width)
        self.slots = SlotPooling(width, slot_width)
        self.slot_head = nn.Linear(slot_width, sum(HEADS))
        self.background_head = nn.Linear(width, len(BACKGROUNDS))

    def forward(self, images: Tensor) -> SlotLogits[Tensor]:
        """What is in the images (N, 3, 64, 64)."""
        features = self.encoder(images)
        return self.read(features, self.slots(features))

    def read(self, features: Tensor, slots: Tensor) -> SlotLogits[Tensor]:
        """Logits from features (N, width, 8, 8) and slots (N, 4, slot_width)."""
        presence, shape, color, size = self.slot_head(slots).split(HEADS, dim=-1)
        return SlotLogits(presence[..., 0], shape, color, size, self.background_head(features.mean((2, 3))))


def name_probabilities(logits: SlotLogits[Tensor]) -> Tensor:
    """Probabilities of presence and of each shape, color and size, (N, 4, 16); the attributes of nothing are zero."""
    presence = logits.presence.sigmoid()[..., None]
    attributes = (logits.shape.softmax(-1), logits.color.softmax(-1), logits.size.softmax(-1))
    return torch.cat([presence, *(attribute * presence for attribute in attributes)], -1)
