"""The network that counts in puzzles, to be trained: see `cfeval_testbed.models.puzzles`."""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cfeval_testbed.models.puzzles import CELLS, COLUMNS, GROUPS, LEAST_WIDTH, MOST, ROWS, Counted, Seen

_WIDTH, _THOUGHT = 48, 64


class _Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.GroupNorm(GROUPS, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GroupNorm(GROUPS, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return cast(Tensor, x + self.path(x))


class PuzzleNetwork(nn.Module):
    """Counts what a question is about."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(6, 24, 6, 2, 2), nn.ReLU(), nn.Conv2d(24, _WIDTH, 4, 2, 1))
        self.near = _Block(_WIDTH)
        self.down = nn.ModuleList([nn.Conv2d(_WIDTH, 64, 4, 2, 1), nn.Conv2d(64, 64, 4, 2, 1)])
        self.far = nn.ModuleList([nn.Sequential(_Block(64), _Block(64)), nn.Sequential(_Block(64), _Block(64))])
        self.up = nn.Conv2d(64, _WIDTH, 1)
        self.together = _Block(_WIDTH)
        self.thing = nn.Conv2d(_WIDTH, 1, 1)
        nn.init.constant_(self.thing.bias, -4.0)  # type: ignore[arg-type]  # most cells are empty
        self.words = nn.Embedding(words, 32, padding_idx=0)
        self.phrases = nn.Conv1d(32, _THOUGHT, 3, padding=1)
        self.thought = nn.Linear(_THOUGHT, _THOUGHT)
        self.lens = nn.Conv2d(_WIDTH + 2, _THOUGHT, 1)
        self.film = nn.Linear(_THOUGHT, 2 * _THOUGHT)
        self.pointer = nn.Sequential(nn.Conv2d(_THOUGHT, _THOUGHT, 1), nn.ReLU(), nn.Conv2d(_THOUGHT, 1, 1))
        self.manner = nn.Linear(_THOUGHT, 2)

    def forward(self, images: Tensor, words: Tensor) -> Tensor:
        """Log-probabilities of 0 … 40, (N, 41), for images (N, 3, 112, 112) and words (N, 64)."""
        return self.count(self.look(images), self.read(words)).numbers

    def look(self, images: Tensor) -> Seen[Tensor]:
        """What is where, whatever is asked."""
        ink = 1 - images
        fine = self.near(self.stem(torch.cat([ink, (8 * ink).clamp(max=1)], 1)))
        middle = self.far[0](self.down[0](fine))
        coarse = self.far[1](self.down[1](middle))
        around = self.up(middle + functional.interpolate(coarse, scale_factor=2.0))
        features = self.together(fine + functional.interpolate(around, scale_factor=2.0))
        return Seen(features, functional.softplus(self.thing(features.relu())).squeeze(1))

    def read(self, words: Tensor) -> Tensor:
        """What is asked (N, 64): of every kind of phrase the clearest, wherever in the question it stands."""
        phrases = self.phrases(self.words(words).transpose(1, 2)).relu()
        return cast(Tensor, self.thought(phrases.amax(2)).relu())

    def count(self, seen: Seen[Tensor], asked: Tensor) -> Counted[Tensor]:
        """What a question is about, and how many that is: altogether, or in the sixth of the image with most."""
        places = _places(seen.features)
        scale, shift = self.film(asked)[:, :, None, None].chunk(2, 1)
        pointed = self.lens(torch.cat([seen.features.relu(), places], 1)) * (1 + scale) + shift
        things = seen.things * torch.sigmoid(self.pointer(pointed.relu())).squeeze(1)
        altogether, width = self.manner(asked).unbind(1)
        sixths = _sixths(things)
        share = torch.sigmoid(altogether)
        number = share * sixths.sum(1) + (1 - share) * sixths.amax(1)
        return Counted(things, _spread(number, functional.softplus(width) + LEAST_WIDTH))


def _places(features: Tensor) -> Tensor:
    """Where every cell is, across and down, from −1 to 1: (N, 2, 28, 28)."""
    line = torch.linspace(-1, 1, CELLS, dtype=features.dtype)
    down, across = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([across, down]).expand(len(features), -1, -1, -1)


def _sixths(things: Tensor) -> Tensor:
    """Sums (N, 6) over two rows and three columns of cells."""
    parts = [
        things[:, top:bottom, left:right].sum((1, 2))
        for top, bottom in pairwise(ROWS)
        for left, right in pairwise(COLUMNS)
    ]
    return torch.stack(parts, 1)


def _spread(number: Tensor, width: Tensor) -> Tensor:
    """Log-probabilities of 0 … 40 around numbers (N,): a normal distribution of this width at whole numbers."""
    line = torch.arange(MOST + 1, dtype=number.dtype)
    return torch.log_softmax(-(((line - number[:, None]) / width[:, None]) ** 2) / 2, 1)
