"""AlexNet and VGG give the logits and gradients of torchvision's own networks, on small images and on large ones."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torchvision.models import AlexNet
from torchvision.models.vgg import VGG

from cfeval.vce.models.small_images import shorten
from tests.slow import first_fast


def alexnet() -> nn.Module:
    network = AlexNet()
    network.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 36, 8), nn.ReLU(), nn.Linear(8, 5))
    return network


def vgg() -> nn.Module:
    features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.MaxPool2d(32))
    with torch.device("meta"):  # its own classifier has a hundred million weights, to be drawn for nothing
        network = VGG(features, num_classes=5, init_weights=False)
    network.classifier = nn.Sequential(nn.Linear(6 * 49, 8), nn.ReLU(), nn.Linear(8, 5))
    return network


@pytest.mark.parametrize("make", first_fast([vgg, alexnet], 1))
@pytest.mark.parametrize("side", first_fast([64, 160], 1))
def test_logits_and_gradients_are_the_networks_own(make: Callable[[], nn.Module], side: int) -> None:
    torch.manual_seed(0)
    network = make().eval().requires_grad_(False)
    images = torch.rand(2, 3, side, side, requires_grad=True)
    found = []
    for change in (lambda _: None, shorten):
        change(network)
        logits = network(images)
        found.append((logits.detach(), torch.autograd.grad(logits[:, 2].sum(), images)[0]))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)


def test_other_networks_stay_as_they_are() -> None:
    network = nn.Sequential(nn.AdaptiveAvgPool2d(6), nn.Flatten(), nn.Linear(108, 2))
    before = str(network)
    shorten(network)
    assert str(network) == before
