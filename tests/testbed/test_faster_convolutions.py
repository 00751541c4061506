"""The faster convolutions of torch are the direct ones, forwards and backwards; those of numpy are torch's."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from cfeval.inference.local.depthwise import DepthwiseConvolution, fits_depthwise
from cfeval_testbed.models.convolution import Convolution
from cfeval_testbed.models.layers import erf
from cfeval_testbed.models.precision import precise
from cfeval_testbed.models.winograd import WinogradConvolution, fits
from cfeval_testbed.training.common import for_inference


def _layer(channels: int = 5, outputs: int = 7) -> nn.Conv2d:
    torch.manual_seed(channels)
    return nn.Conv2d(channels, outputs, 3, 1, 1).double().requires_grad_(False)


def _apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).detach().abs().max() / one.detach().abs().max())


@pytest.mark.parametrize("size", [(3, 8, 4), (33, 16, 16), (130, 4, 4)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_it_is_the_direct_convolution(size: tuple[int, int, int], layout: torch.memory_format) -> None:
    direct = _layer()
    images = torch.randn(size[0], 5, *size[1:], dtype=torch.float64).contiguous(memory_format=layout)
    assert _apart(direct(images), WinogradConvolution(direct)(images)) < 1e-13


def test_its_gradient_is_the_direct_one() -> None:
    direct = _layer()
    fast = WinogradConvolution(direct)
    images = torch.randn(4, 5, 8, 12, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(4, 7, 8, 12, dtype=torch.float64)
    wanted, found = (torch.autograd.grad(layer(images), images, upstream)[0] for layer in (direct, fast))
    assert _apart(wanted, found) < 1e-13


def test_sizes_that_are_no_multiples_of_four_are_convolved_directly() -> None:
    direct, images = _layer(), torch.randn(2, 5, 6, 8, dtype=torch.float64)
    assert torch.equal(direct(images), WinogradConvolution(direct)(images))


def _depthwise(kernel: int = 5) -> nn.Conv2d:
    torch.manual_seed(kernel)
    return nn.Conv2d(6, 6, kernel, padding=kernel // 2, groups=6).double().requires_grad_(False)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("kernel", [3, 5])
def test_channels_by_themselves_are_the_direct_convolution_and_its_gradient(
    kernel: int, layout: torch.memory_format
) -> None:
    direct = _depthwise(kernel)
    images = torch.randn(3, 6, 7, 4, dtype=torch.float64).contiguous(memory_format=layout).requires_grad_()
    wanted, found = direct(images), DepthwiseConvolution(direct)(images)
    assert _apart(wanted, found) < 1e-13
    upstream = torch.randn(3, 6, 7, 4, dtype=torch.float64)
    assert _apart(*(torch.autograd.grad(made, images, upstream)[0] for made in (wanted, found))) < 1e-13


def test_only_layers_that_fit_are_exchanged_and_once() -> None:
    network = nn.Sequential(_layer(), nn.Conv2d(7, 7, 3, 2, 1), _depthwise(), nn.Conv2d(7, 2, 1))
    kinds = [type(layer) for layer in precise(precise(network))]
    assert kinds == [WinogradConvolution, nn.Conv2d, DepthwiseConvolution, nn.Conv2d]
    assert isinstance(network[0].direct, nn.Conv2d)


def test_what_still_learns_is_left_alone() -> None:
    assert not fits(nn.Conv2d(3, 3, 3, 1, 1))
    assert not fits_depthwise(nn.Conv2d(3, 3, 3, 1, 1, groups=3))


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(3, 1, 1), (3, 2, 1), (4, 4, 0), (6, 2, 2), (1, 1, 0)])
@pytest.mark.parametrize("size", [(40, 8, 12), (2, 10, 8)])
def test_numpy_convolves_as_torch(kernel: int, stride: int, padding: int, size: tuple[int, int, int]) -> None:
    torch.manual_seed(kernel)
    layer = nn.Sequential(nn.Conv2d(5, 7, kernel, stride, padding), nn.BatchNorm2d(7)).double().eval()
    layer[1].running_mean.normal_()
    layer[1].running_var.uniform_(0.5, 2)
    images = torch.randn(size[0], *size[1:], 5, dtype=torch.float64)
    weights = for_inference(layer.state_dict())
    made = Convolution(weights.part("0"), stride, padding, norm=weights.part("1"))(images.numpy())
    wanted = layer(images.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    assert _apart(wanted, torch.from_numpy(made)) < 1e-13


def test_the_error_function_is_right_in_all_its_ranges() -> None:
    values = np.concatenate([np.linspace(-7, 7, 4001), [0.46875, -0.46875, 4, -4, 1e-300, 40]])
    wanted = np.array([math.erf(value) for value in values])
    np.testing.assert_allclose(erf(values), wanted, rtol=1e-15, atol=0)
    below = values[values < -4]
    assert np.abs((1 + erf(below)) - np.array([math.erfc(-value) for value in below])).max() < 2e-16
