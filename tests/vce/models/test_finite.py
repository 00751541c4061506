"""Weights and outputs that are no numbers: refused whatever holds them, by name; masks of attention are fine."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import PluginError
from cfeval.vce.models.classifier import check_outputs, check_weights

ODD = st.sampled_from([float("nan"), float("inf"), float("-inf")])


@given(value=ODD, place=st.integers(0, 11), layer=st.sampled_from(["0.weight", "0.bias", "1.weight", "1.bias"]))
def test_any_weight_that_is_no_number_is_found(value: float, place: int, layer: str) -> None:
    network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 4))
    check_weights(network, "w.pt")
    with torch.no_grad():
        flat = dict(network.named_parameters())[layer].view(-1)
        flat[place % len(flat)] = value
    with pytest.raises(PluginError, match=rf"weights of 'w.pt' are not finite: 1 of {layer} are NaN or infinite"):
        check_weights(network, "w.pt")


def test_a_buffer_may_be_infinite_and_not_nan() -> None:
    network = torch.nn.BatchNorm2d(2)
    network.register_buffer("mask", torch.tensor([0.0, float("-inf")]))
    check_weights(network, "w.pt")
    network.running_mean[0] = float("nan")  # type: ignore[index]
    with pytest.raises(PluginError, match="running_mean"):
        check_weights(network, "w.pt")


@given(value=ODD, images=st.integers(1, 5), place=st.integers(0, 14))
def test_any_output_that_is_no_number_is_found(value: float, images: int, place: int) -> None:
    outputs = np.zeros((images, 3))
    check_outputs(outputs, "oracle 'o'")
    outputs.flat[place % outputs.size] = value
    with pytest.raises(PluginError, match=rf"oracle 'o': its outputs are not finite .* for 1 of {images} images"):
        check_outputs(outputs, "oracle 'o'")
