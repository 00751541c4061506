import math

import pytest
import torch
from torch import Tensor

from cfeval.vce.sampler.guidance import cone, consensus, lp_gradient, norms, unit


def vectors(*values: tuple[float, ...]) -> Tensor:
    """An image per tuple: one channel, one row."""
    return torch.tensor(values).view(len(values), 1, 1, -1)


def at(degrees: float, length: float = 1.0) -> tuple[float, float]:
    """The vector at an angle to (1, 0)."""
    return length * math.cos(math.radians(degrees)), length * math.sin(math.radians(degrees))


def test_a_vector_outside_the_cone_goes_to_its_boundary() -> None:
    found = cone(vectors((0.0, 4.0)), vectors((2.0, 0.0)), 30, "classifier").flatten()
    assert found.tolist() == pytest.approx([1, math.tan(math.radians(30))])
    assert float(found.norm()) == pytest.approx(1 / math.cos(math.radians(30)))
    assert float(found.norm()) == pytest.approx(1.1547, abs=1e-4)


def test_a_vector_that_disagrees_goes_to_the_boundary_on_its_side() -> None:
    found = cone(vectors(at(-150, 3)), vectors((2.0, 0.0)), 30, "classifier").flatten()
    assert found.tolist() == pytest.approx([1, -math.tan(math.radians(30))])


def test_inside_the_cone_each_convention_takes_its_own_gradient() -> None:
    robust, explained = vectors(at(20, 5)), vectors((2.0, 0.0))
    assert cone(robust, explained, 30, "classifier").flatten().tolist() == pytest.approx([1, 0])
    assert cone(robust, explained, 30, "robust").flatten().tolist() == pytest.approx(at(20))


@pytest.mark.parametrize("inside", ["classifier", "robust"])
def test_equal_gradients_stay_as_they_are(inside: str) -> None:
    gradient = torch.randn(3, 3, 4, 4, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(cone(gradient, gradient.clone(), 30, inside), unit(gradient), atol=1e-6)  # type: ignore[arg-type]


def test_opposite_gradients_have_no_side_to_go_to_and_leave_the_explained_one() -> None:
    found = cone(vectors((-1.0, 0.0)), vectors((2.0, 0.0)), 30, "classifier").flatten()
    assert found.tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("inside", ["classifier", "robust"])
def test_where_the_explained_gradient_is_0_nothing_is_explained(inside: str) -> None:
    found = cone(vectors((1.0, 1.0)), vectors((0.0, 0.0)), 30, inside)  # type: ignore[arg-type]
    assert found.flatten().tolist() == [0, 0]


def test_each_image_has_a_cone_of_its_own() -> None:
    robust, explained = vectors((0.0, 1.0), at(10)), vectors((1.0, 0.0), (1.0, 0.0))
    both = cone(robust, explained, 30, "classifier")
    assert both[1].flatten().tolist() == pytest.approx([1, 0])
    assert torch.equal(both[:1], cone(robust[:1], explained[:1], 30, "classifier"))


def test_the_lp_gradient_is_the_sign_for_p_1_and_twice_the_difference_for_p_2() -> None:
    difference = torch.tensor([-0.5, 0.0, 0.25])
    assert lp_gradient(difference, 1).tolist() == [-1, 0, 1]
    assert lp_gradient(difference, 2).tolist() == [-1, 0, 0.5]
    assert lp_gradient(difference, 1.5).tolist() == pytest.approx([-1.5 * math.sqrt(0.5), 0, 0.75])


def test_the_lp_gradient_is_that_of_autograd() -> None:
    difference = torch.randn(5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for p in (0.5, 1.0, 1.5, 2.0, 3.0):
        (expected,) = torch.autograd.grad(difference.abs().pow(p).sum(), difference)
        assert torch.allclose(lp_gradient(difference.detach(), p), expected, rtol=1e-4)


def test_a_gradient_of_norm_0_stays_0() -> None:
    assert unit(vectors((0.0, 0.0), (3.0, 4.0))).flatten().tolist() == pytest.approx([0, 0, 0.6, 0.8])
    assert norms(vectors((3.0, 4.0))).flatten().tolist() == [5]


def test_consensus_keeps_the_pixels_at_which_the_two_agree() -> None:
    explained = torch.tensor([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).view(1, 3, 1, 3)
    implicit = torch.tensor([[5.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]).view(1, 3, 1, 3)
    found = consensus(explained, implicit, 45)  # angles: 11°, 63°, none
    assert found[0, 0, 0].tolist() == [1, 0, 2]
