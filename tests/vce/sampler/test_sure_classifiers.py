"""Where a classifier is sure of the target, the direction that is left to go is the right one, also in float32."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from cfeval.vce.method import Compute
from cfeval.vce.sampler.guidance import unit
from cfeval.vce.sampler.networks import Asked, Models, Networks
from tests.vce.sampler.toys import CPU, ToyDenoiser

DRAWN = torch.Generator().manual_seed(2)
WEIGHTS = torch.randn(4, 48, generator=DRAWN, dtype=torch.float64) / 7
IMAGES = torch.rand(3, 3, 4, 4, generator=DRAWN, dtype=torch.float64) - 0.5
TARGETS = torch.zeros(3, dtype=torch.long)


@dataclass
class Linear:
    """Four classes; the first leads the others by `lead` and what an image shows."""

    lead: float
    classes: tuple[str, ...] = ("a", "b", "c", "d")
    robust: bool = False
    timed: bool = False
    device: torch.device = CPU

    def logits(self, images: Tensor, timesteps: Tensor | None = None, prepared: bool = True) -> Tensor:
        found: Tensor = images.flatten(1) @ WEIGHTS.to(images).T
        return found + self.lead * torch.eye(4)[0].to(images)


def by_hand(lead: float) -> Tensor:
    """∇ log p = w_target − Σ p w, in float64, as the weighted sum of the differences."""
    p = torch.softmax(Linear(lead).logits(IMAGES), dim=1)
    return ((WEIGHTS[0] - WEIGHTS)[None] * p[:, :, None]).sum(1).view_as(IMAGES)


@pytest.mark.parametrize("lead", [0.0, 8.0, 17.0, 25.0, 40.0, 80.0])
def test_the_gradient_of_a_sure_classifier_points_where_it_should(lead: float) -> None:
    classifier = Linear(lead)
    networks = Networks(Models(ToyDenoiser(), classifier), Compute())
    found = networks.class_gradient(classifier, IMAGES.float(), Asked(TARGETS, 0, True, "log-probability"), None)
    assert found.dtype == torch.float32
    assert torch.allclose(unit(found.double()), unit(by_hand(lead)), atol=1e-4)
