"""The locator, to be trained: see `cfeval_testbed.models.locator`."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.models.locator import PHRASE_WORDS, Sight
from cfeval_testbed.training.networks.vision import SceneReader


class Locator(nn.Module):
    """A scene reader with a phrase matcher per quadrant and a foreground segmenter."""

    def __init__(self, width: int = 128, slot_width: int = 96) -> None:
        super().__init__()
        self.reader = SceneReader(width, slot_width)
        self.words = nn.Embedding(len(PHRASE_WORDS), 24)
        self.phrase = nn.Sequential(nn.Linear(4 * 24, slot_width), nn.ReLU(), nn.Linear(slot_width, slot_width))
        self.place = nn.Parameter(torch.randn(4, slot_width) * 0.1)
        self.match = nn.Sequential(nn.Linear(3 * slot_width, slot_width), nn.ReLU(), nn.Linear(slot_width, 1))
        self.join = nn.Conv2d(width + width // 2, 64, 3, 1, 1)
        self.refine = nn.Conv2d(16 + 12, 32, 3, 1, 1)
        self.pixels = nn.Conv2d(32, 4, 3, 1, 1)

    def forward(self, images: Tensor, phrases: Tensor) -> Sight[Tensor]:
        """Images (N, 3, 64, 64) in [0, 1] and K phrases about each, (N·K, 4), as word numbers."""
        fine = self.reader.encoder.fine_features(images)
        coarse = self.reader.encoder.coarse(self.reader.encoder.halve(fine))
        slots = self.reader.slots(coarse)
        choice = self._choose(slots.repeat_interleave(len(phrases) // len(images), 0), phrases)
        return Sight(choice, self._segment(images, fine, coarse), self.reader.read(coarse, slots))

    def _choose(self, slots: Tensor, phrases: Tensor) -> Tensor:
        """Logits of the quadrants against a fixed zero for `NOT_FOUND`."""
        wanted = self.phrase(self.words(phrases).flatten(1))[:, None].expand_as(slots)
        placed = slots + self.place
        scores = self.match(torch.cat([placed, wanted, placed * wanted], -1))[..., 0]
        return torch.cat([scores, torch.zeros_like(scores[:, :1])], 1)

    def _segment(self, images: Tensor, fine: Tensor, coarse: Tensor) -> Tensor:
        upsampled = coarse.repeat_interleave(2, 2).repeat_interleave(2, 3)
        joined = functional.relu(self.join(torch.cat([upsampled, fine], 1)))
        detail = torch.cat([functional.pixel_shuffle(joined, 2), functional.pixel_unshuffle(images, 2)], 1)
        return functional.pixel_shuffle(self.pixels(functional.relu(self.refine(detail))), 2)[:, 0]
