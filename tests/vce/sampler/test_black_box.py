"""A black box is explained by its outputs alone, in the direction that its gradients would have given."""

import pytest
import torch
from torch import Tensor

from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.guidance import covariance
from cfeval.vce.sampler.networks import Asked, Models, Networks
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import linear, respaced
from tests.vce.sampler.toys import MatrixDenoiser, ToyClassifier, ToyDenoiser, red_images

SCHEDULE = respaced(linear(1000), "10")


class Closed(ToyClassifier):
    """Gives numbers and no graph, as a classifier behind an interface does; a gradient of them is an error."""

    def logits(self, images: Tensor, timesteps: Tensor | None = None, prepared: bool = True) -> Tensor:
        assert not images.requires_grad
        return super().logits(images, timesteps, prepared).detach()


@pytest.mark.parametrize(("particles", "cosine"), [(40, 0.5), (1000, 0.96)])
def test_the_direction_is_that_of_the_gradient_through_the_denoiser(particles: int, cosine: float) -> None:
    # 12 pixels; x̂₀ is linear in x_t, with the Jacobian written out, and the classifier is linear. The cosine of an
    # estimate by n pairs in d dimensions is about √(n / (n + d)): 0.79 and 0.99.
    drawn = torch.Generator().manual_seed(0)
    matrix = 0.5 * torch.eye(12) + 0.1 * torch.randn(12, 12, generator=drawn)
    weight, noisy = torch.randn(3, 12, generator=drawn), torch.randn(4, 3, 2, 2, generator=drawn)
    denoiser, box = MatrixDenoiser(matrix, torch.zeros(12), None, 2), Closed(weight=weight)
    networks, targets = Networks(Models(denoiser, box), Compute()), torch.tensor([0, 1, 2, 1])
    asked = Asked(targets, 0, True, "logit")
    found = covariance(networks, box, asked, SCHEDULE, 3, noisy, None, (0, 1, 2, 3), 0, particles, 0.5)
    share = float(SCHEDULE.alphas_cumprod[3])
    jacobian = share**-0.5 * torch.eye(12) - (1 / share - 1) ** 0.5 * matrix
    expected = weight[targets] @ jacobian @ jacobian.T
    assert float(torch.cosine_similarity(found.flatten(1), expected).min()) > cosine


def test_a_classifier_without_gradients_is_led_to_the_target() -> None:
    classes = Classes([1] * 4, [0] * 4)
    method = Method(preset="black-box", respacing="10", scales=(4.0,))
    found = counterfactuals(red_images(), range(4), method, Models(ToyDenoiser(), Closed()), classes)
    assert ToyClassifier().logits(found.images).argmax(1).tolist() == [1] * 4
    again = counterfactuals(red_images(), range(4), method, Models(ToyDenoiser(), Closed()), classes, Compute(batch=1))
    assert torch.allclose(found.images, again.images, atol=1e-4), "particles follow from the image's seed"
