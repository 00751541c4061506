"""torchvision's and timm's classifiers and RandomNet, against the libraries called by hand."""

from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError, PluginError
from tests.tiny import hub
from tests.tiny.classifiers import ARCHITECTURE, NAMES, images, network, write_names

TIMM = "test_resnet.r160_in1k"
"""A tiny network of timm, made for tests."""


def build(plugin: str, **options: Any) -> Any:
    return registry.build("classifiers", {"plugin": plugin, "device": "cpu", **options})


def findings(plugin: str, **options: Any) -> list[tuple[bool, str]]:
    spec = {"plugin": plugin, "device": "cpu", **options}
    return [(found.fine, found.text) for found in registry.diagnose("classifiers", spec)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for torch's downloads, and no network."""

    def unreachable(*_: Any, **__: Any) -> None:
        raise URLError("no network")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.download_url_to_file", unreachable)
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def cached_file(cache: Path) -> Path:
    from torchvision.models import get_model_weights

    return cache / Path(get_model_weights(ARCHITECTURE).DEFAULT.url).name


def test_torchvisions_weights_are_taken_from_its_cache_with_their_transforms_and_classes(cache: Path) -> None:
    import torch

    torch.save(network(classes=1000).state_dict(), cached_file(cache))
    classifier = build("torchvision", model=ARCHITECTURE, crop=True, temperature=2)
    from torchvision.models import get_model_weights

    weights = get_model_weights(ARCHITECTURE).DEFAULT
    given = images(height=300, width=260)
    by_hand = network(classes=1000)(weights.transforms()((given + 1) / 2)) / 2
    assert (classifier.logits(given) - by_hand).abs().max() < 1e-4
    assert classifier.classes == tuple(weights.meta["categories"])
    assert findings("torchvision", model=ARCHITECTURE)[1][0]


def test_weights_that_cannot_be_had_are_one_line_that_names_the_file(cache: Path) -> None:
    file = cached_file(cache).name
    with pytest.raises(PluginError, match=f"{file} is not in torch's cache and cannot be downloaded .*no network"):
        build("torchvision", model=ARCHITECTURE)
    assert f"the first job downloads {file}" in findings("torchvision", model=ARCHITECTURE)[1][1]


def test_a_broken_download_is_one_line(cache: Path) -> None:
    cached_file(cache).write_bytes(b"no weights")
    with pytest.raises(PluginError, match="torch's cache is broken"):
        build("torchvision", model=ARCHITECTURE)


def test_weights_for_features_alone_are_refused_with_those_that_name_classes() -> None:
    features = "IMAGENET1K_FEATURES"
    with pytest.raises(PluginError, match=f"'{features}' for 'vgg16' are of features .*; take IMAGENET1K_V1"):
        build("torchvision", model="vgg16", weights=features)
    assert not findings("torchvision", model="vgg16", weights=features)[1][0]


def test_names_that_a_library_does_not_have_are_named_with_the_nearest() -> None:
    with pytest.raises(PluginError, match="torchvision has no classifier 'resnet5'; did you mean 'resnet50'"):
        build("torchvision", model="resnet5")
    with pytest.raises(PluginError, match="timm has no classifier 'test_resnt'; did you mean 'test_resnet'"):
        build("timm", model="test_resnt")
    with pytest.raises(PluginError, match=r"no weights 'V1' for 'resnet18'; .*IMAGENET1K_V1, none"):
        build("torchvision", model="resnet18", weights="V1")
    assert not findings("random", architecture="alexnett")[1][0]
    with pytest.raises(ParamsError, match="option 'temperature' of 'torchvision'"):
        build("torchvision", model="resnet18", temperature=0)


def test_the_seed_draws_random_weights_and_nothing_else_is_drawn_from() -> None:
    import torch

    before = torch.random.get_rng_state()
    first, again, other = (build("random", architecture=ARCHITECTURE, seed=seed) for seed in (3, 3, 4))
    assert (torch.random.get_rng_state() == before).all()
    given = images()
    assert (first.logits(given) == again.logits(given)).all()
    assert (first.logits(given) != other.logits(given)).any()
    assert torch.allclose(first.logits(given, prepared=False), network(3, 1000)(given), atol=1e-5)


def test_the_perturbation_is_a_share_of_the_spread_of_all_weights_together() -> None:
    import torch

    def weights(share: float, seed: int = 0) -> Any:
        made = build("random", architecture=ARCHITECTURE, perturbation=share, seed=seed)
        return torch.cat([weight.flatten() for weight in made.network.parameters()])

    clean, noisy = weights(0), weights(0.5)
    assert float((noisy - clean).std() / clean.std()) == pytest.approx(0.5, abs=0.005)
    assert float((noisy - clean).mean().abs() / clean.std()) < 0.005
    assert (weights(0.5) == noisy).all()


@pytest.mark.slow
def test_a_network_in_half_precision_says_nearly_the_same_in_float32() -> None:
    import torch

    given = images()
    exact, half = (build("random", architecture=ARCHITECTURE, dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert half.logits(given).dtype == torch.float32
    assert (half.logits(given) - exact.logits(given)).abs().max() < 0.05 * exact.logits(given).abs().max()


def test_timms_weights_come_from_the_hubs_cache_with_its_data_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import timm
    from safetensors.torch import save_file

    made: Any = timm.create_model(TIMM, pretrained=False).eval()
    folder = tmp_path / f"models--timm--{TIMM}"
    (folder / "snapshots" / hub.COMMIT).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(hub.COMMIT)
    hub.asked_at(monkeypatch, hub.NOWHERE, tmp_path)
    with pytest.raises(PluginError, match=rf"model 'timm/{TIMM}' .*the hub cannot be reached"):
        build("timm", model=TIMM)
    save_file(made.state_dict(), folder / "snapshots" / hub.COMMIT / "model.safetensors")
    classifier = build("timm", model=TIMM, crop=True)
    config = timm.data.resolve_model_data_config(made)
    transform: Any = timm.data.create_transform(**config, is_training=False)
    import PIL.Image

    pixels = ((images(height=200, width=200) + 1) * 127.5).round().byte()
    by_hand = made(transform(PIL.Image.fromarray(pixels[0].permute(1, 2, 0).numpy()))[None])
    said = classifier.logits(pixels[:1].float() / 127.5 - 1)
    assert (said - by_hand).abs().max() < 0.05 * by_hand.abs().max()  # Pillow resizes whole numbers
    assert len(classifier.classes) == 1000
    assert findings("timm", model=TIMM)[1] == (True, f"weights of '{TIMM}' are here")


def test_classes_are_imagenets_or_those_of_a_file_or_numbers(tmp_path: Path) -> None:
    own = write_names(tmp_path)
    assert build("random", architecture=ARCHITECTURE, classes=own).classes == NAMES
    assert build("timm", model="test_resnet", weights="none", classes=own).classes == NAMES
    assert build("random", architecture=ARCHITECTURE, num_classes=3).classes == ("0", "1", "2")
    assert build("random", architecture=ARCHITECTURE).classes[293] == "cheetah"
    assert registry.dependencies("classifiers", {"plugin": "random", "classes": own}) == (own,)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ant\nbee\nant\n", "class 'ant' stands there twice"),
        ("ant\n", "at least two classes"),
        ("ant\nbee\ncat\ndog\n", "names 4 classes, and num_classes is 3"),
    ],
)
def test_a_file_of_names_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "names.txt").write_text(text)
    with pytest.raises(InputError, match=fault):
        build("random", architecture=ARCHITECTURE, classes=str(tmp_path / "names.txt"), num_classes=3)
    with pytest.raises(InputError, match="no such file"):
        build("random", architecture=ARCHITECTURE, classes=str(tmp_path / "none.txt"))


def test_a_network_of_one_size_refuses_others_as_they_are_in_one_line() -> None:
    classifier = build("timm", model="vit_tiny_patch16_224", weights="none")
    assert classifier.logits(images(height=40, width=64)).shape == (2, 1000)
    with pytest.raises(PluginError, match=r"takes no image of 64 × 64 as it is .*make them 224 × 224"):
        classifier.logits(images(height=64, width=64), prepared=False)


def test_a_device_that_is_not_there_is_one_line() -> None:
    with pytest.raises(PluginError, match="device 'cuda:77'"):
        build("random", architecture=ARCHITECTURE, device="cuda:77")
