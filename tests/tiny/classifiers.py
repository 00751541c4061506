"""Small classifiers with random weights as files, and folders of small labelled images."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

ARCHITECTURE = "squeezenet1_1"
"""A small one of torchvision (its weights for 1000 classes: 5 MB)."""
NAMES = ("ant", "bee", "cat")


def network(seed: int = 3, classes: int = len(NAMES)) -> Any:
    """The architecture with weights that the seed draws."""
    import torch
    from torchvision.models import get_model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_model(ARCHITECTURE, weights=None, num_classes=classes).eval()


def write_names(folder: Path) -> str:
    """A file with the names of the classes."""
    path = folder / "names.txt"
    path.write_text("\n".join(NAMES))
    return str(path)


def write_weights(path: Path, prefix: str = "", **around: Any) -> str:
    """A file of torch.save with the weights, their names behind a prefix, and what training code puts around them."""
    import torch

    state = {f"{prefix}{name}": tensor for name, tensor in network().state_dict().items()}
    torch.save({"state_dict": state, **around} if around else state, path)
    return str(path)


def images(seed: int = 0, count: int = 2, height: int = 224, width: int = 224) -> Any:
    """Smooth random images (N, 3, H, W) in [−1, 1]."""
    import torch

    drawn = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, 3, 8, 8, generator=drawn) * 2 - 1
    return torch.nn.functional.interpolate(coarse, size=(height, width), mode="bilinear", align_corners=False)


def write_images(folder: Path, counts: Mapping[str, int], size: tuple[int, int] = (60, 48)) -> Path:
    """A folder of each name with so many images; no two are the same."""
    for row, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            pixels = np.random.default_rng([row, number]).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
            PIL.Image.fromarray(pixels).save(folder / name / f"{number:02d}.png")
    return folder


def write_script(path: Path) -> str:
    """The architecture as a file of TorchScript."""
    import warnings

    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(network(), images()).save(path)  # type: ignore[no-untyped-call]
    return str(path)


def write_colors(folder: Path, count: int = 6, size: int = 64) -> Path:
    """A folder of reddish and one of bluish images, `red` and `blue`; no two are the same."""
    for row, (name, shift) in enumerate((("blue", (-60, 0, 60)), ("red", (60, 0, -60)))):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            coarse = np.random.default_rng([row, number]).integers(70, 180, (4, 4, 3)) + np.array(shift)
            pixels = coarse.clip(0, 255).astype(np.uint8).repeat(size // 4, 0).repeat(size // 4, 1)
            PIL.Image.fromarray(pixels).save(folder / name / f"{number:02d}.png")
    return folder
