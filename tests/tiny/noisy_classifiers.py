"""Noisy classifiers of guided-diffusion with random weights, small enough to run in a test."""

from pathlib import Path
from typing import Any

import torch

from tests.references.guided_diffusion import Classifier, randomised

FLAGS: dict[str, Any] = {
    "image_size": 32,
    "classifier_width": 32,
    "classifier_depth": 2,
    "channel_mult": (1, 1, 2),
    "classifier_attention_resolutions": (16, 8),
    "head_channels": 16,
    "device": "cpu",
    "classes": tuple("abcdefg"),
}


def original(film: bool = True, updown: bool = True, out: int = 7) -> Classifier:
    network = Classifier(32, 32, (1, 1, 2), 2, (16, 8), head_channels=16, film=film, updown=updown, out=out)
    found: Classifier = randomised(network)
    return found


def write(path: Path) -> str:
    """Writes a checkpoint that fits `FLAGS`; its path."""
    torch.save(original().state_dict(), path)
    return str(path)
