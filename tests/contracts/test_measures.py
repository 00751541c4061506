"""Every perceptual distance and every feature extractor passes its family's contract."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from tests.slow import fast_only
from tests.vce import measure_weights

Spec = dict[str, Any]
EXAMPLES: dict[str, dict[str, Callable[[], Spec]]] = {
    "perceptual_metrics": {"lpips": lambda: {"weights": str(measure_weights.trunk("alex"))}, "st_lpips": dict},
    "feature_extractors": {
        "efficientnet_lite": lambda: {"size": 64},
        "inception": lambda: {"weights": str(measure_weights.inception()), "width": 64},
        "simsiam": lambda: {"weights": str(measure_weights.simsiam())},
        "vggface2": lambda: {"weights": str(measure_weights.vggface2())},
    },
}
"""For every plugin the options with which it is put to the test."""
QUICK = (("perceptual_metrics", "st_lpips"), ("feature_extractors", "efficientnet_lite"))
SIZE = 40


def cases(family: str) -> list[str]:
    return sorted(EXAMPLES[family])


def specified(family: str, name: str) -> Spec:
    return {"plugin": name, "device": "cpu", **EXAMPLES[family][name]()}


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    """Three images, uint8."""
    return torch.randint(0, 256, (3, 3, SIZE, SIZE), dtype=torch.uint8, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("family", sorted(EXAMPLES))
def test_every_plug_in_has_a_contract_test(family: str) -> None:
    assert set(registry.names(family)) == set(EXAMPLES[family])


@pytest.mark.parametrize(
    ("family", "name"), fast_only([(family, name) for family in EXAMPLES for name in cases(family)], *QUICK)
)
def test_what_a_plug_in_says_of_itself(family: str, name: str) -> None:
    spec = specified(family, name)
    assert registry.resources(family, spec).gpu == 0
    assert registry.resources(family, spec | {"device": "auto"}).gpu == 1
    assert all(finding.fine for finding in registry.diagnose(family, spec))
    assert registry.dependencies(family, spec) == ((spec["weights"],) if "weights" in spec else ())
    with pytest.raises(ParamsError, match="here: unknown option 'no_such_option'"):
        registry.check(family, spec | {"no_such_option": 1}, "here")


@pytest.mark.parametrize("name", cases("perceptual_metrics"))
def test_a_distance_is_nothing_for_equal_images_and_grows_with_the_change(name: str, images: torch.Tensor) -> None:
    measure = registry.build("perceptual_metrics", specified("perceptual_metrics", name))
    first = images.float() / 127.5 - 1
    noise = torch.randn(first.shape, generator=torch.Generator().manual_seed(5))
    little, much = (measure.distance(first, (first + share * noise).clamp(-1, 1)) for share in (0.02, 0.5))
    assert little.shape == (3,)
    assert measure.distance(first, first).tolist() == [0, 0, 0]
    assert (little > 0).all()
    assert (little < much).all()
    alone = measure.distance(first[1:2], (first + 0.5 * noise).clamp(-1, 1)[1:2])
    assert alone.item() == pytest.approx(much[1].item(), rel=1e-5)
    assert not much.requires_grad


@pytest.mark.parametrize("name", fast_only(cases("feature_extractors"), "efficientnet_lite"))
def test_an_extractor_gives_each_image_the_features_of_its_own(name: str, images: torch.Tensor) -> None:
    extractor = registry.build("feature_extractors", specified("feature_extractors", name))
    together = extractor.features(images)
    assert (together.shape, together.dtype) == ((3, extractor.width), torch.float64)
    assert torch.isfinite(together).all()
    assert torch.allclose(extractor.features(images[1:2]), together[1:2], rtol=1e-3, atol=1e-5)
    assert not torch.allclose(together[0], together[1])
    assert torch.equal(extractor.features(images), together)
