"""Feature extractors: against the networks' own code, and files that are not what they should be."""

from pathlib import Path

import numpy as np
import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.vce.interfaces import FeatureExtractor
from cfeval.vce.metrics.realism import frechet_distance
from tests.vce import measure_weights


def built(**spec: object) -> FeatureExtractor:
    found: FeatureExtractor = registry.build("feature_extractors", {"device": "cpu", **spec})
    return found


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return torch.randint(0, 256, (2, 3, 48, 48), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


@pytest.mark.slow
def test_inceptions_features_are_those_of_torch_fidelity(images: torch.Tensor) -> None:
    expected = dict(zip(("64", "192", "768", "2048"), measure_weights.fidelity_network()(images), strict=True))
    for width in (64, 2048):
        found = built(plugin="inception", width=width, weights=str(measure_weights.inception())).features(images)
        assert torch.equal(found, expected[str(width)].double())


def test_inception_without_its_weights_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="no such weight file; get torch-fidelity's weights of Inception-v3"):
        built(plugin="inception", weights=str(tmp_path / "nothing.pth"))
    with pytest.raises(PluginError, match="weights of another network"):
        built(plugin="inception", weights=str(measure_weights.trunk("alex")))


def test_a_file_that_would_run_code_is_not_run(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (tmp_path / "ran",))  # type: ignore[return-value]

    bad = tmp_path / "bad.pth"
    torch.save({"a": Attack(), "Conv2d_1a_3x3.conv.weight": torch.zeros(1)}, bad)
    with pytest.raises(PluginError):
        built(plugin="inception", weights=str(bad))
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_simsiams_embedding_is_its_encoder_with_the_projector(images: torch.Tensor) -> None:
    from torchvision.models import resnet50
    from torchvision.transforms.functional import normalize

    state = torch.load(measure_weights.simsiam(), weights_only=True)["state_dict"]
    layers = {name.removeprefix("module.encoder."): tensor for name, tensor in state.items()}
    trunk = resnet50(num_classes=2048)
    trunk.fc = torch.nn.Identity()
    trunk.load_state_dict({name: tensor for name, tensor in layers.items() if name in trunk.state_dict()})
    with torch.no_grad():
        hidden = trunk.eval()(normalize(images / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        for linear, norm in ((0, 1), (3, 4)):
            hidden = hidden @ layers[f"fc.{linear}.weight"].T
            hidden = (hidden - layers[f"fc.{norm}.running_mean"]) / (layers[f"fc.{norm}.running_var"] + 1e-5).sqrt()
            hidden = torch.relu(hidden * layers[f"fc.{norm}.weight"] + layers[f"fc.{norm}.bias"])
        last = hidden @ layers["fc.6.weight"].T + layers["fc.6.bias"]
        expected = (last - layers["fc.7.running_mean"]) / (layers["fc.7.running_var"] + 1e-5).sqrt()
    found = built(plugin="simsiam", weights=str(measure_weights.simsiam())).features(images)
    assert found.numpy() == pytest.approx(expected.double().numpy(), rel=1e-3, abs=1e-5)


def test_another_networks_checkpoint_is_no_simsiam(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"no weights under 'module.encoder.'"):
        built(plugin="simsiam", weights=str(measure_weights.trunk("alex")))
    with pytest.raises(PluginError, match="no such checkpoint"):
        built(plugin="simsiam", weights=str(tmp_path / "nothing.pth.tar"))


@pytest.mark.parametrize("width", [24, 40, 112, 320])
def test_taps_lie_where_the_image_gets_smaller(width: int, images: torch.Tensor) -> None:
    extractor = built(plugin="efficientnet_lite", width=width, size=64)
    maps = extractor.network(torch.zeros(1, 3, 64, 64))  # type: ignore[attr-defined]
    assert maps.shape == (1, width, *{24: (16, 16), 40: (8, 8), 112: (4, 4), 320: (2, 2)}[width])


def test_the_last_features_are_those_of_the_classifier(images: torch.Tensor) -> None:
    from cfeval.vce.models.checkpoints import read
    from cfeval.vce.models.efficientnet_lite import network
    from cfeval.vce.plugins.efficientnet_lite import weights_of

    whole = network(0)
    whole.load_state_dict(read(weights_of(0)))
    with torch.no_grad():
        expected = whole.eval().features((images.float() - 127) / 128)
    found = built(plugin="efficientnet_lite", width=1280, size=0).features(images)
    assert found.numpy() == pytest.approx(expected.double().numpy(), abs=1e-5)


def test_photographs_are_closer_to_themselves_than_to_noise() -> None:
    from skimage import data

    photo = torch.from_numpy(np.array(data.astronaut())).permute(2, 0, 1)
    patches = photo.unfold(1, 64, 64).unfold(2, 64, 64).reshape(3, -1, 64, 64).transpose(0, 1)
    noise = torch.randint(0, 256, patches.shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    extractor = built(plugin="efficientnet_lite", size=0)
    even, odd, other = (extractor.features(some).numpy() for some in (patches[::2], patches[1::2], noise))
    assert frechet_distance(even, odd) < frechet_distance(even, other) / 10
