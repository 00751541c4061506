"""Image classifiers of transformers, tiny and random, against the library's own processor and model called by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError, PluginError
from cfeval.vce.plugins.library_classifiers import declared_preprocessing
from tests.tiny.classifiers import NAMES
from tests.tiny.image_classifiers import resnet, vit


def build(folder: Path, **options: Any) -> Any:
    return registry.build("classifiers", {"plugin": "transformers", "model": str(folder), "device": "cpu", **options})


def by_hand(folder: Path, pixels: Any) -> Any:
    """The library's logits for an image (H, W, 3), uint8."""
    import PIL.Image
    import torch
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    given = AutoImageProcessor.from_pretrained(folder)(PIL.Image.fromarray(pixels), return_tensors="pt")
    with torch.no_grad():
        return AutoModelForImageClassification.from_pretrained(folder)(**given).logits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "side", "far"), [(vit, 32, 1e-5), (vit, 64, 0.1), (resnet, 32, 1e-5), (resnet, 64, 0.1)]
)
def test_logits_are_the_librarys_own(tmp_path: Path, make: Any, side: int, far: float) -> None:
    import torch

    folder = make(tmp_path / "model")
    smooth = np.add.outer(np.arange(side), np.arange(side))[..., None] * np.array([1, 2, 3]) * 128 / side % 256
    pixels = smooth.astype(np.uint8)
    classifier = build(folder, crop=True)
    assert classifier.classes == NAMES
    images = torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 127.5 - 1
    expected = by_hand(folder, pixels)
    assert (classifier.logits(images) - expected).abs().max() <= far * max(1.0, float(expected.abs().max()))


def test_its_classes_are_known_before_it_is_loaded(tmp_path: Path) -> None:
    folder = vit(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    spec = {"plugin": "transformers", "model": str(folder), "device": "cpu"}
    assert registry.class_names("classifiers", spec) == NAMES
    assert registry.class_names("classifiers", {**spec, "model": "no-one/has-this"}) is None
    with pytest.raises(PluginError, match="is incomplete"):
        build(folder)


def test_gradients_flow_to_the_image(tmp_path: Path) -> None:
    import torch

    images = torch.zeros(1, 3, 48, 48, requires_grad=True)
    build(vit(tmp_path / "model")).logits(images)[0, 1].backward()
    assert images.grad is not None
    assert float(images.grad.abs().max()) > 0


def test_what_a_processor_declares_in_other_ways_is_understood_or_refused() -> None:
    plain = {"size": 224, "do_normalize": False, "rescale_factor": 1 / 127.5}
    assert declared_preprocessing(plain).mean == (0, 0, 0)
    assert declared_preprocessing(plain).std == pytest.approx((0.5, 0.5, 0.5))
    mobile = {"size": {"shortest_edge": 256}, "do_center_crop": True, "crop_size": {"height": 224, "width": 224}}
    norms = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 3}
    found = declared_preprocessing({**mobile, **norms})
    assert (found.size, found.resize, found.interpolation, found.mean) == (224, 256, "bicubic", (0.5, 0.5, 0.5))
    with pytest.raises(PluginError, match="squares are needed"):
        declared_preprocessing({**norms, "size": {"height": 224, "width": 112}})
    with pytest.raises(PluginError, match="rescale_offset"):
        declared_preprocessing({**norms, "size": 224, "rescale_offset": True})
    with pytest.raises(PluginError, match="Pillow's number 1"):
        declared_preprocessing({**norms, "size": 224, "resample": 1})


def test_what_is_no_image_classifier_is_one_line(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    folder = vit(tmp_path / "model")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(**sizes, vocab_size=10)).save_pretrained(folder)
    with pytest.raises(PluginError, match="cannot be loaded as an image classifier"):
        build(folder)
    spec = {"plugin": "transformers", "model": str(folder), "device": "cpu"}
    said = [found.text for found in registry.diagnose("classifiers", spec) if not found.fine]
    assert said == ["model 'model' is a BertModel; a …ForImageClassification is needed"]
    names = tmp_path / "names.txt"
    names.write_text("a\nb")
    with pytest.raises(InputError, match="names 2 classes"):
        build(vit(tmp_path / "other"), classes=str(names))
