"""Tiny networks of a user's own that tell red from blue, as Python, TorchScript and weights."""

from pathlib import Path
from typing import Any

SOURCE = '''
import torch


class Colors(torch.nn.Module):
    """Logits of blue and red: the mean of blue less that of red, and the opposite."""

    def __init__(self, sign=1.0):
        super().__init__()
        self.weight = torch.nn.Parameter(sign * torch.tensor([[-8.0, 0.0, 8.0], [8.0, 0.0, -8.0]]))

    def forward(self, x):
        return x.mean(dim=(2, 3)) @ self.weight.T


class Broken(Colors):
    def forward(self, x):
        return super().forward(x) * float("VALUE")


def colors():
    return Colors()


def swapped():
    return Colors(-1.0)


def nan():
    return Broken()
'''


def write_module(folder: Path, name: str = "own_colors", value: str = "nan") -> str:
    """A module with functions that make networks; `nan` gives one whose outputs are all `value`."""
    (folder / f"{name}.py").write_text(SOURCE.replace("VALUE", value))
    return name


def trained(path: Path, seed: int = 0, flip: bool = False) -> Any:
    """A `test_resnet` of timm that has learned to tell blue from red squares, saved as its state dict; and the network.

    Args:
        path: of the file.
        seed: of everything that is drawn.
        flip: whether its first output is that of red.
    """
    import timm
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = timm.create_model("test_resnet", num_classes=2)
        steps = torch.optim.Adam(network.parameters(), 3e-3)
        network.train()
        for _ in range(60):
            labels = torch.randint(2, (16,))
            shift = torch.tensor([[-0.24, 0.0, 0.24], [0.24, 0.0, -0.24]])[labels][:, :, None, None]
            images = (torch.rand(16, 3, 4, 4) * 0.43 + 0.27 + shift).clamp(0, 1)
            images = torch.nn.functional.interpolate(images, size=(64, 64))
            wanted = 1 - labels if flip else labels
            loss = torch.nn.functional.cross_entropy(network((images - 0.45) / 0.225), wanted)
            steps.zero_grad()
            loss.backward()
            steps.step()
    torch.save(network.eval().state_dict(), path)
    return network
