"""Distances, diversity and what the reference code does to images, against torch and limits worked out by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cfeval.vce.metrics.proximity import (
    batch_lp_distance,
    diversity,
    embedding_similarity,
    is_destroyed,
    lp_distance,
    repeat_pairs,
    stretched,
    wrapped_uint8,
)


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    first, second = (random.uniform(-1, 1, (5, 3, 4, 6)).astype(np.float32) for _ in range(2))
    return first, second


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_the_distance_of_a_pair_is_torchs_norm(pair: tuple[np.ndarray, np.ndarray], p: float) -> None:
    difference = torch.tensor(pair[0]).double() - torch.tensor(pair[1])
    expected = torch.linalg.vector_norm(difference.flatten(1), ord=p, dim=1)
    assert lp_distance(*pair, p) == pytest.approx(expected.numpy())


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_the_references_figure_is_one_norm_over_the_whole_batch(pair: tuple[np.ndarray, np.ndarray], p: float) -> None:
    whole = torch.norm(torch.tensor(pair[1]) - torch.tensor(pair[0]), p=p).item()
    assert batch_lp_distance(lp_distance(*pair, p), p) == pytest.approx(whole, rel=1e-5)


def test_distances_by_hand() -> None:
    first, second = np.zeros((2, 3, 1, 1)), np.array([[3, 4, 0], [0, 0, 0]]).reshape(2, 3, 1, 1)
    assert lp_distance(first, second, 1).tolist() == [7, 0]
    assert lp_distance(first, second, 2).tolist() == [5, 0]
    assert batch_lp_distance([3, 4], 2) == 5
    assert batch_lp_distance([3, 4], 1) == 7


def test_bytes_wrap_around_as_in_the_reference_code() -> None:
    assert wrapped_uint8([-0.5, -1, 1.02, 0, 1, 0.5, -0.001]).tolist() == [129, 1, 4, 0, 255, 127, 0]


def test_bytes_are_those_of_torch() -> None:
    images = torch.arange(256, dtype=torch.float32).div(255).mul(2).sub(1)
    assert wrapped_uint8(images.numpy()).tolist() == (images * 255).to(torch.int32).to(torch.uint8).tolist()


def test_a_batch_is_stretched_to_the_whole_range() -> None:
    images = np.array([-0.5, 0.0, 1.5], dtype=np.float32)
    assert stretched(images, -0.5, 1.5).tolist() == [-1, -0.5, 1]
    assert stretched(images, 2, 2).tolist() == [0, 0, 0]


def test_similarity_is_the_cosine() -> None:
    first = np.array([[1, 0], [1, 1], [2, 0], [0, 0]], dtype=np.float64)
    second = np.array([[0, 3], [2, 2], [-1, 0], [1, 0]], dtype=np.float64)
    assert embedding_similarity(first, second) == pytest.approx([0, 1, -1, 0])


def test_similarity_is_torchs_cosine() -> None:
    first, second = (torch.randn(7, 20, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    expected = torch.nn.functional.cosine_similarity(first.double(), second.double())
    assert embedding_similarity(first.numpy(), second.numpy()) == pytest.approx(expected.numpy(), abs=1e-12)


def test_diversity_counts_each_image_once() -> None:
    assert repeat_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert diversity([[0.3], [0.1, 0.2, 0.3]]) == pytest.approx(0.25)
    assert diversity([[0.0, 0.0, 0.0]]) == 0


@given(seed=st.integers(0, 1000), strength=st.sampled_from([0.02, 0.1, 0.5, 0.8, 1.2, 2.0, 4.0]))
def test_noise_destroys_an_image_when_it_is_as_strong_as_the_image(seed: int, strength: float) -> None:
    random = np.random.default_rng(seed)
    image = random.choice([-0.8, 0.8], (1, 3, 8, 8)).repeat(4, 2).repeat(4, 3)
    made = image + strength * image.std() * random.normal(size=image.shape)
    assert is_destroyed(image, made)[0] == (strength > 1)
    assert not is_destroyed(image, image)[0]
    assert is_destroyed(image, np.broadcast_to(image.mean(axis=(2, 3), keepdims=True), image.shape))[0]
